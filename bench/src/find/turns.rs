//! Compares two ways of Lath to find the same rows, in turn in this process, so that a slow period of the machine
//! affects both.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use super::median;
use crate::machine::cpu_seconds;

/// The times of two ways.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    /// Median milliseconds of processor time of the first and of the second.
    pub milliseconds: [f64; 2],
    /// The median over the rounds of the first's time divided by the second's.
    pub ratio: f64,
}

impl Turns {
    /// Runs both ways in turn, after a warm-up of each, on the caller's thread.
    pub fn of(rounds: usize, mut first: impl FnMut(), mut second: impl FnMut()) -> Turns {
        let (mut times, mut ratios) = ([Vec::new(), Vec::new()], Vec::new());
        for round in 0..rounds {
            let mut own = [0.0; 2];
            for way in [round % 2, 1 - round % 2] {
                let start = cpu_seconds();
                if way == 0 {
                    first()
                } else {
                    second()
                }
                own[way] = (cpu_seconds() - start) * 1e3;
                times[way].push(own[way]);
            }
            ratios.push(own[0] / own[1]);
        }
        Turns { milliseconds: times.map(|times| median(&times)), ratio: median(&ratios) }
    }

    pub fn cell(&self) -> String {
        format!("{:.1} / {:.1}, {:.3} ×", self.milliseconds[0], self.milliseconds[1], self.ratio)
    }
}

/// The number of rows, and the sum of the first column, which has integers of 64 bits: both ways must agree on them.
pub fn digest(batches: impl Iterator<Item = RecordBatch>) -> (u64, i64) {
    batches.fold((0, 0), |(rows, sum), batch| {
        let own = batch.column(0).as_primitive::<Int64Type>().values().iter();
        (rows + batch.num_rows() as u64, own.fold(sum, |sum, &value| sum.wrapping_add(value)))
    })
}
