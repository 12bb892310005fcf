//! Sums of the groups of a GROUP BY.

use std::marker::PhantomData;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray};
use datafusion::common::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::NullState;

use super::wide_sum::{Addend, Target};
use crate::rewrite::aggregates::nulls_beside_selected;

/// A 128-bit sum for each group.
#[derive(Debug)]
pub(super) struct GroupSums<T> {
    sums: Vec<i128>,
    nulls: NullState,
    target: Target,
    addend: PhantomData<T>,
}

impl<T> GroupSums<T> {
    pub(super) fn new(target: Target) -> Self {
        Self { sums: Vec::new(), nulls: NullState::new(), target, addend: PhantomData }
    }

    fn add<A: Addend>(
        &mut self,
        values: &PrimitiveArray<A>,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        group_count: usize,
    ) -> Result<()> {
        self.sums.resize(group_count, 0);
        let sums = self.sums.as_mut_slice();
        let mut any_wraps = false;
        self.nulls.accumulate(groups, values, filter, group_count, |group, value| {
            let (sum, wraps) = sums[group].overflowing_add(value.into());
            sums[group] = sum;
            any_wraps |= wraps;
        });
        if any_wraps { Err(self.target.overflow(None)) } else { Ok(()) }
    }
}

impl<T: Addend> GroupsAccumulator for GroupSums<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.add(values[0].as_primitive::<T>(), group_indices, opt_filter, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let sums = emit_to.take_needed(&mut self.sums);
        self.target.to_results::<T>(&sums, self.nulls.build(emit_to))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let sums = emit_to.take_needed(&mut self.sums);
        Ok(vec![self.target.state(sums, self.nulls.build(emit_to))])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.add(values[0].as_primitive::<Decimal128Type>(), group_indices, None, total_num_groups)
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let values = values[0].as_primitive::<T>();
        let nulls = nulls_beside_selected(values.nulls(), opt_filter);
        Ok(vec![self.target.state(values.values().iter().map(|&value| value.into()).collect(), nulls)])
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<i128>() + self.nulls.size()
    }
}
