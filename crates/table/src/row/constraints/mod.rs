//! Constraints: conditions that all rows of a table satisfy, and maximum lengths of texts.
//!
//! A row is checked when it is put. A constraint that is added checks the rows that exist, in the same commit.

mod check;

use std::collections::BTreeMap;

use lath_predicate::{BatchFilter, Predicate};
use lath_store::{RecordReader, RecordWriter};

use crate::error::{Error, Result};

pub(crate) use self::check::too_long;

/// Maximum length of a constraint's name in bytes.
const NAME_LEN: usize = 255;

/// A constraint of a table.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq)]
pub enum Constraint {
    /// A condition that is true or null for every row.
    Check {
        /// The name, which no other constraint of the table has.
        name: String,
        /// The condition.
        condition: Predicate,
    },
    /// A maximum length of the texts of a column.
    MaxChars {
        /// The name of the column.
        column: String,
        /// The maximum number of characters.
        chars: u32,
    },
}

/// The constraints of one version of a schema.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Constraints {
    pub(crate) checks: Vec<Check>,
    /// The maximum numbers of characters, by the numbers of the columns.
    pub(crate) max_chars: BTreeMap<u32, u32>,
}

/// A named condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Check {
    pub(crate) name: String,
    pub(crate) condition: Predicate,
}

impl Constraints {
    pub(crate) fn is_empty(&self) -> bool {
        self.checks.is_empty() && self.max_chars.is_empty()
    }

    /// Adds a condition under a name.
    pub(crate) fn add_check(&mut self, name: &str, condition: Predicate) -> Result<()> {
        if !(1..=NAME_LEN).contains(&name.len()) {
            return Err(Error::schema(format!("the name of a constraint has 1 to {NAME_LEN} bytes: choose another")));
        }
        if self.checks.iter().any(|check| check.name == name) {
            return Err(Error::schema(format!("the table has a constraint {name:?} already: choose another name")));
        }
        self.checks.push(Check { name: name.to_owned(), condition });
        Ok(())
    }

    /// Writes them at the end of a schema's record.
    pub(crate) fn write(&self, record: &mut RecordWriter) {
        record.u32(self.checks.len() as u32);
        for Check { name, condition } in &self.checks {
            record.bytes(name.as_bytes()).bytes(condition.to_string().as_bytes());
        }
        record.u32(self.max_chars.len() as u32);
        for (&column, &chars) in &self.max_chars {
            record.u32(column).u32(chars);
        }
    }

    /// Reads them from the end of a schema's record. A schema without constraints ends before them.
    pub(crate) fn read(record: &mut RecordReader<'_>) -> Result<Self> {
        let mut constraints = Self::default();
        if record.is_at_end() {
            return Ok(constraints);
        }
        for _ in 0..record.u32()? {
            let (name, condition) = (record.text()?.to_owned(), Predicate::parse(record.text()?)?);
            constraints.checks.push(Check { name, condition });
        }
        for _ in 0..record.u32()? {
            constraints.max_chars.insert(record.u32()?, record.u32()?);
        }
        Ok(constraints)
    }

    /// Binds the conditions to the columns of a schema.
    pub(crate) fn bind(&self, schema: &arrow_schema::Schema) -> Result<Vec<BatchFilter>> {
        let bind = |check: &Check| {
            let failed =
                |error| Error::schema(format!("the constraint {:?} ({}): {error}", check.name, check.condition));
            check.condition.filter(schema).map_err(failed)
        };
        self.checks.iter().map(bind).collect()
    }
}
