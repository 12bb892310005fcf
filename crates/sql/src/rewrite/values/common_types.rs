//! Finds numbers of different types that need a common type, because they are compared or are values of one expression. `dates`,
//! `floats` and `decimals` choose the type if DataFusion 55 would choose one that cannot hold all values.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Projection, Union, cast};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

use super::{dates, decimals, floats};
use crate::rewrite::expressions::{case_parts, is_comparison, rewrite_expressions};

/// Functions whose arguments have a common type.
const ONE_TYPE_FUNCTIONS: [&str; 8] =
    ["coalesce", "nvl", "ifnull", "nullif", "greatest", "least", "make_array", "nvl2"];

/// Casts numbers to a common type that holds all values, before DataFusion chooses one.
#[derive(Debug)]
pub(crate) struct CommonTypes;

impl AnalyzerRule for CommonTypes {
    fn name(&self) -> &str {
        "lath_common_types"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(|plan| {
            let changed =
                rewrite_expressions(plan, |expr, schema| expr.transform_up(|expr| with_common_types(expr, schema)))?;
            match changed.data {
                LogicalPlan::Union(union) => unify_union(union),
                plan if changed.transformed => Ok(Transformed::yes(plan.recompute_schema()?)),
                plan => Ok(Transformed::no(plan)),
            }
        })?;
        Ok(changed.data)
    }
}

fn with_common_types(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
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
        // A null has no number type. As a null integer, every comparison with it is null.
        Expr::InSubquery(subquery) if subquery.expr.get_type(schema)? == DataType::Null => {
            let inner = std::mem::replace(subquery.expr.as_mut(), Expr::Literal(ScalarValue::Null, None));
            *subquery.expr = cast(inner, DataType::Int64);
            true
        }
        Expr::Case(case) => {
            let (compared, results) = case_parts(case);
            unify(compared, schema) | unify(results, schema)
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) if ONE_TYPE_FUNCTIONS.contains(&func.name()) => {
            let skipped = usize::from(func.name() == "nvl2");
            unify(args.iter_mut().skip(skipped).collect(), schema)
        }
        _ => false,
    };
    Ok(if is_changed { Transformed::yes(expr) } else { Transformed::no(expr) })
}

/// Casts expressions that need a common type, if DataFusion would choose one that cannot hold all values. Returns whether it did.
fn unify(mut exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    dates::unify(exprs.iter_mut().map(|expr| &mut **expr).collect(), schema)
        || floats::unify(exprs.iter_mut().map(|expr| &mut **expr).collect(), schema)
        || decimals::unify(exprs, schema)
}

/// Unifies the columns of a union.
fn unify_union(union: Union) -> Result<Transformed<LogicalPlan>> {
    let width = union.schema.fields().len();
    let common = |column: usize| {
        let fields = union.inputs.iter().filter_map(|input| input.schema().fields().get(column).cloned());
        let types: Vec<DataType> = fields.map(|field| field.data_type().clone()).collect();
        floats::type_in_union(&types).or_else(|| decimals::wide_type(types.iter().map(decimals::places)))
    };
    let common: Vec<Option<DataType>> = (0..width).map(common).collect();
    if common.iter().all(Option::is_none) {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    }
    let mut cast_inputs = Vec::with_capacity(union.inputs.len());
    for input in &union.inputs {
        let columns = input.schema().columns().into_iter().enumerate().map(|(at, column)| {
            let (qualifier, name) = (column.relation.clone(), column.name.clone());
            let is_number = decimals::places(input.schema().field(at).data_type()).is_some();
            match &common[at] {
                Some(common) if is_number => {
                    cast(Expr::Column(column), common.clone()).alias_qualified(qualifier, name)
                }
                _ => Expr::Column(column),
            }
        });
        let projection = Projection::try_new(columns.collect(), Arc::clone(input))?;
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
