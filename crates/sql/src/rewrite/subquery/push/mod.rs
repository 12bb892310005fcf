mod join;

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result, not_impl_err};
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction};
use datafusion::logical_expr::{
    Aggregate, Distinct, DistinctOn, Expr, ExprFunctionExt, ExprSchemable, GroupingSet, JoinType, Limit, LogicalPlan,
    LogicalPlanBuilder, Sort, SortExpr, SubqueryAlias, Values, Window, WindowFunctionDefinition, lit,
};
use datafusion::prelude::coalesce;

use super::columns;
use super::domain::{Domain, DomainPlan};
use crate::shared_plan::SharedPlan;

/// Makes `plan` compute results for all values of a domain at once.
pub(in crate::rewrite::subquery) fn push(plan: &LogicalPlan, domain: &Domain<'_>) -> Result<DomainPlan> {
    if !domain.is_used_by(plan)? {
        let (instance, columns) = domain.instance()?;
        let plan = LogicalPlanBuilder::from(plan.clone()).cross_join(instance)?.build()?;
        return Ok(DomainPlan { plan, domain: columns });
    }
    match plan {
        LogicalPlan::Filter(filter) => {
            let input = push(&filter.input, domain)?;
            let predicate = domain.bind(filter.predicate.clone(), &input.domain)?;
            let plan = LogicalPlanBuilder::from(input.plan).filter(predicate)?.build()?;
            Ok(DomainPlan { plan, domain: input.domain })
        }
        LogicalPlan::Projection(projection) => {
            let input = push(&projection.input, domain)?;
            let mut exprs = Vec::with_capacity(projection.expr.len() + input.domain.len());
            for (at, expr) in projection.expr.iter().enumerate() {
                exprs.push(columns::named_as(domain.bind(expr.clone(), &input.domain)?, &projection.schema, at));
            }
            exprs.extend(input.domain.iter().cloned().map(Expr::Column));
            Ok(DomainPlan { plan: LogicalPlanBuilder::from(input.plan).project(exprs)?.build()?, domain: input.domain })
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let input = push(&alias.input, domain)?;
            let plan = columns::only(input.plan, alias.input.schema(), &input.domain)?;
            let plan = LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(plan), alias.alias.clone())?);
            let own = |column: Column| Column::new(Some(alias.alias.clone()), column.name);
            Ok(DomainPlan { plan, domain: input.domain.into_iter().map(own).collect() })
        }
        LogicalPlan::Subquery(subquery) => push(&subquery.subquery, domain),
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => push(&sort.input, domain),
        LogicalPlan::Limit(limit) => push_limit(limit, &limit.input, domain),
        LogicalPlan::Distinct(Distinct::All(input)) => {
            let pushed = push(input, domain)?;
            let plan = columns::only(pushed.plan, input.schema(), &pushed.domain)?;
            Ok(DomainPlan { plan: LogicalPlanBuilder::from(plan).distinct()?.build()?, domain: pushed.domain })
        }
        LogicalPlan::Distinct(Distinct::On(on)) => push_distinct_on(on, domain),
        LogicalPlan::Aggregate(aggregate) => push_aggregate(aggregate, domain),
        LogicalPlan::Window(window) => push_window(window, domain),
        LogicalPlan::Values(values) => push_values(values, domain),
        LogicalPlan::Join(join) => join::join(join, domain),
        LogicalPlan::Union(union) => join::union(union, domain),
        LogicalPlan::Unnest(unnest) => {
            let input = push(&unnest.input, domain)?;
            let options = unnest.options.clone();
            let plan = LogicalPlanBuilder::from(input.plan);
            let plan = plan.unnest_columns_with_options(unnest.exec_columns.clone(), options)?.build()?;
            Ok(DomainPlan { plan, domain: input.domain })
        }
        other => match SharedPlan::from_plan(other) {
            Some(shared) => push_shared(shared, domain),
            None => not_impl_err!(
                "a column of the outer query inside of {} of a subquery: write it as a join of the outer table and a query with GROUP BY",
                other.display()
            ),
        },
    }
}

