//! Conditions, as SQL text and with an independent evaluation, row by row.

use std::cmp::Ordering;

use super::scalar::{Kind, Scalar};
use super::table::{Column, Table, any};

#[derive(Debug, Clone)]
pub(crate) enum Condition {
    Compare(usize, Op, Scalar),
    Columns(usize, Op, usize),
    Between(usize, Scalar, Scalar, bool),
    In(usize, Vec<Scalar>, bool),
    IsNull(usize, bool),
    Distinct(usize, Scalar, bool),
    /// `LIKE 'prefix%'`.
    Prefix(usize, String, bool),
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Op {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Op {
    const ALL: [Self; 6] =
        [Self::Equal, Self::NotEqual, Self::Less, Self::LessOrEqual, Self::Greater, Self::GreaterOrEqual];

    fn sql(self) -> &'static str {
        ["=", "<>", "<", "<=", ">", ">="][self as usize]
    }

    fn holds(self, order: Ordering) -> bool {
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

impl Condition {
    pub(crate) fn random(random: &mut fastrand::Rng, table: &Table, depth: usize) -> Self {
        if depth > 0 && random.u8(..3) == 0 {
            let mut parts =
                || (0..random.usize(1..4)).map(|_| Self::random(random, table, depth - 1)).collect::<Vec<_>>();
            return match parts() {
                parts if random.u8(..5) == 0 => Self::Not(Box::new(Self::And(parts))),
                parts if random.bool() => Self::And(parts),
                parts => Self::Or(parts),
            };
        }
        let index = random.usize(..table.columns.len());
        let column = &table.columns[index];
        let op = Op::ALL[random.usize(..6)];
        let negated = random.u8(..4) == 0;
        match random.u8(..12) {
            0..3 => Self::Compare(index, op, literal(random, column)),
            3..6 => Self::Compare(index, Op::Equal, literal(random, column)),
            6 => {
                let same_kind = |other: &usize| table.columns[*other].kind == column.kind;
                let others: Vec<usize> = (0..table.columns.len()).filter(same_kind).collect();
                Self::Columns(index, op, others[random.usize(..others.len())])
            }
            7 => Self::Between(index, literal(random, column), literal(random, column), negated),
            8 => {
                let len = [1, 2, 5, 40][random.usize(..4)];
                Self::In(index, (0..len).map(|_| literal(random, column)).collect(), negated)
            }
            9 => Self::IsNull(index, random.bool()),
            10 => Self::Distinct(index, literal(random, column), random.bool()),
            _ if column.kind == Kind::String => {
                let text = match literal(random, column) {
                    Scalar::Bytes(bytes) => String::from_utf8(bytes).expect("text was made of characters"),
                    _ => String::new(),
                };
                let len = random.usize(..=text.chars().count());
                Self::Prefix(index, text.chars().take(len).collect(), negated)
            }
            _ => Self::Compare(index, op, literal(random, column)),
        }
    }

    pub(crate) fn sql(&self, columns: &[Column]) -> String {
        let not = |negated: &bool| if *negated { "NOT " } else { "" };
        let joined = |parts: &[Self], word: &str| {
            format!("({})", parts.iter().map(|part| part.sql(columns)).collect::<Vec<_>>().join(word))
        };
        let name = |index: &usize| columns[*index].name.as_str();
        let text = |index: &usize, literal: &Scalar| literal.sql(columns[*index].kind);
        match self {
            Self::Compare(column, op, literal) => {
                format!("{} {} {}", name(column), op.sql(), text(column, literal))
            }
            Self::Columns(left, op, right) => format!("{} {} {}", name(left), op.sql(), name(right)),
            Self::Between(column, low, high, negated) => {
                let (low, high) = (text(column, low), text(column, high));
                format!("{} {}BETWEEN {low} AND {high}", name(column), not(negated))
            }
            Self::In(column, list, negated) => {
                let list: Vec<String> = list.iter().map(|literal| text(column, literal)).collect();
                format!("{} {}IN ({})", name(column), not(negated), list.join(", "))
            }
            Self::IsNull(column, negated) => format!("{} IS {}NULL", name(column), not(negated)),
            Self::Distinct(column, literal, negated) => {
                format!("{} IS {}DISTINCT FROM {}", name(column), not(negated), text(column, literal))
            }
            Self::Prefix(column, prefix, negated) => {
                format!("{} {}LIKE '{}%'", name(column), not(negated), prefix.replace('\'', "''"))
            }
            Self::And(parts) => joined(parts, " AND "),
            Self::Or(parts) => joined(parts, " OR "),
            Self::Not(part) => format!("NOT {}", part.sql(columns)),
        }
    }

    /// True, false or null for `row`.
    pub(crate) fn evaluate(&self, columns: &[Column], row: usize) -> Option<bool> {
        let value = |index: &usize| &columns[*index].values[row];
        let compare = |left: &Scalar, op: Op, right: &Scalar| left.compare(right).map(|order| op.holds(order));
        let turned = |truth: Option<bool>, negated: &bool| truth.map(|truth| truth != *negated);
        match self {
            Self::Compare(column, op, literal) => compare(value(column), *op, literal),
            Self::Columns(left, op, right) => compare(value(left), *op, value(right)),
            Self::Between(column, low, high, negated) => {
                let low = compare(value(column), Op::GreaterOrEqual, low);
                turned(and(low, compare(value(column), Op::LessOrEqual, high)), negated)
            }
            Self::In(column, list, negated) => {
                let equal = list.iter().map(|literal| compare(value(column), Op::Equal, literal));
                turned(equal.fold(Some(false), or), negated)
            }
            Self::IsNull(column, negated) => Some(value(column).is_null() != *negated),
            Self::Distinct(column, literal, negated) => {
                let is_same = match (value(column).is_null(), literal.is_null()) {
                    (false, false) => compare(value(column), Op::Equal, literal) == Some(true),
                    (left, right) => left && right,
                };
                Some(is_same == *negated)
            }
            Self::Prefix(column, prefix, negated) => match value(column) {
                Scalar::Bytes(bytes) => Some(bytes.starts_with(prefix.as_bytes()) != *negated),
                _ => None,
            },
            Self::And(parts) => parts.iter().map(|part| part.evaluate(columns, row)).fold(Some(true), and),
            Self::Or(parts) => parts.iter().map(|part| part.evaluate(columns, row)).fold(Some(false), or),
            Self::Not(part) => part.evaluate(columns, row).map(|truth| !truth),
        }
    }
}

fn and(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn or(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    and(left.map(|truth| !truth), right.map(|truth| !truth)).map(|truth| !truth)
}

/// A value of the column, one next to it, or any; rarely null.
fn literal(random: &mut fastrand::Rng, column: &Column) -> Scalar {
    match random.u8(..20) {
        0 => Scalar::Null,
        1..8 => any(random, column.kind),
        _ if column.values.is_empty() => any(random, column.kind),
        _ => match &column.values[random.usize(..column.values.len())] {
            Scalar::Null => any(random, column.kind),
            value => value.clone(),
        },
    }
}
