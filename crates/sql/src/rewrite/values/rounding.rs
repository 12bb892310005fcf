//! Types of `round`, `ceil` and `floor` of decimals, and the function `sign`.
//!
//! DataFusion 55 takes the scale of `round(d, 1)` from the literal, then casts the literal to another integer type and no longer recognises
//! it: comparisons, COALESCE and CASE get a type that the values do not have. The results of its `ceil` and `floor` have the type of their
//! argument, so `ceil(9.5)` does not fit.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_schema::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::utils::take_function_args;
use datafusion::common::{Result, ScalarValue};
use datafusion::functions::math;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use datafusion::optimizer::AnalyzerRule;

use crate::rewrite::expressions::rewrite_expressions;

const MAX_PRECISION: u8 = 38;

/// Casts the number of places of `round` to its final type. The rule runs before DataFusion's coercion.
#[derive(Debug)]
pub(crate) struct PlainPlaces;

impl AnalyzerRule for PlainPlaces {
    fn name(&self) -> &str {
        "lath_plain_places"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(|plan| {
            rewrite_expressions(plan, |expr, _| expr.transform_up(|expr| Ok(with_plain_places(expr))))
        })?;
        Ok(changed.data)
    }
}

fn with_plain_places(mut expr: Expr) -> Transformed<Expr> {
    if let Expr::ScalarFunction(call) = &mut expr
        && call.func.name() == math::round().name()
        && let [_, Expr::Literal(places, _)] = call.args.as_mut_slice()
        && let ScalarValue::Int64(Some(number)) = places
        && let Ok(number) = i32::try_from(*number)
    {
        *places = ScalarValue::Int32(Some(number));
        return Transformed::yes(expr);
    }
    Transformed::no(expr)
}

/// `ceil`, `floor`, and `signum` with the alias `sign`.
pub(crate) fn whole_number_functions() -> [ScalarUDF; 3] {
    [
        ScalarUDF::from(WholeNumber { inner: math::ceil(), is_above: true }),
        ScalarUDF::from(WholeNumber { inner: math::floor(), is_above: false }),
        math::signum().as_ref().clone().with_aliases(["sign"]),
    ]
}

/// The function `ceil` or `floor`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct WholeNumber {
    inner: Arc<ScalarUDF>,
    is_above: bool,
}

impl ScalarUDFImpl for WholeNumber {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            [DataType::Decimal128(precision, scale)] if *scale > 0 => {
                Ok(DataType::Decimal128(whole_digits(*precision, *scale), 0))
            }
            _ => self.inner.return_type(arg_types),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [argument] = args.args.as_slice() else { return self.inner.invoke_with_args(args) };
        let (precision, scale) = match argument.data_type() {
            DataType::Decimal128(precision, scale) if scale > 0 => (precision, scale),
            _ => return self.inner.invoke_with_args(args),
        };
        let [argument] = take_function_args(self.name(), args.args)?;
        let unit = 10_i128.pow(u32::from(scale.unsigned_abs()));
        // Null slots may hold any value, even the minimum, whose negation overflows.
        let whole = |value: i128| {
            let is_between = value.rem_euclid(unit) != 0;
            value.div_euclid(unit) + i128::from(self.is_above && is_between)
        };
        let values = argument.to_array(args.number_rows)?;
        let numbers = values.as_primitive::<Decimal128Type>().unary::<_, Decimal128Type>(whole);
        let numbers = numbers.with_precision_and_scale(whole_digits(precision, scale), 0)?;
        match argument {
            ColumnarValue::Array(_) => Ok(ColumnarValue::Array(Arc::new(numbers))),
            ColumnarValue::Scalar(_) => ScalarValue::try_from_array(&numbers, 0).map(ColumnarValue::Scalar),
        }
    }

    fn output_ordering(&self, input: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.output_ordering(input)
    }
}

/// The digits of a rounded decimal: one more than it has before the point.
fn whole_digits(precision: u8, scale: i8) -> u8 {
    (precision.saturating_sub(scale.unsigned_abs()) + 1).min(MAX_PRECISION)
}
