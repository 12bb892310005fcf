//! Which order of joins is the least work.

use super::estimate::Estimate;
use super::graph::{Inputs, JoinGraph, Order};

/// The work for a row of a hash table, where that for a row that is looked up in it, or that a join gives, is 1. Not measured.
const TABLE_ROW: f64 = 2.0;

/// How many rows a join has, and the work for it and all below.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) rows: f64,
    pub(super) work: f64,
}

impl Work {
    /// That of an order.
    pub(super) fn of(order: &Order, estimate: &Estimate<'_>) -> Self {
        let rows = estimate.rows(order.inputs());
        match order {
            Order::Input(_) => Self { rows, work: 0.0 },
            Order::Join(left, right) => Self::join(Self::of(left, estimate), Self::of(right, estimate), rows),
        }
    }

    /// That of a join which has so many rows. The hash table is made of the side with fewer rows.
    fn join(left: Self, right: Self, rows: f64) -> Self {
        let (table, probe) = (left.rows.min(right.rows), left.rows.max(right.rows));
        Self { rows, work: left.work + right.work + TABLE_ROW * table + probe + rows }
    }
}

/// A set of inputs that are joined.
#[derive(Debug, Clone, Copy)]
struct Joined {
    work: Work,
    /// The inputs of the side that the hash table is made of; none if there is one input.
    table: Inputs,
}

/// The order that is the least work, and how much that is. Sides of a join are any sets of inputs that are joined, so that all shapes of
/// trees are tried; products without a condition are not.
pub(super) fn search(graph: &JoinGraph, estimate: &Estimate<'_>) -> Option<(Order, Work)> {
    let all: Inputs = (1 << graph.inputs.len()) - 1;
    let mut best: Vec<Option<Joined>> = vec![None; all as usize + 1];
    for inputs in 1..=all {
        let rows = estimate.rows(inputs);
        if inputs.is_power_of_two() {
            best[inputs as usize] = Some(Joined { work: Work { rows, work: 0.0 }, table: 0 });
            continue;
        }
        // All ways to divide the set, each once: the first part is the one without the highest bit.
        let mut part = (inputs - 1) & inputs;
        while part > 0 {
            let other = inputs ^ part;
            if part < other
                && let (Some(one), Some(two)) = (best[part as usize], best[other as usize])
                && graph.are_joined(part, other)
            {
                let work = Work::join(one.work, two.work, rows);
                if best[inputs as usize].is_none_or(|least| work.work < least.work.work) {
                    let table = if one.work.rows <= two.work.rows { part } else { other };
                    best[inputs as usize] = Some(Joined { work, table });
                }
            }
            part = (part - 1) & inputs;
        }
    }
    let joined = best[all as usize]?;
    Some((order_of(&best, all)?, joined.work))
}

fn order_of(best: &[Option<Joined>], inputs: Inputs) -> Option<Order> {
    match best[inputs as usize]?.table {
        0 => Some(Order::Input(inputs.trailing_zeros() as usize)),
        table => {
            let (table, probe) = (order_of(best, table)?, order_of(best, inputs ^ table)?);
            Some(Order::Join(Box::new(table), Box::new(probe)))
        }
    }
}
