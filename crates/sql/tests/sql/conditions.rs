//! Compares random conditions over columns with nulls with an evaluation by the rules of SQL.

use std::fmt;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch};
use lath_parquet::{Dataset, DatasetOptions};
use lath_sql::Session;
use lath_testkit::Seeded;

use crate::{in_memory, wait, write};

const COLUMNS: [&str; 3] = ["a", "b", "c"];

type Row = [Option<i32>; 3];

#[derive(Clone)]
enum Value {
    Column(usize),
    Number(Option<i32>),
}

enum Condition {
    In { value: Value, list: Vec<Value>, negated: bool },
    Equal { left: Value, right: Value, negated: bool },
    Less(Value, Value),
    IsNull(Value),
    IsTrue(Box<Condition>),
    Not(Box<Condition>),
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Case { when: Box<Condition>, then: Box<Condition>, otherwise: Box<Condition> },
}

impl Value {
    fn random(random: &mut Seeded) -> Self {
        match random.u8(..10) {
            0 => Self::Number(None),
            1..=2 => Self::Column(random.usize(..3)),
            _ => Self::Number(Some(random.i32(0..5))),
        }
    }

    fn of(&self, row: &Row) -> Option<i32> {
        match *self {
            Self::Column(column) => row[column],
            Self::Number(number) => number,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            &Self::Column(column) => f.write_str(COLUMNS[column]),
            Self::Number(Some(number)) => write!(f, "{number}"),
            Self::Number(None) => f.write_str("NULL"),
        }
    }
}

impl Condition {
    fn random(random: &mut Seeded, depth: usize) -> Self {
        // Prefers the first column, so that conditions concern the same one.
        let column = Value::Column(random.usize(..4) % 3);
        if depth == 0 || random.u8(..5) == 0 {
            return match random.u8(..8) {
                0..=3 => {
                    let list = (0..random.usize(1..=5)).map(|_| Value::random(random)).collect();
                    Self::In { value: column, list, negated: random.bool() }
                }
                4..=5 => Self::Equal { left: column, right: Value::random(random), negated: random.bool() },
                6 => Self::Less(column, Value::random(random)),
                _ => Self::IsNull(column),
            };
        }
        let below = |random: &mut Seeded| Box::new(Self::random(random, depth - 1));
        match random.u8(..10) {
            0..=1 => Self::Not(below(random)),
            2 => Self::IsTrue(below(random)),
            3 => Self::Case { when: below(random), then: below(random), otherwise: below(random) },
            4..=6 => Self::And((0..random.usize(2..=3)).map(|_| *below(random)).collect()),
            _ => Self::Or((0..random.usize(2..=3)).map(|_| *below(random)).collect()),
        }
    }

    fn of(&self, row: &Row) -> Option<bool> {
        match self {
            Self::In { value, list, negated } => {
                let value = value.of(row)?;
                if list.iter().any(|member| member.of(row) == Some(value)) {
                    return Some(!negated);
                }
                list.iter().all(|member| member.of(row).is_some()).then_some(*negated)
            }
            Self::Equal { left, right, negated } => Some((left.of(row)? == right.of(row)?) != *negated),
            Self::Less(left, right) => Some(left.of(row)? < right.of(row)?),
            Self::IsNull(value) => Some(value.of(row).is_none()),
            Self::IsTrue(condition) => Some(condition.of(row) == Some(true)),
            Self::Not(condition) => condition.of(row).map(|holds| !holds),
            Self::And(all) => decided_by(all, row, false),
            Self::Or(all) => decided_by(all, row, true),
            Self::Case { when, then, otherwise } => {
                if when.of(row) == Some(true) {
                    then.of(row)
                } else {
                    otherwise.of(row)
                }
            }
        }
    }
}

/// The result of AND (`decisive` false) or OR (`decisive` true): a single decisive value decides.
fn decided_by(conditions: &[Condition], row: &Row, decisive: bool) -> Option<bool> {
    let each: Vec<Option<bool>> = conditions.iter().map(|condition| condition.of(row)).collect();
    if each.contains(&Some(decisive)) {
        return Some(decisive);
    }
    (!each.contains(&None)).then_some(!decisive)
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = |negated: &bool| if *negated { "NOT " } else { "" };
        match self {
            Self::In { value, list, negated } => {
                let list: Vec<String> = list.iter().map(Value::to_string).collect();
                write!(f, "{value} {}IN ({})", not(negated), list.join(", "))
            }
            Self::Equal { left, right, negated } => write!(f, "{left} {} {right}", if *negated { "<>" } else { "=" }),
            Self::Less(left, right) => write!(f, "{left} < {right}"),
            Self::IsNull(value) => write!(f, "{value} IS NULL"),
            Self::IsTrue(condition) => write!(f, "({condition}) IS TRUE"),
            Self::Not(condition) => write!(f, "NOT ({condition})"),
            Self::And(all) => write!(f, "({})", joined(all, ") AND (")),
            Self::Or(all) => write!(f, "({})", joined(all, ") OR (")),
            Self::Case { when, then, otherwise } => {
                write!(f, "CASE WHEN {when} THEN {then} ELSE {otherwise} END")
            }
        }
    }
}

