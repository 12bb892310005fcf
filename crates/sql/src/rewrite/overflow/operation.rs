//! The checked operations.

use datafusion::logical_expr::Operator;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    Negate,
}

impl Operation {
    pub(super) fn operator(self) -> Option<Operator> {
        match self {
            Self::Add => Some(Operator::Plus),
            Self::Subtract => Some(Operator::Minus),
            Self::Multiply => Some(Operator::Multiply),
            Self::Negate => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Add => "add_checked",
            Self::Subtract => "subtract_checked",
            Self::Multiply => "multiply_checked",
            Self::Negate => "negate_checked",
        }
    }

    /// Formats the operation as SQL.
    pub(super) fn write(self, sides: &[String]) -> String {
        match (self.operator(), sides) {
            (Some(operator), [left, right]) => format!("{left} {operator} {right}"),
            _ => format!("-({})", sides.concat()),
        }
    }
}
