//! Compares floats as PostgreSQL and conditions of `lath find` do: all NaNs are equal and larger than all numbers, and both zeros are
//! equal.
//!
//! DataFusion 55 compares floats by their bits: a NaN with a sign is smaller than all numbers and equals no other NaN, and zeros differ
//! except in groups and joins. Here floats become one NaN and one zero wherever they are compared, sorted or grouped. The key of a group is
//! the canonical value; elsewhere values stay unchanged.
//!
//! Conditions that compare with a number other than zero by `=` need no change, and the others are still pushed down to scans (see
//! `translate`).

mod canonical;
mod extremum;

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{
    AggregateFunction, Between, Case, GroupingSet, InList, InSubquery, ScalarFunction, SetComparison, Sort,
    WindowFunction,
};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    AggregateUDF, BinaryExpr, Distinct, Expr, ExprSchemable, LogicalPlan, Operator, Projection, RecursiveQuery,
    ScalarUDF, Subquery, WindowFunctionDefinition,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

use canonical::{Canonical, canonical_scalar, has_float, is_plain_number};
use extremum::Extremum;

use crate::rewrite::expressions::is_comparison;

pub(crate) use canonical::CANONICAL_FLOAT;

/// Functions that compare their arguments, or elements of their arguments.
const COMPARING_FUNCTIONS: [&str; 22] = [
    "array_distinct",
    "array_except",
    "array_has",
    "array_has_all",
    "array_has_any",
    "array_intersect",
    "array_max",
    "array_min",
    "array_position",
    "array_positions",
    "array_remove",
    "array_remove_all",
    "array_remove_n",
    "array_replace",
    "array_replace_all",
    "array_replace_n",
    "array_sort",
    "array_union",
    "arrays_overlap",
    "greatest",
    "least",
    "nullif",
];

/// Aggregate functions that compare or sort their arguments.
const COMPARING_AGGREGATES: [&str; 8] =
    ["approx_distinct", "approx_median", "approx_percentile_cont", "max", "median", "min", "mode", "percentile_cont"];

/// The function that makes floats canonical.
pub(crate) fn canonical_function() -> ScalarUDF {
    ScalarUDF::from(Canonical::new())
}

/// `min` and `max` of floats.
pub(crate) fn float_extremes() -> [AggregateUDF; 2] {
    [Extremum::min(), Extremum::max()].map(AggregateUDF::from)
}

/// Makes floats canonical where they are compared. The rule runs after DataFusion's coercion, when types are known.
#[derive(Debug)]
pub(crate) struct FloatOrder {
    canonical: Arc<ScalarUDF>,
    min: Arc<AggregateUDF>,
    max: Arc<AggregateUDF>,
}

impl FloatOrder {
    pub(crate) fn new() -> Self {
        let [min, max] = float_extremes().map(Arc::new);
        Self { canonical: Arc::new(canonical_function()), min, max }
    }

