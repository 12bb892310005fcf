//! Constraints of tables: they are declared when a table is created, added and dropped. Every row is checked when it is put.

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use lath_predicate::Predicate;

use crate::error::{Error, Result};
use crate::read::{Snapshot, with_codec};
use crate::records::{ForeignKey, ForeignKeyActions};
use crate::row::key::KeyValue;
use crate::row::{Check, Constraint, Constraints, TableSchema, field_id, too_long};
use crate::schema_change::with_column;
use crate::table::Table;
use crate::view::{Commit, View};
use crate::write::Transaction;

impl Table {
    /// Adds a condition that is true or null for every row, rows that exist and rows that are put later.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    /// use lath_table::{Error, Predicate, Table, TableOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let rows = |id: i64, price: i64| {
    /// #     let columns = [("id", Arc::new(Int64Array::from(vec![id])) as ArrayRef), ("price", Arc::new(Int64Array::from(vec![price])) as _)];
    /// #     RecordBatch::try_from_iter(columns)
    /// # };
    /// # let table = Table::create(folder.path().join("items"), &rows(1, 1)?.schema(), &["id"], TableOptions::new())?;
    /// table.add_check("positive", &Predicate::parse("price > 0")?)?;
    /// assert!(matches!(table.upsert(&rows(1, -5)?), Err(Error::Constraint { .. })));
    /// table.drop_constraint("positive")?;
    /// table.upsert(&rows(1, -5)?)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Schema`] for a name that another constraint has, and for a condition that does not fit the columns; [`Error::Constraint`] if
    /// an existing row violates it; [`Error::Store`].
    pub fn add_check(&self, name: &str, condition: &Predicate) -> Result<()> {
        self.define(|transaction| transaction.add_check(name, condition))
    }

    /// Drops a condition that [`add_check`](Self::add_check) or the creation of the table has added.
    ///
    /// # Errors
    /// [`Error::Schema`] if there is none with this name; [`Error::Store`].
    pub fn drop_constraint(&self, name: &str) -> Result<()> {
        self.define(|transaction| transaction.drop_constraint(name))
    }

    /// Sets or removes the maximum number of characters of a column's texts.
    ///
    /// # Errors
    /// [`Error::Schema`] for a column that does not exist or has no texts; [`Error::TooLong`] if an existing text has more characters;
    /// [`Error::Store`].
    pub fn limit_chars(&self, column: &str, chars: Option<u32>) -> Result<()> {
        self.define(|transaction| transaction.limit_chars(column, chars))
    }

    /// Appends a column as [`add_column`](Self::add_column) does, with constraints of the table.
    ///
    /// # Errors
    /// As there and as [`add_check`](Self::add_check) and [`limit_chars`](Self::limit_chars).
    pub fn add_constrained_column(
        &self,
        field: &Field,
        default: Option<KeyValue>,
        constraints: &[Constraint],
    ) -> Result<()> {
        self.define(|transaction| transaction.add_constrained_column(field, default, constraints))
    }
}

impl Snapshot {
    /// The constraints of the table.
    pub fn constraints(&self) -> Vec<Constraint> {
        let (_, pinned) = self.parts();
        let schema = View::schema(pinned);
        let checks = schema
            .constraints()
            .checks
            .iter()
            .map(|Check { name, condition }| Constraint::Check { name: name.clone(), condition: condition.clone() });
        let limits = schema.constraints().max_chars.iter().filter_map(|(&id, &chars)| {
            let column = schema.arrow().field(schema.place_of_id(id)?).name().clone();
            Some(Constraint::MaxChars { column, chars })
        });
        checks.chain(limits).collect()
    }
}

/// A foreign key of a table.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKeyInfo {
    /// Its name.
    pub name: String,
    /// The columns of the table.
    pub columns: Vec<String>,
    /// The name of the table that they refer to.
    pub referred_table: String,
    /// The columns that they refer to, in the same order.
    pub referred_columns: Vec<String>,
    /// The actions for rows that refer to a row which is deleted or changed.
    pub actions: ForeignKeyActions,
}

impl Snapshot {
    /// The foreign keys of the table, in the order of their names.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Corrupt`].
    pub fn foreign_keys(&self) -> Result<Vec<ForeignKeyInfo>> {
        let (engine, pinned) = self.parts();
        let Some(siblings) = &engine.siblings else { return Ok(Vec::new()) };
        foreign_keys(pinned, |number| Ok((siblings.name(number)?, Commit::newest(&*siblings.engine(number)?)?)))
    }
}

/// The foreign keys of a table. `referred` gives the name and the commit of the table with a number.
pub(crate) fn foreign_keys(
    commit: &Arc<Commit>,
    referred: impl Fn(u64) -> Result<(String, Arc<Commit>)>,
) -> Result<Vec<ForeignKeyInfo>> {
    let names = |commit: &Arc<Commit>, target| {
        with_codec(commit, target, |codec, _| Ok(codec.fields().iter().map(|field| field.name().clone()).collect()))
    };
    let info = |key: &ForeignKey| {
        let (referred_table, target) = referred(key.referred)?;
        Ok(ForeignKeyInfo {
            name: key.name.clone(),
            columns: names(commit, key.index)?,
            referred_table,
            referred_columns: names(&target, key.target)?,
            actions: key.actions,
        })
    };
    commit.foreign_keys().own.iter().map(info).collect()
}

