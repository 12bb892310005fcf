//! Finds the order of joins with the least work.

use super::estimate::Estimate;
use super::graph::{Inputs, JoinGraph, Order};

/// The work to insert a row into a hash table, relative to a lookup or an output row. Not measured.
const TABLE_ROW: f64 = 2.0;

/// The rows of a join, and the work for it and all joins below.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) rows: f64,
    pub(super) work: f64,
}

impl Work {
    /// The work of an order.
    pub(super) fn new(order: &Order, estimate: &Estimate<'_>) -> Self {
        let rows = estimate.rows(order.inputs());
        match order {
            Order::Input(_) => Self { rows, work: 0.0 },
            Order::Join(left, right) => Self::join(Self::new(left, estimate), Self::new(right, estimate), rows),
        }
    }

    /// The work of a join with `rows` rows. The hash table is built from the side with fewer rows.
    fn join(left: Self, right: Self, rows: f64) -> Self {
        let (table, probe) = (left.rows.min(right.rows), left.rows.max(right.rows));
        Self { rows, work: left.work + right.work + TABLE_ROW * table + probe + rows }
    }
}

/// The best known order for a set of inputs.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    work: Work,
    /// The inputs of the side from which the hash table is built; empty for a single input.
    table: Inputs,
}

/// Returns the order with the least work, and its work. All shapes of trees are tried, but no cross products.
pub(super) fn search(graph: &JoinGraph, estimate: &Estimate<'_>) -> Option<(Order, Work)> {
    let all: Inputs = (1 << graph.inputs.len()) - 1;
    let mut best: Vec<Option<Candidate>> = vec![None; all as usize + 1];
    for inputs in 1..=all {
        let rows = estimate.rows(inputs);
        if inputs.is_power_of_two() {
            best[inputs as usize] = Some(Candidate { work: Work { rows, work: 0.0 }, table: 0 });
            continue;
        }
        // Each way to divide the set once: `part` is the half without the highest bit.
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
                    best[inputs as usize] = Some(Candidate { work, table });
                }
            }
            part = (part - 1) & inputs;
        }
    }
    let joined = best[all as usize]?;
    Some((build_order(&best, all)?, joined.work))
}

fn build_order(best: &[Option<Candidate>], inputs: Inputs) -> Option<Order> {
    match best[inputs as usize]?.table {
        0 => Some(Order::Input(inputs.trailing_zeros() as usize)),
        table => {
            let (table, probe) = (build_order(best, table)?, build_order(best, inputs ^ table)?);
            Some(Order::Join(Box::new(table), Box::new(probe)))
        }
    }
}