/// Shares the rows of all values of the domain, for example the rows that LIMIT chooses for each outer row.
fn push_shared(shared: &SharedPlan, domain: &Domain<'_>) -> Result<DomainPlan> {
    let own = shared.input().schema();
    let DomainPlan { plan, domain: keys } = match domain.pushed(shared.id()) {
        Some(pushed) => pushed,
        None => {
            let input = push(shared.input(), domain)?;
            let plan = SharedPlan::plan(columns::only(input.plan, own, &input.domain)?);
            let pushed = DomainPlan { plan, domain: input.domain };
            domain.remember(shared.id(), pushed.clone());
            pushed
        }
    };
    // Readers may be joined to each other, so their columns of the domain need different names.
    let relation = format!("__outer_{}", domain.next_name());
    let names: Vec<Column> =
        (0..keys.len()).map(|at| Column::new(Some(relation.as_str()), format!("{relation}_{at}"))).collect();
    let mut exprs = columns::all(own);
    for (key, name) in keys.into_iter().zip(&names) {
        exprs.push(Expr::Column(key).alias_qualified(name.relation.clone(), name.name.clone()));
    }
    Ok(DomainPlan { plan: LogicalPlanBuilder::from(plan).project(exprs)?.build()?, domain: names })
}

/// Groups by the domain, too. Without GROUP BY, an empty group has a result, too.
fn push_aggregate(aggregate: &Aggregate, domain: &Domain<'_>) -> Result<DomainPlan> {
    if aggregate.group_expr.iter().any(has_empty_grouping_set) {
        return not_impl_err!(
            "ROLLUP, CUBE or an empty grouping set in a subquery that uses columns of the outer query: write it as UNION ALL of queries with GROUP BY"
        );
    }
    let input = push(&aggregate.input, domain)?;
    let bind = |expr: &Expr| domain.bind(expr.clone(), &input.domain);
    let mut groups = aggregate.group_expr.iter().map(bind).collect::<Result<Vec<_>>>()?;
    groups.extend(input.domain.iter().cloned().map(Expr::Column));
    let aggregates = aggregate.aggr_expr.iter().map(bind).collect::<Result<Vec<_>>>()?;
    let names: Vec<Column> = (0..aggregates.len())
        .map(|at| columns::at(&aggregate.schema, aggregate.schema.fields().len() - aggregates.len() + at))
        .collect();
    let is_total = aggregate.group_expr.is_empty();
    let group_columns = aggregate.schema.fields().len() - names.len();
    let plan = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input.plan), groups, aggregates)?);
    // Grouping columns, the domain, perhaps an internal column, aggregates.
    let schema = Arc::clone(plan.schema());
    let first = schema.fields().len() - names.len();
    let (plan, keys) = if is_total {
        let (instance, keys) = domain.instance()?;
        let conditions = columns::same(&keys, &input.domain);
        (LogicalPlanBuilder::from(instance).join_on(plan, JoinType::Left, conditions)?.build()?, keys)
    } else {
        (plan, input.domain.clone())
    };
    let mut exprs = Vec::new();
    for at in 0..group_columns {
        // The domain precedes the internal column of grouping sets.
        let is_internal = aggregate.schema.field(at).name() == Aggregate::INTERNAL_GROUPING_ID;
        let from = if is_internal { first - 1 } else { at };
        exprs.push(columns::named_as(Expr::Column(columns::at(&schema, from)), &aggregate.schema, at));
    }
    for (at, name) in names.iter().enumerate() {
        let mut value = Expr::Column(columns::at(&schema, first + at));
        if is_total && let Some(empty) = value_of_no_rows(&aggregate.aggr_expr[at], aggregate)? {
            value = coalesce(vec![value, empty]);
        }
        exprs.push(value.alias_qualified(name.relation.clone(), name.name.clone()));
    }
    exprs.extend(keys.iter().cloned().map(Expr::Column));
    Ok(DomainPlan { plan: LogicalPlanBuilder::from(plan).project(exprs)?.build()?, domain: keys })
}

fn has_empty_grouping_set(group: &Expr) -> bool {
    match group {
        Expr::GroupingSet(GroupingSet::GroupingSets(sets)) => sets.iter().any(Vec::is_empty),
        Expr::GroupingSet(_) => true,
        _ => false,
    }
}

