//! Histograms of levels: few levels by counting the bytes of each, many by a counter in memory for each.

use crate::KernelError;
use crate::bytes::count_byte;

/// The number of levels counted at a time: they stay in L1 for all counts.
const PART: usize = 1 << 13;
/// More levels than this are counted in memory.
const FEW: usize = 24;

pub(super) fn add(levels: &[u8], counts: &mut [i64]) -> Result<(), KernelError> {
    let counted = if counts.len() <= FEW { add_few(levels, counts) } else { add_many(levels, counts) };
    if counted == levels.len() { Ok(()) } else { Err(KernelError::Malformed { what: "level above the maximum" }) }
}

/// Returns the number of levels that have a counter.
fn add_few(levels: &[u8], counts: &mut [i64]) -> usize {
    let mut total = 0;
    for part in levels.chunks(PART) {
        let mut left = part.len();
        for (level, count) in (0..).zip(counts.iter_mut()) {
            let counted = count_byte(part, level);
            *count += counted as i64;
            left -= counted;
            if left == 0 {
                break;
            }
        }
        total += part.len() - left;
    }
    total
}

/// Returns the number of levels that have a counter.
fn add_many(levels: &[u8], counts: &mut [i64]) -> usize {
    // Two tables, because an increment waits for the previous one of the same level.
    let mut tables = [[0_i64; 256]; 2];
    let (pairs, rest) = levels.as_chunks::<2>();
    for pair in pairs {
        tables[0][usize::from(pair[0])] += 1;
        tables[1][usize::from(pair[1])] += 1;
    }
    for &level in rest {
        tables[0][usize::from(level)] += 1;
    }
    let mut total = 0;
    for (count, (a, b)) in counts.iter_mut().zip(tables[0].iter().zip(&tables[1])) {
        *count += a + b;
        total += (a + b) as usize;
    }
    total
}
