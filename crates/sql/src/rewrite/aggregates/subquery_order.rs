//! Keeps the order of a subquery where the query around it depends on it: `SELECT list(x) FROM (SELECT x FROM t ORDER BY y)`.
//!
//! DataFusion 55 drops `ORDER BY` of a subquery without `LIMIT` (`enable_subquery_sort_elimination`, which the session turns off). Here an
//! aggregate that depends on the order of rows gets the subquery's, `LIMIT` and the result keep it, and all other sorts are dropped.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, Filter, Limit, LogicalPlan, Projection, Sort, SortExpr, SubqueryAlias,
};
use datafusion::optimizer::AnalyzerRule;

/// Aggregates that depend on the order of rows.
const ORDERED: [&str; 4] = ["array_agg", "first_value", "last_value", "string_agg"];

/// Begins the name of a column that is only sorted by.
const KEY: &str = "\u{1f}order ";

#[derive(Debug)]
pub(crate) struct SubqueryOrder;

impl AnalyzerRule for SubqueryOrder {
    fn name(&self) -> &str {
        "lath_subquery_order"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        settled(plan, true)
    }
}

/// The plan without sorts that nothing depends on. `is_kept` says whether the order of its rows matters.
fn settled(plan: LogicalPlan, is_kept: bool) -> Result<LogicalPlan> {
    let plan = match plan {
        LogicalPlan::Sort(Sort { input, fetch: None, .. }) if !is_kept => {
            return settled(Arc::unwrap_or_clone(input), false);
        }
        LogicalPlan::Aggregate(aggregate) => LogicalPlan::Aggregate(in_order(aggregate)?),
        LogicalPlan::Distinct(Distinct::On(mut distinct)) => {
            if let Some((input, keys)) = with_keys(&distinct.input, false)? {
                let ascending = |expr: &Expr| expr.clone().sort(true, false);
                let own = distinct.sort_expr.take();
                let own = own.unwrap_or_else(|| distinct.on_expr.iter().map(ascending).collect());
                distinct.input = Arc::new(input);
                distinct = distinct.with_sort_expr(without_repeated(own.into_iter().chain(keys).collect()))?;
            }
            LogicalPlan::Distinct(Distinct::On(distinct))
        }
        other => other,
    };
    let keeps = match &plan {
        LogicalPlan::Projection(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Window(_)
        | LogicalPlan::Unnest(_) => is_kept,
        LogicalPlan::Limit(_)
        | LogicalPlan::Extension(_)
        | LogicalPlan::Explain(_)
        | LogicalPlan::Analyze(_)
        | LogicalPlan::Dml(_)
        | LogicalPlan::Copy(_)
        | LogicalPlan::Ddl(_)
        | LogicalPlan::Statement(_)
        | LogicalPlan::DescribeTable(_) => true,
        _ => false,
    };
    let plan = plan.map_children(|child| settled(child, keeps).map(Transformed::yes))?.data;
    Ok(plan.map_subqueries(|subquery| settled(subquery, false).map(Transformed::yes))?.data)
}

/// Sorts the rows of aggregates without an order as the subquery below them, and lets others sort by each key once: DataFusion 55 fails at
/// `ORDER BY x, x`.
fn in_order(aggregate: Aggregate) -> Result<Aggregate> {
    let is_repeated =
        aggregate.aggr_expr.iter().any(|expr| has(expr, |function| repeats_keys(&function.params.order_by)));
    let subquery = match aggregate.aggr_expr.iter().any(|expr| has(expr, is_unordered)) {
        true => with_keys(&aggregate.input, false)?,
        false => None,
    };
    if subquery.is_none() && !is_repeated {
        return Ok(aggregate);
    }
    let (input, keys) = match subquery {
        Some((input, keys)) => (Arc::new(input), keys),
        None => (aggregate.input, Vec::new()),
    };
    let ordered = |expr: Expr| -> Result<Expr> {
        let name = expr.schema_name().to_string();
        let ordered = expr.transform(|expr| match expr {
            Expr::AggregateFunction(mut function) => {
                if is_unordered(&function) {
                    function.params.order_by.clone_from(&keys);
                }
                let order = std::mem::take(&mut function.params.order_by);
                function.params.order_by = without_repeated(order);
                Ok(Transformed::yes(Expr::AggregateFunction(function)))
            }
            other => Ok(Transformed::no(other)),
        })?;
        ordered.data.alias_if_changed(name)
    };
    let ordered = aggregate.aggr_expr.into_iter().map(ordered).collect::<Result<Vec<Expr>>>()?;
    Aggregate::try_new(input, aggregate.group_expr, ordered)
}

fn has(expr: &Expr, test: fn(&AggregateFunction) -> bool) -> bool {
    expr.exists(|expr| Ok(matches!(expr, Expr::AggregateFunction(function) if test(function)))).unwrap_or(false)
}

fn repeats_keys(order: &[SortExpr]) -> bool {
    order.iter().enumerate().any(|(at, key)| order[..at].iter().any(|before| before.expr == key.expr))
}

/// An order whose keys are all different: a second one does not change it.
fn without_repeated(order: Vec<SortExpr>) -> Vec<SortExpr> {
    let mut keys: Vec<SortExpr> = Vec::with_capacity(order.len());
    for key in order {
        if !keys.iter().any(|known| known.expr == key.expr) {
            keys.push(key);
        }
    }
    keys
}

fn is_unordered(function: &AggregateFunction) -> bool {
    ORDERED.contains(&function.func.name()) && function.params.order_by.is_empty() && !function.params.distinct
}

/// The plan with the columns that its rows are sorted by, and its order; `None` if it has none. Below `LIMIT`, sorts stay.
fn with_keys(plan: &LogicalPlan, is_limited: bool) -> Result<Option<(LogicalPlan, Vec<SortExpr>)>> {
    Ok(match plan {
        LogicalPlan::Sort(sort) => {
            let input = match sort.fetch.is_some() || is_limited {
                true => plan.clone(),
                false => (*sort.input).clone(),
            };
            Some(sort_columns(input, sort.expr.clone())?)
        }
        LogicalPlan::Projection(projection) => match with_keys(&projection.input, is_limited)? {
            Some((input, keys)) => Some(projected(projection, input, keys)?),
            None => None,
        },
        LogicalPlan::SubqueryAlias(alias) => match with_keys(&alias.input, is_limited)? {
            Some((input, keys)) => {
                let before = Arc::clone(input.schema());
                let renamed = SubqueryAlias::try_new(Arc::new(input), alias.alias.clone())?;
                let keys = keys.into_iter().map(|key| {
                    let place = key.expr.try_as_col().and_then(|column| before.maybe_index_of_column(column));
                    let expr = place.map(|at| Expr::Column(Column::from(renamed.schema.qualified_field(at))));
                    Some(SortExpr { expr: expr?, ..key })
                });
                let keys: Option<Vec<SortExpr>> = keys.collect();
                keys.map(|keys| (LogicalPlan::SubqueryAlias(renamed), keys))
            }
            None => None,
        },
        LogicalPlan::Filter(filter) => match with_keys(&filter.input, is_limited)? {
            Some((input, keys)) => {
                Some((LogicalPlan::Filter(Filter::try_new(filter.predicate.clone(), Arc::new(input))?), keys))
            }
            None => None,
        },
        LogicalPlan::Limit(limit) => with_keys(&limit.input, true)?
            .map(|(input, keys)| (LogicalPlan::Limit(Limit { input: Arc::new(input), ..limit.clone() }), keys)),
        _ => None,
    })
}

/// Adds the expressions of an order that are no columns.
fn sort_columns(input: LogicalPlan, order: Vec<SortExpr>) -> Result<(LogicalPlan, Vec<SortExpr>)> {
    let mut columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
    let count = columns.len();
    let keys = order.into_iter().enumerate().map(|(number, key)| match key.expr {
        Expr::Column(_) => key,
        expr => {
            let name = format!("{KEY}{number}");
            columns.push(expr.alias(&name));
            SortExpr { expr: Expr::Column(Column::new_unqualified(name)), ..key }
        }
    });
    let keys: Vec<SortExpr> = keys.collect();
    if columns.len() == count {
        return Ok((input, keys));
    }
    Ok((LogicalPlan::Projection(Projection::try_new(columns, Arc::new(input))?), keys))
}

/// The projection of an input with more columns, which keeps the sorted ones.
fn projected(
    projection: &Projection,
    input: LogicalPlan,
    order: Vec<SortExpr>,
) -> Result<(LogicalPlan, Vec<SortExpr>)> {
    let mut columns = projection.expr.clone();
    let mut places = Vec::new();
    for (number, key) in order.iter().enumerate() {
        let is_key = |column: &Expr| column.clone().unalias() == key.expr;
        places.push(columns.iter().position(is_key).unwrap_or_else(|| {
            columns.push(key.expr.clone().alias(format!("{KEY}{number}")));
            columns.len() - 1
        }));
    }
    let projection = Projection::try_new(columns, Arc::new(input))?;
    let keys = order.into_iter().zip(places).map(|(key, at)| {
        let expr = Expr::Column(Column::from(projection.schema.qualified_field(at)));
        SortExpr { expr, ..key }
    });
    let keys = keys.collect();
    Ok((LogicalPlan::Projection(projection), keys))
}