/// The value of an aggregate over no rows; `None` for null.
pub(in crate::rewrite::subquery) fn value_of_no_rows(expr: &Expr, aggregate: &Aggregate) -> Result<Option<Expr>> {
    let function = match expr {
        Expr::Alias(alias) => return value_of_no_rows(&alias.expr, aggregate),
        Expr::AggregateFunction(AggregateFunction { func, .. }) => func,
        _ => return Ok(None),
    };
    let data_type = expr.get_type(aggregate.input.schema())?;
    if ["count", "approx_distinct", "regr_count"].contains(&function.name()) {
        return Ok(Some(Expr::Literal(datafusion::scalar::ScalarValue::new_zero(&data_type)?, None)));
    }
    let value = function.default_value(&data_type)?;
    Ok((!value.is_null()).then_some(Expr::Literal(value, None)))
}

/// Limits the rows of each value of the domain.
fn push_limit(limit: &Limit, input: &LogicalPlan, domain: &Domain<'_>) -> Result<DomainPlan> {
    let bounds = [&limit.skip, &limit.fetch];
    for bound in bounds.into_iter().flatten() {
        if domain.is_used_in(bound)? {
            return not_impl_err!(
                "LIMIT or OFFSET by a column of the outer query: compare row_number() with it instead"
            );
        }
    }
    // A projection keeps the order of rows, and `push` does not.
    if let LogicalPlan::Projection(projection) = input
        && domain.is_used_by(&projection.input)?
    {
        let pushed = push_limit(limit, &projection.input, domain)?;
        return push_projection(projection, pushed, domain);
    }
    let (input, order) = match input {
        LogicalPlan::Sort(Sort { input, expr, fetch: None }) => (input.as_ref(), expr.as_slice()),
        other => (other, [].as_slice()),
    };
    let pushed = push(input, domain)?;
    let order = order
        .iter()
        .map(|sort| Ok(SortExpr::new(domain.bind(sort.expr.clone(), &pushed.domain)?, sort.asc, sort.nulls_first)))
        .collect::<Result<Vec<_>>>()?;
    let number = numbered(&pushed.domain, order)?.alias(format!("__row_{}", domain.next_name()));
    let column = Expr::Column(Column::from_name(number.schema_name().to_string()));
    let numbers = LogicalPlanBuilder::from(pushed.plan).window([number])?;
    let number = column.cast_to(&arrow_schema::DataType::Int64, numbers.schema())?;
    let skip = limit.skip.as_deref().cloned().unwrap_or_else(|| lit(0_i64));
    let mut kept = number.clone().gt(skip.clone());
    if let Some(fetch) = limit.fetch.as_deref() {
        kept = kept.and((number - skip).lt_eq(fetch.clone()));
    }
    let plan = numbers.filter(kept)?.build()?;
    Ok(DomainPlan { plan: columns::only(plan, input.schema(), &pushed.domain)?, domain: pushed.domain })
}

fn push_projection(
    projection: &datafusion::logical_expr::Projection,
    input: DomainPlan,
    domain: &Domain<'_>,
) -> Result<DomainPlan> {
    let mut exprs = Vec::with_capacity(projection.expr.len() + input.domain.len());
    for (at, expr) in projection.expr.iter().enumerate() {
        exprs.push(columns::named_as(domain.bind(expr.clone(), &input.domain)?, &projection.schema, at));
    }
    exprs.extend(input.domain.iter().cloned().map(Expr::Column));
    Ok(DomainPlan { plan: LogicalPlanBuilder::from(input.plan).project(exprs)?.build()?, domain: input.domain })
}

/// Numbers rows within partitions of equal values.
pub(in crate::rewrite::subquery) fn numbered(partition: &[Column], order: Vec<SortExpr>) -> Result<Expr> {
    let function = WindowFunctionDefinition::WindowUDF(row_number_udwf());
    let number = Expr::from(WindowFunction::new(function, vec![]));
    let number = number.partition_by(partition.iter().cloned().map(Expr::Column).collect());
    if order.is_empty() { number.build() } else { number.order_by(order).build() }
}

