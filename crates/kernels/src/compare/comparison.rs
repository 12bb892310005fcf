//! The six comparisons.

use std::cmp::Ordering;
use std::fmt;

/// A comparison of two values. It displays as in SQL.
///
/// ```
/// use lath_kernels::compare::Comparison;
///
/// assert!(Comparison::LessOrEqual.holds(3.cmp(&3)));
/// assert_eq!(Comparison::LessOrEqual.exchanged(), Comparison::GreaterOrEqual);
/// assert_eq!(Comparison::ALL.map(|op| op.to_string()), ["=", "<>", "<", "<=", ">", ">="]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// All comparisons.
    pub const ALL: [Self; 6] =
        [Self::Equal, Self::NotEqual, Self::Less, Self::LessOrEqual, Self::Greater, Self::GreaterOrEqual];

    /// The comparison that means the same with its sides exchanged.
    pub fn exchanged(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }

    /// Returns whether the comparison holds for two values in this order.
    // Called once per value from other crates, where no kernel compares.
    #[inline]
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference;
    use super::Comparison;

    #[test]
    fn comparisons_of_orders_match_the_reference() {
        for op in Comparison::ALL {
            for (left, right) in [(1, 2), (2, 2), (2, 1)] {
                assert_eq!(op.holds(left.cmp(&right)), reference::holds(left, op, right), "{left} {op} {right}");
                assert_eq!(op.exchanged().holds(right.cmp(&left)), reference::holds(left, op, right), "{op}");
            }
        }
    }
}
