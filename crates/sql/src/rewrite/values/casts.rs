//! Explicit and implicit casts.
//!
//! DataFusion 55 interprets timestamps without a zone as local times of the zone that they are compared with or stored as. Here they are in
//! UTC, as in conditions of `lath find`, whether they are literals, columns or dates. Only `AT TIME ZONE` makes a time local.
//!
//! DataFusion truncates numbers that become integers. Here they are rounded as in PostgreSQL and in conditions of `lath find`: halves of
//! floats to even, halves of decimals away from zero.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::logical_expr::{
    Cast, ColumnarValue, Expr, ExprSchemable, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TryCast, Volatility, lit,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

use super::coarse_moments;
use crate::rewrite::expressions::rewrite_expressions;

/// Makes casts to timestamps use UTC, and casts to integers and to coarser timestamps round.
#[derive(Debug)]
pub(crate) struct StandardCasts;

impl AnalyzerRule for StandardCasts {
    fn name(&self) -> &str {
        "standard_casts"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(|plan| {
            rewrite_expressions(plan, |expr, schema| {
                expr.transform_up(|expr| by_utc(expr, schema)?.transform_data(|expr| rounded(expr, schema)))
            })
        })?;
        Ok(changed.data)
    }
}

fn by_utc(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let unit = match &expr {
        Expr::Cast(cast) => zoned_unit(cast.field.data_type()),
        Expr::TryCast(cast) => zoned_unit(cast.field.data_type()),
        _ => None,
    };
    let Some(unit) = unit else { return Ok(Transformed::no(expr)) };
    let utc = |inner: Box<Expr>| -> Result<Option<Box<Expr>>> {
        let is_local = matches!(
            inner.get_type(schema)?,
            DataType::Timestamp(_, None)
                | DataType::Utf8
                | DataType::LargeUtf8
                | DataType::Utf8View
                | DataType::Date32
                | DataType::Date64
        );
        let utc = DataType::Timestamp(unit, Some("+00:00".into()));
        Ok(is_local.then(|| Box::new(Expr::Cast(Cast::new(inner, utc)))))
    };
    match expr {
        Expr::Cast(mut cast) => match utc(cast.expr.clone())? {
            Some(inner) => {
                cast.expr = inner;
                Ok(Transformed::yes(Expr::Cast(cast)))
            }
            None => Ok(Transformed::no(Expr::Cast(cast))),
        },
        // TRY_CAST of a text that is not a timestamp is null.
        Expr::TryCast(mut cast) => match utc(cast.expr.clone())? {
            Some(inner) => {
                let Expr::Cast(Cast { expr, field }) = *inner else { return Ok(Transformed::no(Expr::TryCast(cast))) };
                cast.expr = Box::new(Expr::TryCast(TryCast::new_from_field(expr, field)));
                Ok(Transformed::yes(Expr::TryCast(cast)))
            }
            None => Ok(Transformed::no(Expr::TryCast(cast))),
        },
        other => Ok(Transformed::no(other)),
    }
}

/// The unit of timestamps with a zone other than UTC.
fn zoned_unit(data_type: &DataType) -> Option<TimeUnit> {
    match data_type {
        DataType::Timestamp(unit, Some(zone)) => {
            let is_utc = matches!(zone.as_ref(), "UTC" | "+00:00" | "Z" | "Etc/UTC" | "GMT");
            (!is_utc).then_some(*unit)
        }
        _ => None,
    }
}

/// Rounds a number before its cast to an integer, and a moment before its cast to seconds or milliseconds.
fn rounded(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let round = |inner: &Expr, to: &DataType, is_lenient: bool| -> Result<Option<Expr>> {
        if matches!(to, DataType::Timestamp(..)) {
            return Ok(coarse_moments::rounded(inner, &inner.get_type(schema)?, to, is_lenient));
        }
        if !to.is_integer() {
            return Ok(None);
        }
        Ok(match inner.get_type(schema)? {
            DataType::Float32 | DataType::Float64 => Some(round_to_even_function().call(vec![inner.clone()])),
            data_type if data_type.is_decimal() => {
                Some(datafusion::functions::math::round().call(vec![inner.clone(), lit(0_i32)]))
            }
            _ => None,
        })
    };
    Ok(match expr {
        Expr::Cast(mut cast) => match round(&cast.expr, cast.field.data_type(), false)? {
            Some(inner) => {
                cast.expr = Box::new(inner);
                Transformed::yes(Expr::Cast(cast))
            }
            None => Transformed::no(Expr::Cast(cast)),
        },
        Expr::TryCast(mut cast) => match round(&cast.expr, cast.field.data_type(), true)? {
            Some(inner) => {
                cast.expr = Box::new(inner);
                Transformed::yes(Expr::TryCast(cast))
            }
            None => Transformed::no(Expr::TryCast(cast)),
        },
        other => Transformed::no(other),
    })
}

/// The function that rounds as [`RoundToEven`].
pub(crate) fn round_to_even_function() -> ScalarUDF {
    ScalarUDF::from(RoundToEven::new())
}

/// Rounds floats to the nearest integer, halves to even.
#[derive(Debug, PartialEq, Eq, Hash)]
struct RoundToEven {
    signature: Signature,
}

impl RoundToEven {
    fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for RoundToEven {
    fn name(&self) -> &str {
        "round_to_even"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [data_type] => Ok(data_type.clone()),
            _ => plan_err!("round_to_even has an argument"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = matches!(args.args.first(), Some(ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let Some(values) = arrays.first() else { return plan_err!("round_to_even has an argument") };
        let rounded: ArrayRef = match values.data_type() {
            DataType::Float32 => {
                Arc::new(values.as_primitive::<Float32Type>().unary::<_, Float32Type>(f32::round_ties_even))
            }
            DataType::Float64 => {
                Arc::new(values.as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::round_ties_even))
            }
            other => return plan_err!("round_to_even is for floats, not for {other}"),
        };
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&rounded, 0)?)),
            false => Ok(ColumnarValue::Array(rounded)),
        }
    }
}
