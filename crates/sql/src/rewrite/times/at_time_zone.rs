//! Implements `ts AT TIME ZONE 'zone'` as a function.
//!
//! DataFusion 55 plans it as a cast, and moves casts from one side of a comparison to the other as if they kept the stored number: `ts AT
//! TIME ZONE 'America/New_York' = TIMESTAMP '2024-01-01 06:00:00Z'` found 6 o'clock local time.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The name of the function.
pub(crate) const AT_TIME_ZONE: &str = "at_time_zone";

/// `at_time_zone(timestamp, 'zone')`.
pub(crate) fn at_time_zone_function() -> ScalarUDF {
    ScalarUDF::from(AtTimeZone { signature: Signature::any(2, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct AtTimeZone {
    signature: Signature,
}

impl ScalarUDFImpl for AtTimeZone {
    fn name(&self) -> &str {
        AT_TIME_ZONE
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        plan_err!("{AT_TIME_ZONE} has the type that its arguments say")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let Some(Some(zone)) =
            args.scalar_arguments.get(1).map(|zone| zone.and_then(|zone| zone.try_as_str().flatten()))
        else {
            return plan_err!("AT TIME ZONE needs the name of a zone in quotes");
        };
        let is_time = args.arg_fields.first().is_some_and(|field| {
            matches!(
                field.data_type(),
                DataType::Timestamp(..)
                    | DataType::Date32
                    | DataType::Date64
                    | DataType::Utf8
                    | DataType::LargeUtf8
                    | DataType::Utf8View
                    | DataType::Null
            )
        });
        if !is_time {
            return plan_err!("AT TIME ZONE needs a timestamp");
        }
        let zoned = DataType::Timestamp(TimeUnit::Nanosecond, Some(zone.into()));
        Ok(Arc::new(Field::new(AT_TIME_ZONE, zoned, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.first() {
            Some(time) => time.cast_to(args.return_field.data_type(), None),
            None => plan_err!("{AT_TIME_ZONE} has arguments"),
        }
    }
}
