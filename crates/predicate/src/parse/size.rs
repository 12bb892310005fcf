//! Measures the size of a condition by its text.

use super::bounds::{self, MAX_CONDITIONS, MAX_DEPTH};
use crate::error::Error;
use crate::syntax::{Condition, Operand};

/// Refuses conditions whose text would be too long or too deep to parse.
pub(super) fn check(condition: &Condition) -> Result<(), Error> {
    let size = Size::of(condition);
    if size.joined >= MAX_CONDITIONS {
        return Err(bounds::too_many(None));
    }
    // The levels that the parser counts for the innermost operand.
    if size.depth + 4 > MAX_DEPTH { Err(bounds::too_deep()) } else { Ok(()) }
}

/// The size of a condition's text, in the units of the limits.
#[derive(Clone, Copy, Default)]
struct Size {
    joined: usize,
    depth: usize,
}

impl Size {
    fn of(condition: &Condition) -> Self {
        let below = |condition: &Condition, levels| {
            let size = Self::of(condition);
            Self { depth: size.depth + levels, ..size }
        };
        let operands = |operands: &[&Operand]| {
            let depth = operands.iter().map(|operand| casts(operand)).max().unwrap_or(0);
            Self { joined: 0, depth }
        };
        match condition {
            Condition::And(conditions) | Condition::Or(conditions) => {
                let sizes = conditions.iter().enumerate().map(|(index, condition)| {
                    // The operand of the operator is one level, and its parentheses in the text are another.
                    let has_parentheses = matches!(condition, Condition::And(_) | Condition::Or(_));
                    below(condition, usize::from(index > 0) + usize::from(has_parentheses))
                });
                let largest = sizes
                    .fold(Self::default(), |a, b| Self { joined: a.joined.max(b.joined), depth: a.depth.max(b.depth) });
                Self { joined: largest.joined + conditions.len().saturating_sub(1), ..largest }
            }
            Condition::Not(inner) => below(inner, 2),
            Condition::Is(inner, _) => below(inner, 1),
            Condition::Compare { left, right, .. } | Condition::Same(left, right) => operands(&[left, right]),
            Condition::Between { operand, .. }
            | Condition::In { operand, .. }
            | Condition::Contains { operand, .. }
            | Condition::Like { operand, .. }
            | Condition::IsNull(operand)
            | Condition::Truth(operand) => operands(&[operand]),
        }
    }
}

/// The nesting depth of casts.
fn casts(operand: &Operand) -> usize {
    let (mut depth, mut operand) = (0, operand);
    while let Operand::Cast { operand: inner, .. } = operand {
        (depth, operand) = (depth + 1, inner);
    }
    depth
}
