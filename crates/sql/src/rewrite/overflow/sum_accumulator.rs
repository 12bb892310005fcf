//! Accumulators of sums: of one group, of distinct values, and of the rows of a window.

use std::collections::HashMap;
use std::marker::PhantomData;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, IntervalMonthDayNanoType};
use arrow_array::{ArrayRef, PrimitiveArray};
use datafusion::arrow::datatypes::{IntervalMonthDayNano, i256};
use datafusion::common::{Result, exec_datafusion_err, internal_err};
use datafusion::logical_expr::Accumulator;
use datafusion::scalar::ScalarValue;

use super::wide_sum::{Addend, Target, add_array};

/// The sum of all rows.
#[derive(Debug)]
pub(super) struct ExactSum<T> {
    sum: Option<i128>,
    target: Target,
    addend: PhantomData<T>,
}

impl<T: Addend> ExactSum<T> {
    pub(super) fn new(target: Target) -> Self {
        Self { sum: None, target, addend: PhantomData }
    }

    fn add<A: Addend>(&mut self, values: &PrimitiveArray<A>) -> Result<()> {
        if let Some(part) = add_array(values, &self.target)? {
            let sum = self.sum.unwrap_or(0).checked_add(part);
            self.sum = Some(sum.ok_or_else(|| self.target.overflow(None))?);
        }
        Ok(())
    }
}

impl<T: Addend> Accumulator for ExactSum<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(values[0].as_primitive::<T>())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.add(states[0].as_primitive::<Decimal128Type>())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let state_type = Target::state_type(&self.target.data_type);
        Ok(vec![ScalarValue::new_primitive::<Decimal128Type>(self.sum, &state_type)?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = self.sum.map(|sum| self.target.to_result::<T>(sum)).transpose()?;
        ScalarValue::new_primitive::<T>(sum, &self.target.data_type)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The sum of distinct values, which an accumulator of DataFusion collects.
#[derive(Debug)]
pub(super) struct DistinctSum<T> {
    values: Box<dyn Accumulator>,
    target: Target,
    addend: PhantomData<T>,
}

impl<T> DistinctSum<T> {
    pub(super) fn new(values: Box<dyn Accumulator>, target: Target) -> Self {
        Self { values, target, addend: PhantomData }
    }
}

impl<T: Addend> Accumulator for DistinctSum<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.update_batch(values)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.values.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.values.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let state = self.values.state()?;
        let [ScalarValue::List(lists)] = state.as_slice() else {
            return internal_err!("distinct values are not a list");
        };
        let sum = add_array(lists.value(0).as_primitive::<T>(), &self.target)?;
        let sum = sum.map(|sum| self.target.to_result::<T>(sum)).transpose()?;
        ScalarValue::new_primitive::<T>(sum, &self.target.data_type)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.size()
    }
}

/// The sum of the rows of a window, in 256 bits: an intermediate sum may be too large although the final one fits.
#[derive(Debug)]
pub(super) struct SlidingSum<T> {
    sum: i256,
    count: usize,
    /// The rows in the window with each value, if only distinct values count.
    row_counts: Option<HashMap<i128, usize>>,
    target: Target,
    addend: PhantomData<T>,
}

impl<T> SlidingSum<T> {
    pub(super) fn new(is_distinct: bool, target: Target) -> Self {
        let row_counts = is_distinct.then(HashMap::new);
        Self { sum: i256::ZERO, count: 0, row_counts, target, addend: PhantomData }
    }

    fn enter(&mut self, value: i128) {
        if let Some(row_counts) = &mut self.row_counts {
            let rows = row_counts.entry(value).or_insert(0);
            *rows += 1;
            if *rows > 1 {
                return;
            }
        }
        self.sum = self.sum.wrapping_add(i256::from_i128(value));
        self.count += 1;
    }

    fn leave(&mut self, value: i128) {
        if let Some(row_counts) = &mut self.row_counts {
            let Some(rows) = row_counts.get_mut(&value) else { return };
            *rows -= 1;
            if *rows > 0 {
                return;
            }
            row_counts.remove(&value);
        }
        self.sum = self.sum.wrapping_sub(i256::from_i128(value));
        self.count = self.count.saturating_sub(1);
    }
}

impl<T: Addend> Accumulator for SlidingSum<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        values[0].as_primitive::<T>().iter().flatten().for_each(|value| self.enter(value.into()));
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        values[0].as_primitive::<T>().iter().flatten().for_each(|value| self.leave(value.into()));
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("the sum of a window has no parts")
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("the sum of a window has no parts")
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = match self.count {
            0 => None,
            _ => Some(self.sum.to_i128().ok_or_else(|| self.target.overflow(None))?),
        };
        let sum = sum.map(|sum| self.target.to_result::<T>(sum)).transpose()?;
        ScalarValue::new_primitive::<T>(sum, &self.target.data_type)
    }

    fn size(&self) -> usize {
        let distinct = self.row_counts.as_ref().map_or(0, HashMap::capacity);
        size_of_val(self) + distinct * size_of::<(i128, usize)>()
    }
}

/// The sum of intervals. Months, days and nanoseconds are added separately.
#[derive(Debug)]
pub(super) struct IntervalSum {
    sum: Option<IntervalMonthDayNano>,
    target: Target,
}

impl IntervalSum {
    pub(super) fn new(target: Target) -> Self {
        Self { sum: None, target }
    }
}

impl Accumulator for IntervalSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in values[0].as_primitive::<IntervalMonthDayNanoType>().iter().flatten() {
            let sum = self.sum.unwrap_or(IntervalMonthDayNano::ZERO);
            let parts = sum.months.checked_add(value.months).zip(sum.days.checked_add(value.days));
            let parts = parts.zip(sum.nanoseconds.checked_add(value.nanoseconds));
            let ((months, days), nanoseconds) = parts.ok_or_else(|| {
                let expression = &self.target.expression;
                exec_datafusion_err!(
                    "{expression} does not fit an interval: {sum:?} + {value:?}; add numbers of seconds"
                )
            })?;
            self.sum = Some(IntervalMonthDayNano::new(months, days, nanoseconds));
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::IntervalMonthDayNano(self.sum))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}
