//! Splits the conditions of a query between a scan and the operators above it.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column as ColumnName, DFSchema, Result};
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExecBuilder;
use datafusion::physical_plan::projection::ProjectionExec;
use lath_parquet::{Predicate, Support};

use super::implied::supported;
use super::translate::translate;

/// The conditions of a query on a table, split for pushdown.
#[derive(Debug)]
pub(crate) struct Pushdown<'f> {
    /// The condition that the scan tests; [`Predicate::TRUE`] for none.
    pub(crate) predicate: Predicate,
    /// The conditions that the scan evaluates as SQL does.
    pub(crate) answered: Vec<&'f Expr>,
    /// The other conditions, which are evaluated on the rows of the scan.
    pub(crate) rest: Vec<&'f Expr>,
}

impl<'f> Pushdown<'f> {
    pub(crate) fn new(filters: &'f [Expr], schema: &SchemaRef) -> Self {
        let mut pushed = Self { predicate: Predicate::TRUE, answered: Vec::new(), rest: Vec::new() };
        for filter in filters {
            let (tested, support) = test(filter, schema);
            pushed.predicate = tested.into_iter().fold(pushed.predicate, Predicate::and);
            // DataFusion rewrites conditions after it has asked which of them the scan evaluates.
            match support {
                TableProviderFilterPushDown::Exact => pushed.answered.push(filter),
                _ => pushed.rest.push(filter),
            }
        }
        pushed
    }
}

/// Whether scans of rows with `schema` evaluate a condition.
pub(crate) fn support(expr: &Expr, schema: &SchemaRef) -> TableProviderFilterPushDown {
    test(expr, schema).1
}

/// Returns the predicate by which a scan tests a condition, and whether it finds exactly the rows that satisfy the condition.
pub(crate) fn test(expr: &Expr, schema: &SchemaRef) -> (Option<Predicate>, TableProviderFilterPushDown) {
    let translated = physical(expr, schema).ok().and_then(|expr| translate(&expr, schema));
    let Some(predicate) = translated else { return (None, TableProviderFilterPushDown::Unsupported) };
    let is_exact = predicate.supports(schema).iter().all(|conjunct| conjunct.support == Support::Exact);
    match supported(predicate, schema) {
        Some(tested) if is_exact => (Some(tested), TableProviderFilterPushDown::Exact),
        Some(tested) => (Some(tested), TableProviderFilterPushDown::Inexact),
        None => (None, TableProviderFilterPushDown::Unsupported),
    }
}

/// Plans an expression on rows of `schema`. Qualifiers of columns are ignored.
pub(crate) fn physical(expr: &Expr, schema: &SchemaRef) -> Result<Arc<dyn PhysicalExpr>> {
    let columns = DFSchema::try_from(schema.as_ref().clone())?;
    let expr = unqualified(expr.clone())?;
    create_physical_expr(&expr, &columns, &ExecutionProps::new(), &PhysicalPlanningContext::default())
}

/// Removes the qualifiers of columns.
fn unqualified(expr: Expr) -> Result<Expr> {
    let plain = expr.transform(|expr| {
        Ok(match expr {
            Expr::Column(column) if column.relation.is_some() => {
                Transformed::yes(Expr::Column(ColumnName::new_unqualified(column.name)))
            }
            other => Transformed::no(other),
        })
    });
    plain.map(|plain| plain.data)
}

/// The columns of a projection, followed by the other columns that conditions need.
pub(crate) fn with_condition_columns(
    projection: &[usize],
    conditions: &[&Expr],
    schema: &SchemaRef,
) -> Result<Vec<usize>> {
    let mut columns = projection.to_vec();
    for column in conditions.iter().flat_map(|condition| condition.column_refs()) {
        let at = schema.index_of(column.name())?;
        if !columns.contains(&at) {
            columns.push(at);
        }
    }
    Ok(columns)
}

/// Filters the rows of a source by all conditions and keeps the columns at `kept`.
pub(crate) fn with_rest(
    source: Arc<dyn ExecutionPlan>,
    kept: Vec<usize>,
    rest: &[&Expr],
) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(rest) = conjunction(rest.iter().map(|&filter| filter.clone())) else {
        if kept.iter().copied().eq(0..source.schema().fields().len()) {
            return Ok(source);
        }
        let column = |&at: &usize| {
            let name = source.schema().field(at).name().clone();
            (Arc::new(Column::new(&name, at)) as Arc<dyn PhysicalExpr>, name)
        };
        let columns: Vec<_> = kept.iter().map(column).collect();
        return Ok(Arc::new(ProjectionExec::try_new(columns, source)?));
    };
    let rest = physical(&rest, &source.schema())?;
    let filter = FilterExecBuilder::new(rest, source).apply_projection(Some(kept))?.build()?;
    Ok(Arc::new(filter))
}
