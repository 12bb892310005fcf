//! `min` and `max` of floats, in the order of canonical floats.
//!
//! DataFusion 55 compares the floats of groups by `<`, beginning with the smallest or largest finite number: whether NaN counts depends on
//! the order of rows, and the maximum of values that are all minus infinity is the smallest finite number.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray};
use arrow_schema::DataType;
use datafusion::common::{Result, internal_err};
use datafusion::functions_aggregate::min_max::{Max, Min};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature};
use datafusion::physical_expr::NullState;
use datafusion::scalar::ScalarValue;

use super::canonical::canonical;
use crate::rewrite::aggregates::nulls_beside_selected;

/// DataFusion's function with another accumulator of groups.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) enum Extremum {
    Min(Min),
    Max(Max),
}

impl Extremum {
    pub(super) fn min() -> Self {
        Self::Min(Min::new())
    }

    pub(super) fn max() -> Self {
        Self::Max(Max::new())
    }

    fn inner(&self) -> &dyn AggregateUDFImpl {
        match self {
            Self::Min(min) => min,
            Self::Max(max) => max,
        }
    }
}

impl AggregateUDFImpl for Extremum {
    // DataFusion sets dynamic filters on scans if it recognises the name and the argument is a plain column.
    fn name(&self) -> &str {
        self.inner().name()
    }

    fn signature(&self) -> &Signature {
        self.inner().signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner().return_type(arg_types)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner().coerce_types(arg_types)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(CanonicalInput(self.inner().accumulator(args)?)))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(CanonicalInput(self.inner().create_sliding_accumulator(args)?)))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        let better = match self {
            Self::Min(_) => Ordering::Less,
            Self::Max(_) => Ordering::Greater,
        };
        Ok(match args.return_type() {
            DataType::Float16 => Box::new(GroupExtrema::<Float16Type>::new(better)),
            DataType::Float32 => Box::new(GroupExtrema::<Float32Type>::new(better)),
            DataType::Float64 => Box::new(GroupExtrema::<Float64Type>::new(better)),
            other => return internal_err!("{} is for floats, not for {other}", self.name()),
        })
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// Passes canonical floats to an accumulator of one argument.
#[derive(Debug)]
struct CanonicalInput(Box<dyn Accumulator>);

impl Accumulator for CanonicalInput {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(&[canonical(&values[0])?])
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.retract_batch(&[canonical(&values[0])?])
    }

    fn supports_retract_batch(&self) -> bool {
        self.0.supports_retract_batch()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.0.evaluate()
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}

type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// The extremum of each group.
#[derive(Debug)]
struct GroupExtrema<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    nulls: NullState,
    /// The ordering of a better value relative to the present one.
    better: Ordering,
    float: PhantomData<T>,
}

impl<T: FloatType> GroupExtrema<T> {
    fn new(better: Ordering) -> Self {
        Self { values: Vec::new(), nulls: NullState::new(), better, float: PhantomData }
    }
}

/// Float types, with the order of canonical floats.
trait FloatType: ArrowPrimitiveType + Debug + Send {
    const NAN: Self::Native;
    const NEGATIVE_NAN: Self::Native;
    fn order(one: Self::Native, other: Self::Native) -> Ordering;
}

macro_rules! float_type {
    ($array_type:ty, $nan:expr, $negative_nan:expr) => {
        impl FloatType for $array_type {
            const NAN: Self::Native = $nan;
            const NEGATIVE_NAN: Self::Native = $negative_nan;

            #[inline(always)]
            fn order(one: Self::Native, other: Self::Native) -> Ordering {
                one.total_cmp(&other)
            }
        }
    };
}

float_type!(Float16Type, Half::from_bits(0x7fff), Half::from_bits(0xffff));
float_type!(Float32Type, f32::from_bits(0x7fff_ffff), f32::from_bits(0xffff_ffff));
float_type!(Float64Type, f64::from_bits(0x7fff_ffff_ffff_ffff), f64::from_bits(0xffff_ffff_ffff_ffff));

impl<T: FloatType> GroupsAccumulator for GroupExtrema<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        // No canonical float sorts beyond these.
        let start = if self.better == Ordering::Less { T::NAN } else { T::NEGATIVE_NAN };
        self.values.resize(total_num_groups, start);
        let (extrema, better) = (self.values.as_mut_slice(), self.better);
        let values = canonical(&values[0])?;
        let values = values.as_primitive::<T>();
        self.nulls.accumulate(group_indices, values, opt_filter, total_num_groups, |group, value| {
            if T::order(value, extrema[group]) == better {
                extrema[group] = value;
            }
        });
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let values = emit_to.take_needed(&mut self.values);
        Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), self.nulls.build(emit_to))))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.update_batch(values, group_indices, None, total_num_groups)
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let values = canonical(&values[0])?;
        let values = values.as_primitive::<T>();
        let nulls = nulls_beside_selected(values.nulls(), opt_filter);
        Ok(vec![Arc::new(PrimitiveArray::<T>::new(values.values().clone(), nulls))])
    }

    fn size(&self) -> usize {
        self.values.capacity() * size_of::<T::Native>() + self.nulls.size()
    }
}
