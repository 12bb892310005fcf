//! Decimals beside floats are floats.
//!
//! DataFusion 55 compares them as decimals of 30 digits, 15 of them after the point: large floats and NaN are errors then, small ones are 0,
//! and no condition on a column of floats goes into the scan. As in PostgreSQL, a decimal becomes a float here. A literal becomes one of the
//! column's precision, as in conditions of `lath find`, so that `real_column = 0.1` finds what was stored as 0.1.

use arrow_schema::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, Projection, Union, cast,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

use super::expressions::rewrite_expressions;

/// Functions whose arguments have one type.
const OF_ONE_TYPE: [&str; 8] = ["coalesce", "nvl", "ifnull", "nullif", "greatest", "least", "make_array", "nvl2"];

/// Makes decimals beside floats floats, before DataFusion finds common types.
#[derive(Debug)]
pub(crate) struct DecimalsBesideFloats;

impl AnalyzerRule for DecimalsBesideFloats {
    fn name(&self) -> &str {
        "decimals_beside_floats"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(|plan| {
            let changed =
                rewrite_expressions(plan, |expr, schema| expr.transform_up(|expr| beside_floats(expr, schema)))?;
            match changed.data {
                LogicalPlan::Union(union) => of_union(union),
                plan if changed.transformed => Ok(Transformed::yes(plan.recompute_schema()?)),
                plan => Ok(Transformed::no(plan)),
            }
        })?;
        Ok(changed.data)
    }
}

fn beside_floats(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let mut expr = expr;
    let is_changed = match &mut expr {
        Expr::BinaryExpr(binary) if is_comparison(binary.op) => {
            unify(vec![&mut binary.left, &mut binary.right], schema)
        }
        Expr::Between(between) => unify(vec![&mut between.expr, &mut between.low, &mut between.high], schema),
        Expr::InList(list) => {
            let expr = std::iter::once(list.expr.as_mut());
            unify(expr.chain(&mut list.list).collect(), schema)
        }
        Expr::Case(case) => {
            let (mut compared, mut results) = (Vec::new(), Vec::new());
            let has_operand = case.expr.is_some();
            compared.extend(case.expr.as_deref_mut());
            for (when, then) in &mut case.when_then_expr {
                if has_operand {
                    compared.push(when.as_mut());
                }
                results.push(then.as_mut());
            }
            results.extend(case.else_expr.as_deref_mut());
            unify(compared, schema) | unify(results, schema)
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) if OF_ONE_TYPE.contains(&func.name()) => {
            let skipped = usize::from(func.name() == "nvl2");
            unify(args.iter_mut().skip(skipped).collect(), schema)
        }
        _ => false,
    };
    Ok(if is_changed { Transformed::yes(expr) } else { Transformed::no(expr) })
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// Casts the decimals among expressions that get one type, if one of them is a float; whether there were such.
fn unify(exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    // What has no type yet is left as it is.
    let types: Vec<Option<DataType>> = exprs.iter().map(|expr| expr.get_type(schema).ok()).collect();
    let mut floats = types.iter().flatten().filter(|data_type| data_type.is_floating());
    let is_decimal = |data_type: &Option<DataType>| data_type.as_ref().is_some_and(DataType::is_decimal);
    let Some(first) = floats.next() else { return false };
    if !types.iter().any(is_decimal) {
        return false;
    }
    let is_wide = *first == DataType::Float64 || floats.any(|data_type| *data_type == DataType::Float64);
    for (expr, data_type) in exprs.into_iter().zip(&types) {
        if is_decimal(data_type) {
            let float = if is_literal(expr) && !is_wide { DataType::Float32 } else { DataType::Float64 };
            let inner = std::mem::replace(expr, Expr::Literal(ScalarValue::Null, None));
            *expr = cast(inner, float);
        }
    }
    true
}

fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(..) => true,
        Expr::Negative(inner) => is_literal(inner),
        _ => false,
    }
}

/// Casts decimals of one input of a union to the floats of another.
fn of_union(union: Union) -> Result<Transformed<LogicalPlan>> {
    let inputs = union.inputs.iter().map(|input| input.schema());
    let width = union.schema.fields().len();
    let is_mixed = |column: &usize| {
        let types = || inputs.clone().filter_map(|schema| schema.fields().get(*column)).map(|field| field.data_type());
        types().any(DataType::is_floating) && types().any(DataType::is_decimal)
    };
    let mixed: Vec<usize> = (0..width).filter(is_mixed).collect();
    if mixed.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    }
    let mut cast_inputs = Vec::with_capacity(union.inputs.len());
    for input in &union.inputs {
        let columns = input.schema().columns().into_iter().enumerate().map(|(at, column)| {
            let name = column.name.clone();
            let qualifier = column.relation.clone();
            let is_decimal = input.schema().field(at).data_type().is_decimal();
            match mixed.contains(&at) && is_decimal {
                true => cast(Expr::Column(column), DataType::Float64).alias_qualified(qualifier, name),
                false => Expr::Column(column),
            }
        });
        let projection = Projection::try_new(columns.collect(), std::sync::Arc::clone(input))?;
        cast_inputs.push(LogicalPlan::Projection(projection));
    }
    let mut inputs = cast_inputs.into_iter();
    let Some(first) = inputs.next() else { return Ok(Transformed::no(LogicalPlan::Union(union))) };
    let mut builder = LogicalPlanBuilder::from(first);
    for input in inputs {
        builder = builder.union(input)?;
    }
    Ok(Transformed::yes(builder.build()?))
}