impl Transaction {
    /// [`Table::add_check`] as part of this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn add_check(&mut self, name: &str, condition: &Predicate) -> Result<()> {
        self.all_or_nothing(|this| {
            this.change_schema(|changing| {
                let mut parts = changing.schema().parts();
                Arc::make_mut(&mut parts.constraints).add_check(name, condition.clone())?;
                Ok(Some(parts))
            })?;
            this.check_rows(name, condition)
        })
    }

    /// [`Table::drop_constraint`] as part of this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn drop_constraint(&mut self, name: &str) -> Result<()> {
        self.change_schema(|changing| {
            let mut parts = changing.schema().parts();
            let constraints = Arc::make_mut(&mut parts.constraints);
            let before = constraints.checks.len();
            constraints.checks.retain(|check| check.name != name);
            match constraints.checks.len() == before {
                true => Err(Error::schema(format!("the table has no constraint {name:?}"))),
                false => Ok(Some(parts)),
            }
        })
    }

    /// [`Table::limit_chars`] as part of this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn limit_chars(&mut self, column: &str, chars: Option<u32>) -> Result<()> {
        let place = self.changing.schema().column(column).map_err(|_| no_column(column))?;
        check_has_text(self.changing.schema().arrow().field(place))?;
        let id = self.changing.schema().id(place);
        let before = self.changing.schema().constraints().max_chars.get(&id).copied();
        if before == chars {
            return Ok(());
        }
        self.all_or_nothing(|this| {
            this.change_schema(|changing| {
                let mut parts = changing.schema().parts();
                let limits = &mut Arc::make_mut(&mut parts.constraints).max_chars;
                match chars {
                    Some(chars) => _ = limits.insert(id, chars),
                    None => _ = limits.remove(&id),
                }
                Ok(Some(parts))
            })?;
            match chars {
                Some(chars) if before.is_none_or(|before| before > chars) => this.check_texts(column, chars),
                _ => Ok(()),
            }
        })
    }

    /// [`Table::add_constrained_column`] as part of this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn add_constrained_column(
        &mut self,
        field: &Field,
        default: Option<KeyValue>,
        constraints: &[Constraint],
    ) -> Result<()> {
        self.all_or_nothing(|this| {
            this.change_schema(|changing| {
                let mut parts = with_column(changing, field, default)?;
                let names: Vec<&Field> = parts.fields.iter().map(AsRef::as_ref).collect();
                let ids =
                    |name: &str| names.iter().find(|field| field.name() == name).and_then(|field| field_id(field).ok());
                let all = Arc::make_mut(&mut parts.constraints);
                for constraint in constraints {
                    match constraint {
                        Constraint::Check { name, condition } => all.add_check(name, condition.clone())?,
                        Constraint::MaxChars { column, chars } => {
                            all.max_chars.insert(ids(column).ok_or_else(|| no_column(column))?, *chars);
                        }
                    }
                }
                Ok(Some(parts))
            })?;
            constraints.iter().try_for_each(|constraint| match constraint {
                Constraint::Check { name, condition } => this.check_rows(name, condition),
                Constraint::MaxChars { column, chars } => this.check_texts(column, *chars),
            })
        })
    }

    /// Returns an error for the first row for which a condition is false.
    fn check_rows(&mut self, name: &str, condition: &Predicate) -> Result<()> {
        let schema = Arc::clone(self.changing.schema());
        let key: Vec<String> = schema.key().fields().iter().map(|field| field.name().clone()).collect();
        for rows in self.scan().select(key).predicate(!condition.clone()).limit(1).build()? {
            let rows = rows?;
            if rows.num_rows() > 0 {
                let (name, condition) = (name.to_owned(), condition.to_string());
                return Err(Error::Constraint {
                    name,
                    condition,
                    key: schema.key().describe(rows.columns(), 0),
                    row: 0,
                });
            }
        }
        Ok(())
    }

    /// Returns an error for the first text of a column that is longer than allowed.
    fn check_texts(&mut self, column: &str, chars: u32) -> Result<()> {
        let schema = Arc::clone(self.changing.schema());
        let key = schema.key().fields().iter().map(|field| field.name().clone());
        let columns: Vec<String> = key.chain([column.to_owned()]).collect();
        let key_len = columns.len() - 1;
        for rows in self.scan().select(columns).build()? {
            let rows = rows?;
            if let Some((row, found)) = too_long(rows.column(key_len), chars)? {
                let key = schema.key().describe(&rows.columns()[..key_len], row);
                return Err(Error::TooLong { column: column.to_owned(), chars, found, key, row });
            }
        }
        Ok(())
    }
}

/// The first version of a schema with constraints.
pub(crate) fn with_constraints(schema: TableSchema, constraints: &[Constraint]) -> Result<TableSchema> {
    let mut all = Constraints::default();
    for constraint in constraints {
        match constraint {
            Constraint::Check { name, condition } => all.add_check(name, condition.clone())?,
            Constraint::MaxChars { column, chars } => {
                let place = schema.column(column).map_err(|_| no_column(column))?;
                check_has_text(schema.arrow().field(place))?;
                all.max_chars.insert(schema.id(place), *chars);
            }
        }
    }
    schema.with_constraints(all)
}

fn no_column(name: &str) -> Error {
    Error::schema(format!("the table has no column {name:?}"))
}

fn check_has_text(field: &Field) -> Result<()> {
    let data_type = match field.data_type() {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(()),
        other => Err(Error::schema(format!(
            "column {:?} is {other}, and only texts have a maximum number of characters",
            field.name()
        ))),
    }
}
