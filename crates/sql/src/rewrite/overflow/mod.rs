//! Makes overflow of arithmetic an error.
//!
//! DataFusion 55 wraps integers in `+`, `-`, `*`, unary minus and `sum`, and lets decimals exceed the digits of their type, in constants as
//! well as at run time. Here expressions become calls of Lath's functions once their types are known, before DataFusion folds constants.
//! Floats, dates, timestamps and intervals are unchanged, because their kernels are checked or cannot overflow.

mod arithmetic;
mod decimal;
mod integer;
mod operation;
mod quotient;
mod sum;
mod sum_accumulator;
mod sum_groups;
mod wide_sum;

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{AggregateUDF, BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, ScalarUDF};
use datafusion::optimizer::AnalyzerRule;
use lath_parquet::ExactType;

use arithmetic::Arithmetic;
use decimal::DecimalOperation;
use operation::Operation;
use quotient::Quotient;
use sum::Sum;

/// The `sum` that replaces DataFusion's.
pub(crate) fn checked_sum() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::from(Sum::new()))
}

/// The functions that replace arithmetic.
pub(crate) fn arithmetic_functions() -> [ScalarUDF; 4] {
    [Operation::Add, Operation::Subtract, Operation::Multiply, Operation::Negate]
        .map(|operation| ScalarUDF::from(Arithmetic::new(operation)))
}

/// The function that replaces quotients of decimals with many digits.
pub(crate) fn quotient_function() -> ScalarUDF {
    ScalarUDF::from(Quotient::new())
}

/// Replaces arithmetic by functions that report overflow. The rule runs after DataFusion's coercion, when types are known.
#[derive(Debug)]
pub(crate) struct CheckedArithmetic {
    add: Arc<ScalarUDF>,
    subtract: Arc<ScalarUDF>,
    multiply: Arc<ScalarUDF>,
    negate: Arc<ScalarUDF>,
    divide: Arc<ScalarUDF>,
}

impl CheckedArithmetic {
    pub(crate) fn new() -> Self {
        let [add, subtract, multiply, negate] = arithmetic_functions().map(Arc::new);
        Self { add, subtract, multiply, negate, divide: Arc::new(quotient_function()) }
    }

    fn check_plan(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        let mut schema = merge_schema(&plan.inputs());
        if let LogicalPlan::TableScan(scan) = &plan {
            schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
        }
        if let LogicalPlan::Dml(change) = &plan {
            schema.merge(&DFSchema::try_from_qualified_schema(change.table_name.clone(), &change.target.schema())?);
        }
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let checked = expr.transform_up(|expr| Ok(self.check(expr, &schema)))?;
            Ok(if checked.transformed { checked.update_data(|expr| name.restore(expr)) } else { checked })
        })
    }

    fn check(&self, expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let function = match op {
                    Operator::Plus => &self.add,
                    Operator::Minus => &self.subtract,
                    Operator::Multiply => &self.multiply,
                    Operator::Divide if has_wide_dividend(&left, &right, schema) => &self.divide,
                    _ => return Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
                };
                // Both sides have the same type, except decimals, which may differ in digits.
                let both_overflow = can_overflow(&left, schema) && can_overflow(&right, schema);
                if !both_overflow {
                    return Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }));
                }
                let arguments = vec![*left, *right];
                Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function), arguments)))
            }
            Expr::Negative(inner) if can_overflow(&inner, schema) => {
                let function = Arc::clone(&self.negate);
                Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![*inner])))
            }
            other => Transformed::no(other),
        }
    }
}

impl AnalyzerRule for CheckedArithmetic {
    fn name(&self) -> &str {
        "lath_checked_arithmetic"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| self.check_plan(plan)).map(|checked| checked.data)
    }
}

/// Whether a call is arithmetic that may overflow.
pub(super) fn may_overflow(call: &ScalarFunction, schema: &DFSchema) -> bool {
    let operations = [Operation::Add, Operation::Subtract, Operation::Multiply, Operation::Negate];
    let Some(operation) = operations.into_iter().find(|operation| operation.name() == call.func.name()) else {
        return false;
    };
    let types: Vec<_> = call.args.iter().map(|side| side.get_type(schema)).collect();
    match types.as_slice() {
        [Ok(DataType::Decimal128(p1, s1)), Ok(DataType::Decimal128(p2, s2))] => {
            DecimalOperation::new(operation, (*p1, *s1), (*p2, *s2)).is_none_or(DecimalOperation::may_overflow)
        }
        [Ok(DataType::Decimal128(..))] => false,
        _ => true,
    }
}

/// Whether the quotient of two decimals needs a wider dividend than Arrow has.
fn has_wide_dividend(left: &Expr, right: &Expr, schema: &DFSchema) -> bool {
    match (left.get_type(schema), right.get_type(schema)) {
        (Ok(left), Ok(right)) => Quotient::is_needed(&left, &right),
        _ => false,
    }
}

/// Whether arithmetic of an expression's type can overflow silently.
fn can_overflow(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|data_type| data_type.is_integer() || data_type.is_decimal())
}

/// The SQL name of a type.
fn sql_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Int8 => "TINYINT".to_owned(),
        DataType::Int16 => "SMALLINT".to_owned(),
        DataType::Int32 => "INT".to_owned(),
        DataType::Int64 => "BIGINT".to_owned(),
        DataType::UInt8 => "TINYINT UNSIGNED".to_owned(),
        DataType::UInt16 => "SMALLINT UNSIGNED".to_owned(),
        DataType::UInt32 => "INT UNSIGNED".to_owned(),
        DataType::UInt64 => "BIGINT UNSIGNED".to_owned(),
        other => match ExactType::decimal_digits(other) {
            Some((precision, scale)) => format!("DECIMAL({precision}, {scale})"),
            None => other.to_string(),
        },
    }
}