    fn rewrite_plan(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        let mut schema = merge_schema(&plan.inputs());
        if let LogicalPlan::TableScan(scan) = &plan {
            schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
        }
        if let LogicalPlan::Dml(change) = &plan {
            schema.merge(&DFSchema::try_from_qualified_schema(change.table_name.clone(), &change.target.schema())?);
        }
        let names = NamePreserver::new(&plan);
        let is_key = matches!(plan, LogicalPlan::Sort(_) | LogicalPlan::Join(_));
        let rewritten = plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let rewritten = expr.transform_up(|expr| self.rewrite(expr, &schema))?;
            let rewritten = match is_key && is_float(&rewritten.data, &schema) {
                true => Transformed::yes(self.wrap(rewritten.data, &schema)),
                false => rewritten,
            };
            Ok(if rewritten.transformed { rewritten.update_data(|expr| name.restore(expr)) } else { rewritten })
        })?;
        rewritten.transform_data(|plan| self.rewrite_keys(plan))
    }

    /// Makes floats canonical where an expression compares them.
    fn rewrite(&self, expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
        let wrap = |expr: Box<Expr>| Box::new(self.wrap(*expr, schema));
        let wrap_all = |exprs: Vec<Expr>| exprs.into_iter().map(|expr| self.wrap(expr, schema)).collect::<Vec<_>>();
        Ok(Transformed::yes(match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right })
                if is_comparison(op)
                    && is_float(&left, schema)
                    && !(is_equality(op) && (is_plain_number(&left) || is_plain_number(&right))) =>
            {
                Expr::BinaryExpr(BinaryExpr { left: wrap(left), op, right: wrap(right) })
            }
            Expr::Between(Between { expr, negated, low, high }) if is_float(&expr, schema) => {
                Expr::Between(Between { expr: wrap(expr), negated, low: wrap(low), high: wrap(high) })
            }
            Expr::InList(InList { expr, list, negated })
                if is_float(&expr, schema) && !list.iter().all(is_plain_number) =>
            {
                Expr::InList(InList { expr: wrap(expr), list: wrap_all(list), negated })
            }
            Expr::Case(Case { expr: Some(compared), when_then_expr, else_expr }) if is_float(&compared, schema) => {
                let when_then_expr = when_then_expr.into_iter().map(|(when, then)| (wrap(when), then)).collect();
                Expr::Case(Case { expr: Some(wrap(compared)), when_then_expr, else_expr })
            }
            Expr::InSubquery(InSubquery { expr, subquery, negated }) if is_float(&expr, schema) => {
                Expr::InSubquery(InSubquery { expr: wrap(expr), subquery: self.wrap_subquery(subquery)?, negated })
            }
            Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) if is_float(&expr, schema) => {
                let subquery = self.wrap_subquery(subquery)?;
                Expr::SetComparison(SetComparison { expr: wrap(expr), subquery, op, quantifier })
            }
            Expr::ScalarFunction(ScalarFunction { func, args })
                if COMPARING_FUNCTIONS.contains(&func.name()) && args.iter().any(|arg| is_float(arg, schema)) =>
            {
                Expr::ScalarFunction(ScalarFunction { func, args: wrap_all(args) })
            }
            Expr::AggregateFunction(function) => return Ok(self.rewrite_aggregate(function, schema)),
            Expr::WindowFunction(function) => return Ok(self.rewrite_window(function, schema)),
            other => return Ok(Transformed::no(other)),
        }))
    }

    fn rewrite_aggregate(&self, mut function: AggregateFunction, schema: &DFSchema) -> Transformed<Expr> {
        let AggregateFunction { func, params } = &mut function;
        let mut any = self.wrap_sorts(&mut params.order_by, schema);
        let is_comparing = params.distinct || COMPARING_AGGREGATES.contains(&func.name());
        if is_comparing && params.args.iter().any(|arg| is_float(arg, schema)) {
            let is_primitive = params.args.iter().all(|arg| arg.get_type(schema).is_ok_and(|t| t.is_floating()));
            let extremum = match func.name() {
                "min" if is_primitive && !params.distinct => Some(&self.min),
                "max" if is_primitive && !params.distinct => Some(&self.max),
                _ => None,
            };
            match extremum {
                Some(extremum) => *func = Arc::clone(extremum),
                None => {
                    self.wrap_each(params.args.iter_mut(), schema);
                }
            }
            any = true;
        }
        Transformed::new_transformed(Expr::AggregateFunction(function), any)
    }

    fn rewrite_window(&self, mut function: Box<WindowFunction>, schema: &DFSchema) -> Transformed<Expr> {
        let is_comparing = match &function.fun {
            WindowFunctionDefinition::AggregateUDF(aggregate) => COMPARING_AGGREGATES.contains(&aggregate.name()),
            WindowFunctionDefinition::WindowUDF(_) => false,
        };
        let params = &mut function.params;
        let mut any = self.wrap_sorts(&mut params.order_by, schema);
        any |= self.wrap_each(params.partition_by.iter_mut(), schema);
        if is_comparing || params.distinct {
            any |= self.wrap_each(params.args.iter_mut(), schema);
        }
        Transformed::new_transformed(Expr::WindowFunction(function), any)
    }

    /// Makes the keys of GROUP BY and DISTINCT canonical.
    fn rewrite_keys(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        Ok(match plan {
            LogicalPlan::Distinct(Distinct::All(input)) if has_floats(input.schema()) => {
                Transformed::yes(LogicalPlan::Distinct(Distinct::All(self.with_canonical_columns(input)?)))
            }
            LogicalPlan::Distinct(Distinct::On(mut on)) => {
                let schema = Arc::clone(on.input.schema());
                let mut any = self.wrap_each(on.on_expr.iter_mut(), &schema);
                any |= on.sort_expr.as_mut().is_some_and(|sorts| self.wrap_sorts(sorts, &schema));
                Transformed::new_transformed(LogicalPlan::Distinct(Distinct::On(on)), any)
            }
            LogicalPlan::RecursiveQuery(query) if query.is_distinct && has_floats(&query.schema) => {
                let static_term = self.with_canonical_columns(query.static_term)?;
                let recursive_term = self.with_canonical_columns(query.recursive_term)?;
                Transformed::yes(LogicalPlan::RecursiveQuery(RecursiveQuery { static_term, recursive_term, ..query }))
            }
            LogicalPlan::Aggregate(mut aggregate) => {
                let schema = Arc::clone(aggregate.input.schema());
                let has_sets = aggregate.group_expr.iter().any(|key| matches!(key, Expr::GroupingSet(_)));
                if has_sets && groups_by_float(&aggregate.group_expr, &schema) {
                    aggregate.input = self.with_canonical_columns(aggregate.input)?;
                    return Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)));
                }
                let mut any = false;
                let names = NamePreserver::new_for_projection();
                for key in aggregate.group_expr.iter_mut().filter(|key| is_float(key, &schema)) {
                    let name = names.save(key);
                    let inner = std::mem::replace(key, Expr::Literal(ScalarValue::Null, None));
                    *key = name.restore(self.wrap(inner.unalias(), &schema));
                    any = true;
                }
                Transformed::new_transformed(LogicalPlan::Aggregate(aggregate), any)
            }
            other => Transformed::no(other),
        })
    }

    /// Makes the floats of all columns canonical, and keeps the columns' names.
    fn with_canonical_columns(&self, input: Arc<LogicalPlan>) -> Result<Arc<LogicalPlan>> {
        let schema = Arc::clone(input.schema());
        let columns = schema.columns().into_iter().map(|column| {
            let (relation, name) = (column.relation.clone(), column.name.clone());
            match self.wrap(Expr::Column(column), &schema) {
                column @ Expr::Column(_) => column,
                canonical => canonical.alias_qualified(relation, name),
            }
        });
        Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(columns.collect(), input)?)))
    }

    fn wrap_subquery(&self, subquery: Subquery) -> Result<Subquery> {
        let plan = self.with_canonical_columns(Arc::clone(&subquery.subquery))?;
        Ok(subquery.with_plan(plan))
    }

    fn wrap_sorts(&self, sorts: &mut [Sort], schema: &DFSchema) -> bool {
        self.wrap_each(sorts.iter_mut().map(|sort| &mut sort.expr), schema)
    }

    /// Makes the floats among expressions canonical. Returns whether there were any.
    fn wrap_each<'e>(&self, exprs: impl Iterator<Item = &'e mut Expr>, schema: &DFSchema) -> bool {
        let mut any = false;
        for expr in exprs.filter(|expr| is_float(expr, schema)) {
            let inner = std::mem::replace(expr, Expr::Literal(ScalarValue::Null, None));
            *expr = self.wrap(inner, schema);
            any = true;
        }
        any
    }

    /// Makes a float canonical, and leaves other expressions unchanged.
    fn wrap(&self, expr: Expr, schema: &DFSchema) -> Expr {
        match expr {
            Expr::Literal(value, metadata) => Expr::Literal(canonical_scalar(value), metadata),
            Expr::ScalarFunction(call) if call.func.name() == CANONICAL_FLOAT => Expr::ScalarFunction(call),
            expr if is_float(&expr, schema) => {
                Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&self.canonical), vec![expr]))
            }
            other => other,
        }
    }
}

impl AnalyzerRule for FloatOrder {
    fn name(&self) -> &str {
        "lath_float_order"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| self.rewrite_plan(plan)).map(|rewritten| rewritten.data)
    }
}

fn is_equality(op: Operator) -> bool {
    use Operator::{Eq, IsDistinctFrom, IsNotDistinctFrom, NotEq};
    matches!(op, Eq | NotEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// Whether the type of an expression is or contains a float.
fn is_float(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|data_type| has_float(&data_type))
}

fn has_floats(schema: &DFSchema) -> bool {
    schema.fields().iter().any(|field| has_float(field.data_type()))
}

fn groups_by_float(keys: &[Expr], schema: &DFSchema) -> bool {
    keys.iter().any(|key| match key {
        Expr::GroupingSet(GroupingSet::Rollup(exprs) | GroupingSet::Cube(exprs)) => {
            exprs.iter().any(|expr| is_float(expr, schema))
        }
        Expr::GroupingSet(GroupingSet::GroupingSets(sets)) => sets.iter().flatten().any(|expr| is_float(expr, schema)),
        key => is_float(key, schema),
    })
}
