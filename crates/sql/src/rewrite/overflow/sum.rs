//! The aggregate function `sum`, with an error if the sum does not fit its type, regardless of the order of rows and the number of threads.

use std::sync::Arc;

use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Int64Type, UInt64Type,
};
use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, TimeUnit};
use datafusion::common::Result;
use datafusion::functions_aggregate::sum::Sum as WrappingSum;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, Documentation, GroupsAccumulator, ReversedUDAF, Signature,
};

use super::sum_accumulator::{DistinctSum, ExactSum, IntervalSum, SlidingSum};
use super::sum_groups::GroupSums;
use super::wide_sum::Target;

/// DataFusion's `sum` with accumulators that do not wrap.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Sum(WrappingSum);

impl Sum {
    pub(super) fn new() -> Self {
        Self(WrappingSum::new())
    }
}

/// Calls a generic function with the type of a sum in 128 bits; the last arm handles other types.
macro_rules! for_exact_type {
    ($data_type:expr, $make:ident, $other:expr) => {
        match $data_type {
            DataType::Int64 => $make!(Int64Type),
            DataType::UInt64 => $make!(UInt64Type),
            DataType::Decimal32(..) => $make!(Decimal32Type),
            DataType::Decimal64(..) => $make!(Decimal64Type),
            DataType::Decimal128(..) => $make!(Decimal128Type),
            DataType::Duration(TimeUnit::Second) => $make!(DurationSecondType),
            DataType::Duration(TimeUnit::Millisecond) => $make!(DurationMillisecondType),
            DataType::Duration(TimeUnit::Microsecond) => $make!(DurationMicrosecondType),
            DataType::Duration(TimeUnit::Nanosecond) => $make!(DurationNanosecondType),
            _ => $other,
        }
    };
}

/// Whether sums of this type are computed in 128 bits.
fn is_exact(data_type: &DataType) -> bool {
    use DataType::{Decimal32, Decimal64, Decimal128, Duration, Int64, UInt64};
    matches!(data_type, Int64 | UInt64 | Decimal32(..) | Decimal64(..) | Decimal128(..) | Duration(_))
}

fn target(args: &AccumulatorArgs<'_>) -> Target {
    Target { data_type: args.return_type().clone(), expression: args.name.to_owned() }
}

impl AggregateUDFImpl for Sum {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.0.return_type(arg_types)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let target = target(&args);
        if *args.return_type() == DataType::Interval(IntervalUnit::MonthDayNano) && !args.is_distinct {
            return Ok(Box::new(IntervalSum::new(target)));
        }
        let data_type = args.return_type().clone();
        if args.is_distinct {
            let values = self.0.accumulator(args)?;
            macro_rules! make {
                ($t:ty) => {
                    Ok(Box::new(DistinctSum::<$t>::new(values, target)))
                };
            }
            return for_exact_type!(data_type, make, Ok(values));
        }
        macro_rules! make {
            ($t:ty) => {
                Ok(Box::new(ExactSum::<$t>::new(target)))
            };
        }
        for_exact_type!(data_type, make, self.0.accumulator(args))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        if args.is_distinct || !is_exact(args.return_type()) {
            return self.0.state_fields(args);
        }
        let state_type = Target::state_type(args.return_type());
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, "sum"), state_type, true))])
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        !args.is_distinct && !matches!(args.return_type(), DataType::Interval(IntervalUnit::MonthDayNano))
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        let target = target(&args);
        macro_rules! make {
            ($t:ty) => {
                Ok(Box::new(GroupSums::<$t>::new(target)))
            };
        }
        for_exact_type!(args.return_type(), make, self.0.create_groups_accumulator(args))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let target = target(&args);
        let data_type = args.return_type().clone();
        let is_distinct = args.is_distinct;
        macro_rules! make {
            ($t:ty) => {
                Ok(Box::new(SlidingSum::<$t>::new(is_distinct, target)))
            };
        }
        for_exact_type!(data_type, make, self.0.create_sliding_accumulator(args))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.0.documentation()
    }
}