fn push_distinct_on(on: &DistinctOn, domain: &Domain<'_>) -> Result<DomainPlan> {
    let input = push(&on.input, domain)?;
    let keys = || input.domain.iter().cloned().map(Expr::Column);
    let bind = |expr: &Expr| domain.bind(expr.clone(), &input.domain);
    let mut on_exprs: Vec<Expr> = keys().collect();
    for expr in &on.on_expr {
        on_exprs.push(bind(expr)?);
    }
    let mut selected = Vec::new();
    for (at, expr) in on.select_expr.iter().enumerate() {
        selected.push(columns::named_as(bind(expr)?, &on.schema, at));
    }
    selected.extend(keys());
    let sort = match &on.sort_expr {
        Some(sort) => {
            let mut order: Vec<SortExpr> = keys().map(|key| key.sort(true, false)).collect();
            for own in sort {
                order.push(SortExpr::new(bind(&own.expr)?, own.asc, own.nulls_first));
            }
            Some(order)
        }
        None => None,
    };
    let plan = Distinct::On(DistinctOn::try_new(on_exprs, selected, sort, Arc::new(input.plan))?);
    Ok(DomainPlan { plan: LogicalPlan::Distinct(plan), domain: input.domain })
}

/// Partitions windows by the domain, too.
fn push_window(window: &Window, domain: &Domain<'_>) -> Result<DomainPlan> {
    let input = push(&window.input, domain)?;
    let plan = columns::only(input.plan, window.input.schema(), &input.domain)?;
    let mut functions = Vec::with_capacity(window.window_expr.len());
    for expr in &window.window_expr {
        let bound = domain.bind(expr.clone(), &input.domain)?;
        let parted = bound.transform_up(|expr| match expr {
            Expr::WindowFunction(mut function) => {
                function.params.partition_by.extend(input.domain.iter().cloned().map(Expr::Column));
                Ok(Transformed::yes(Expr::WindowFunction(function)))
            }
            other => Ok(Transformed::no(other)),
        })?;
        functions.push(parted.data);
    }
    let own = window.input.schema().fields().len();
    let first = plan.schema().fields().len();
    let plan = LogicalPlan::Window(Window::try_new(functions, Arc::new(plan))?);
    let mut exprs = columns::all(window.input.schema());
    for at in 0..window.window_expr.len() {
        let value = Expr::Column(columns::at(plan.schema(), first + at));
        exprs.push(columns::named_as(value, &window.schema, own + at));
    }
    exprs.extend(input.domain.iter().cloned().map(Expr::Column));
    Ok(DomainPlan { plan: LogicalPlanBuilder::from(plan).project(exprs)?.build()?, domain: input.domain })
}

/// Repeats each row of VALUES for each value of the domain.
fn push_values(values: &Values, domain: &Domain<'_>) -> Result<DomainPlan> {
    let mut all: Option<LogicalPlanBuilder> = None;
    let mut first = Vec::new();
    for row in &values.values {
        let (instance, keys) = domain.instance()?;
        let mut exprs = Vec::with_capacity(row.len() + keys.len());
        for (at, expr) in row.iter().enumerate() {
            exprs.push(domain.bind(expr.clone(), &keys)?.alias(values.schema.field(at).name()));
        }
        exprs.extend(keys.iter().cloned().map(Expr::Column));
        let plan = LogicalPlanBuilder::from(instance).project(exprs)?;
        all = Some(match all {
            Some(before) => before.union(plan.build()?)?,
            None => {
                first = keys;
                plan
            }
        });
    }
    let Some(all) = all else { return not_impl_err!("VALUES without rows") };
    let plan = all.build()?;
    let schema = Arc::clone(plan.schema());
    let own = values.schema.fields().len();
    let mut exprs = Vec::new();
    for at in 0..own {
        exprs.push(columns::named_as(Expr::Column(columns::at(&schema, at)), &values.schema, at));
    }
    for (at, key) in first.iter().enumerate() {
        let value = Expr::Column(columns::at(&schema, own + at));
        exprs.push(value.alias_qualified(key.relation.clone(), key.name.clone()));
    }
    Ok(DomainPlan { plan: LogicalPlanBuilder::from(plan).project(exprs)?.build()?, domain: first })
}
