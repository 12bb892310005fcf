//! Projections of nested fields: a scan reads only these fields of a column.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, Statistics};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::{ProjectionExprs, Projector};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use lath_parquet::ScanPlan;

use super::translate::field_path;
use crate::error::external;

/// Expressions that a source evaluates on the rows it reads.
#[derive(Debug, Clone)]
pub(crate) struct FieldProjection {
    /// On whole columns, before fields were left out.
    whole: ProjectionExprs,
    projector: Projector,
    /// The schema of the result. It may have other metadata than the projector's, and columns without nulls that files could have.
    schema: SchemaRef,
}

impl FieldProjection {
    /// Returns the projection and a plan that reads only the fields it needs; `None` if it needs everything that `plan` reads.
    pub(crate) fn new(projection: &ProjectionExprs, plan: &ScanPlan) -> Result<Option<(Self, ScanPlan)>> {
        let schema = plan.schema();
        // Names do not tell columns of one name apart.
        let mut names = HashSet::new();
        if !schema.fields().iter().all(|field| names.insert(field.name())) {
            return Ok(None);
        }
        let mut paths = Vec::new();
        for expr in projection.expr_iter() {
            add_paths(&expr, schema, &mut paths);
        }
        // A dot within a name cannot be told from one between names.
        let is_plain = |names: &Vec<String>| names.iter().all(|name| !name.contains('.') && !name.is_empty());
        paths.sort_unstable();
        paths.dedup_by(|path, shorter| path.starts_with(shorter));
        // A column may have the name `a.b`, which then does not mean the field `b` of `a`.
        let is_column = |names: &Vec<String>| names.len() > 1 && schema.field_with_name(&names.join(".")).is_ok();
        let is_clear = paths.iter().all(is_plain) && !paths.iter().any(is_column);
        if !paths.iter().any(|names| names.len() > 1) || !is_clear {
            return Ok(None);
        }
        let fields_only = plan.select(paths.iter().map(|names| names.join("."))).map_err(external)?;
        let exprs = projection.clone().try_map_exprs(|expr| rebased(expr, fields_only.schema()))?;
        let projector = exprs.make_projector(fields_only.schema())?;
        let schema = Arc::clone(projector.output_schema());
        Ok(Some((Self { whole: projection.clone(), projector, schema }, fields_only)))
    }

    /// A projection of the columns of a plan, which has already left out fields, to columns with this schema.
    #[cfg(feature = "remote")]
    pub(crate) fn from_fields(projection: ProjectionExprs, planned: &Schema, schema: SchemaRef) -> Result<Self> {
        let projector = projection.make_projector(planned)?;
        Ok(Self { whole: projection, projector, schema })
    }

    /// The expressions on the columns that are read, without the fields that are left out.
    #[cfg(feature = "remote")]
    pub(crate) fn field_exprs(&self) -> &ProjectionExprs {
        self.projector.projection()
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(crate) fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let projected = self.projector.project_batch(batch)?;
        if Arc::ptr_eq(&self.schema, self.projector.output_schema()) {
            return Ok(projected);
        }
        with_schema(&projected, &self.schema)
    }

    /// Rewrites an expression on the result to one on the columns before the projection.
    pub(crate) fn unproject(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        self.whole.unproject_expr(expr)
    }

    /// Statistics of the result, from the statistics of the whole columns.
    pub(crate) fn statistics(&self, whole: &Statistics) -> Result<Statistics> {
        self.whole.project_statistics(whole.clone(), self.schema())
    }

    /// The properties of the result, from the properties of the rows that are read.
    pub(crate) fn properties(&self, read: &EquivalenceProperties) -> Result<EquivalenceProperties> {
        let mapping = self.projector.projection().projection_mapping(read.schema())?;
        Ok(read.project(&mapping, Arc::clone(self.schema())))
    }
}

impl fmt::Display for FieldProjection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.whole)
    }
}

/// The rows of a batch with another schema, of columns with the same types.
pub(crate) fn with_schema(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), batch.columns().to_vec(), &options)?)
}

/// Adds the paths of the columns and nested fields that an expression uses.
fn add_paths(expr: &Arc<dyn PhysicalExpr>, schema: &Schema, paths: &mut Vec<Vec<String>>) {
    match field_path(expr, schema).filter(|names| are_struct_fields(names, schema)) {
        Some(names) => paths.push(names),
        None => expr.children().into_iter().for_each(|child| add_paths(child, schema, paths)),
    }
}

/// Whether the names after the first name fields of structs. They may also be keys of maps, and maps are read whole.
fn are_struct_fields(names: &[String], schema: &Schema) -> bool {
    let Some((first, rest)) = names.split_first() else { return false };
    let Ok(mut field) = schema.field_with_name(first) else { return false };
    for name in rest {
        let DataType::Struct(fields) = field.data_type() else { return false };
        let Some((_, below)) = fields.find(name) else { return false };
        field = below;
    }
    true
}

/// Rewrites the indices of columns to their places in `schema`.
fn rebased(expr: Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
    let moved = expr.transform(|expr| match expr.downcast_ref::<Column>() {
        Some(column) => Ok(Transformed::yes(Arc::new(Column::new_with_schema(column.name(), schema)?) as _)),
        None => Ok(Transformed::no(expr)),
    })?;
    Ok(moved.data)
}
