use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

/// All columns of a schema, as expressions.
pub(super) fn all(schema: &DFSchema) -> Vec<Expr> {
    schema.columns().into_iter().map(Expr::Column).collect()
}

/// Projects a plan to the columns of `schema` and `more`.
pub(super) fn only(plan: LogicalPlan, schema: &DFSchema, more: &[Column]) -> Result<LogicalPlan> {
    let kept = schema.columns().into_iter().chain(more.iter().cloned()).map(Expr::Column);
    LogicalPlanBuilder::from(plan).project(kept)?.build()
}

/// Names `expr` like the field of `schema` at an index.
pub(super) fn named_as(expr: Expr, schema: &DFSchema, at: usize) -> Expr {
    let (relation, field) = schema.qualified_field(at);
    let (own_relation, own_name) = expr.qualified_name();
    if own_relation.as_ref() == relation && own_name == *field.name() {
        return expr;
    }
    // An alias of an alias would keep the inner name in the plan.
    let expr = match expr {
        Expr::Alias(alias) => *alias.expr,
        other => other,
    };
    expr.alias_qualified(relation.cloned(), field.name())
}

/// The column of a schema at an index.
pub(super) fn at(schema: &DFSchema, at: usize) -> Column {
    Column::from(schema.qualified_field(at))
}

/// Whether a schema has exactly this column.
pub(super) fn has(schema: &DFSchema, column: &Column) -> bool {
    schema.index_of_column(column).is_ok()
}

/// Compares columns pairwise by `IS NOT DISTINCT FROM`.
pub(super) fn same(left: &[Column], right: &[Column]) -> Vec<Expr> {
    use datafusion::logical_expr::{Operator, binary_expr};
    let columns = left.iter().cloned().zip(right.iter().cloned());
    columns
        .map(|(left, right)| binary_expr(Expr::Column(left), Operator::IsNotDistinctFrom, Expr::Column(right)))
        .collect()
}
