//! `date_trunc` of dates. DataFusion 55 casts them to nanoseconds, which have no dates before 1677 and after 2262; here the start of the part is
//! found by `time_bucket`.

use arrow_schema::{DataType, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Expr, ExprSchemable, ScalarUDF, cast, lit};
use datafusion::scalar::ScalarValue;

use crate::functions::{MICROS_A_DAY, Part, time_bucket_function};

#[derive(Debug)]
pub(crate) struct WideDates {
    time_bucket: ScalarUDF,
}

impl WideDates {
    pub(crate) fn new() -> Self {
        Self { time_bucket: time_bucket_function() }
    }
}

impl FunctionRewrite for WideDates {
    fn name(&self) -> &str {
        "lath_wide_dates"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        let Expr::ScalarFunction(ScalarFunction { func, args }) = expr else { return Ok(Transformed::no(expr)) };
        let timestamp = DataType::Timestamp(TimeUnit::Microsecond, None);
        if let [Expr::Literal(part, _), date] = args.as_slice()
            && func.name() == "date_trunc"
            && date.get_type(schema)? == DataType::Date32
            && let Some(Some(part)) = part.try_as_str()
            && let Some((months, days)) = width(part)
        {
            let width = lit(ScalarValue::new_interval_mdn(months, days, 0));
            let start = self.time_bucket.call(vec![width, date.clone()]);
            return Ok(Transformed::yes(cast(start, timestamp)));
        }
        Ok(Transformed::no(Expr::ScalarFunction(ScalarFunction { func, args })))
    }
}

/// The months and days of a part of a date.
fn width(part: &str) -> Option<(i32, i32)> {
    match Part::parse(part).ok()? {
        Part::Micros(size) => Some((0, i32::try_from(size / MICROS_A_DAY).ok()?.max(1))),
        Part::Months(months) => Some((i32::try_from(months).ok()?, 0)),
    }
}
