//! Projections of fields within columns, for which no other fields of these columns are read.

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, Statistics};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::{ProjectionExprs, Projector};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use lath_parquet::ScanPlan;

use super::translate::field_path;
use crate::error::external;

/// Expressions that a source computes of what it reads.
#[derive(Debug, Clone)]
pub(crate) struct FieldProjection {
    /// On the columns as they were before fewer fields of them were read.
    whole: ProjectionExprs,
    projector: Projector,
}

impl FieldProjection {
    /// The projection, and a plan of only those fields that it needs; `None` where it needs all that `plan` reads of each column.
    pub(crate) fn new(projection: &ProjectionExprs, plan: &ScanPlan) -> Result<Option<(Self, ScanPlan)>> {
        let schema = plan.schema();
        let mut paths = Vec::new();
        for expr in projection.expr_iter() {
            add_paths(&expr, schema, &mut paths);
        }
        // A dot in the name of a column cannot be told from one between names.
        let is_plain = |names: &Vec<String>| names.iter().all(|name| !name.contains('.') && !name.is_empty());
        paths.sort_unstable();
        paths.dedup_by(|path, shorter| path.starts_with(shorter));
        // The name of a column may be what the names of a field are with dots between.
        let is_column = |names: &Vec<String>| names.len() > 1 && schema.field_with_name(&names.join(".")).is_ok();
        let is_clear = paths.iter().all(is_plain) && !paths.iter().any(is_column);
        if !paths.iter().any(|names| names.len() > 1) || !is_clear {
            return Ok(None);
        }
        let narrow = plan.select(paths.iter().map(|names| names.join("."))).map_err(external)?;
        let exprs = projection.clone().try_map_exprs(|expr| rebased(expr, narrow.schema()))?;
        let projector = exprs.make_projector(narrow.schema())?;
        Ok(Some((Self { whole: projection.clone(), projector }, narrow)))
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        self.projector.output_schema()
    }

    pub(crate) fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.projector.project_batch(batch)
    }

    /// The expression on columns of the result as one on the columns before.
    pub(crate) fn unproject(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        self.whole.unproject_expr(expr)
    }

    /// What is known of the result, given what is known of the columns before.
    pub(crate) fn statistics(&self, whole: &Statistics) -> Result<Statistics> {
        self.whole.project_statistics(whole.clone(), self.schema())
    }

    /// The properties of the result, given those of what is read.
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

/// Adds the paths of the columns, and of the fields within them, that an expression is about.
fn add_paths(expr: &Arc<dyn PhysicalExpr>, schema: &Schema, paths: &mut Vec<Vec<String>>) {
    match field_path(expr, schema).filter(|names| is_of_structs(names, schema)) {
        Some(names) => paths.push(names),
        None => expr.children().into_iter().for_each(|child| add_paths(child, schema, paths)),
    }
}

/// Whether the names after the first are those of fields of structs; maps have keys, which are read with all others.
fn is_of_structs(names: &[String], schema: &Schema) -> bool {
    let Some((first, rest)) = names.split_first() else { return false };
    let Ok(mut field) = schema.field_with_name(first) else { return false };
    for name in rest {
        let DataType::Struct(fields) = field.data_type() else { return false };
        let Some((_, below)) = fields.find(name) else { return false };
        field = below;
    }
    true
}

/// The expression with columns where they are in `schema`.
fn rebased(expr: Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
    let moved = expr.transform(|expr| match expr.downcast_ref::<Column>() {
        Some(column) => Ok(Transformed::yes(Arc::new(Column::new_with_schema(column.name(), schema)?) as _)),
        None => Ok(Transformed::no(expr)),
    })?;
    Ok(moved.data)
}
