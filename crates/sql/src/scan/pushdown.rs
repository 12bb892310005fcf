//! Which conditions of a query a scan tests, and what is left to operators above it.

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

use super::narrow::supported;
use super::translate::translate;

/// The conditions of a query on a table.
#[derive(Debug)]
pub(crate) struct Pushed<'f> {
    /// What the scan tests.
    pub(crate) predicate: Option<Predicate>,
    /// The conditions that the scan answers as SQL does.
    pub(crate) answered: Vec<&'f Expr>,
    /// The others, which are evaluated on the rows of the scan.
    pub(crate) rest: Vec<&'f Expr>,
}

impl<'f> Pushed<'f> {
    pub(crate) fn new(filters: &'f [Expr], schema: &SchemaRef) -> Self {
        let mut pushed = Self { predicate: None, answered: Vec::new(), rest: Vec::new() };
        for filter in filters {
            let (tested, support) = test(filter, schema);
            pushed.predicate = pushed.predicate.take().into_iter().chain(tested).reduce(Predicate::and);
            // Conditions are rewritten after it was said which of them the scan answers.
            match support {
                TableProviderFilterPushDown::Exact => pushed.answered.push(filter),
                _ => pushed.rest.push(filter),
            }
        }
        pushed
    }
}

/// Whether scans of rows with `schema` answer a condition.
pub(crate) fn support(expr: &Expr, schema: &SchemaRef) -> TableProviderFilterPushDown {
    test(expr, schema).1
}

/// What of a condition of a query a scan tests, and whether it finds the rows for which that is true, and no others.
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

/// The expression on rows of `schema`, for which names of tables are no matter.
pub(crate) fn physical(expr: &Expr, schema: &SchemaRef) -> Result<Arc<dyn PhysicalExpr>> {
    let columns = DFSchema::try_from(schema.as_ref().clone())?;
    let expr = unqualified(expr.clone())?;
    create_physical_expr(&expr, &columns, &ExecutionProps::new(), &PhysicalPlanningContext::default())
}

/// The expression with columns by their names alone.
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

/// The columns of a projection, and behind them the others that conditions need.
pub(crate) fn with_columns_of(projection: &[usize], conditions: &[&Expr], schema: &SchemaRef) -> Result<Vec<usize>> {
    let mut columns = projection.to_vec();
    for column in conditions.iter().flat_map(|condition| condition.column_refs()) {
        let at = schema.index_of(column.name())?;
        if !columns.contains(&at) {
            columns.push(at);
        }
    }
    Ok(columns)
}

/// The columns at `kept` of those rows of a source for which all conditions are true.
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