fn joined(conditions: &[Condition], by: &str) -> String {
    conditions.iter().map(Condition::to_string).collect::<Vec<_>>().join(by)
}

/// All rows of three columns with values 0 to 3 or null.
fn rows() -> Vec<Row> {
    let values = [None, Some(0), Some(1), Some(2), Some(3)];
    let mut rows = Vec::new();
    for a in values {
        for b in values {
            rows.extend(values.map(|c| [a, b, c]));
        }
    }
    rows
}

fn session(folder: &std::path::Path, rows: &[Row]) -> Session {
    let ids: ArrayRef = Arc::new(Int32Array::from_iter_values((0..rows.len()).map(|id| i32::try_from(id).unwrap())));
    let mut columns = vec![("id", ids)];
    for (at, name) in COLUMNS.into_iter().enumerate() {
        let column: Int32Array = rows.iter().map(|row| row[at]).collect();
        columns.push((name, Arc::new(column)));
    }
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
            .unwrap();
    let session = Session::new();
    let path = folder.join("rows.parquet");
    write(&path, &batch, 40);
    session.register("rows", Dataset::open([path], DatasetOptions::new()).unwrap()).unwrap();
    in_memory(&session, "kept", vec![batch]);
    session
}

fn check(session: &Session, rows: &[Row], condition: &str, expected: &[Option<bool>]) {
    for table in ["rows", "kept"] {
        wait(async {
            let batches =
                crate::answer(session, &format!("SELECT id FROM {table} WHERE {condition} ORDER BY id")).await;
            let ids = batches
                .iter()
                .flat_map(|batch| batch.column(0).as_primitive::<arrow_array::types::Int32Type>().values().to_vec());
            let found: Vec<Row> = ids.map(|id| rows[usize::try_from(id).unwrap()]).collect();
            let mut wanted = rows.iter().zip(expected).filter(|(_, holds)| **holds == Some(true)).map(|(row, _)| *row);
            assert!(found.iter().copied().eq(wanted.by_ref()), "WHERE {condition} of {table}: {found:?}");
            let batches =
                crate::answer(session, &format!("SELECT id, {condition} AS holds FROM {table} ORDER BY id")).await;
            let holds = batches.iter().flat_map(|batch| {
                let holds = arrow_cast::cast(batch.column(1), &arrow_schema::DataType::Boolean).unwrap();
                (0..holds.len())
                    .map(|row| holds.is_valid(row).then(|| holds.as_boolean().value(row)))
                    .collect::<Vec<_>>()
            });
            for ((row, expected), found) in rows.iter().zip(expected).zip(holds) {
                assert_eq!(found, *expected, "{condition} of {row:?} of {table}");
            }
        });
    }
}

#[test]
fn random_conditions_hold_for_the_rows_that_they_should() {
    let folder = tempfile::tempdir().unwrap();
    let rows = rows();
    let session = session(folder.path(), &rows);
    let mut random = Seeded::new("random conditions");
    let cases = std::env::var("LATH_CASES").map_or(150, |cases| cases.parse().unwrap());
    for _ in 0..cases {
        let depth = random.usize(1..=3);
        let condition = Condition::random(&mut random, depth);
        let expected: Vec<Option<bool>> = rows.iter().map(|row| condition.of(row)).collect();
        check(&session, &rows, &condition.to_string(), &expected);
    }
}

/// DataFusion would merge these lists of one column to a single list.
#[test]
fn lists_of_one_column_stay_apart() {
    let folder = tempfile::tempdir().unwrap();
    let rows = rows();
    let session = session(folder.path(), &rows);
    type ExpectedValue = fn(&Row) -> Option<bool>;
    let cases: [(&str, ExpectedValue); 5] = [
        ("NOT (a IN (1, 2, NULL) AND a NOT IN (0, 3))", |row| row[0].map(|a| a == 0 || a == 3)),
        ("a NOT IN (0, 1) OR a NOT IN (2, 3)", |row| row[0].map(|_| true)),
        ("NOT (a IN (0, 1) AND a IN (2, 3))", |row| row[0].map(|_| true)),
        ("NOT (a = 0 OR a = 1) OR NOT (a = 2 OR a = 3)", |row| row[0].map(|_| true)),
        ("(a IN (0, 1, b) AND a IN (2, 3, c)) IS TRUE", |row| {
            let [a, b, c] = *row;
            Some(a.is_some_and(|a| (a < 2 || Some(a) == b) && (a > 1 || Some(a) == c)))
        }),
    ];
    for (condition, expected) in cases {
        check(&session, &rows, condition, &rows.iter().map(expected).collect::<Vec<_>>());
    }
}
