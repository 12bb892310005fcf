//! Adds and drops foreign keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::DataType;

use super::table_list::UNFINISHED;
use super::transaction::Part;
use super::{Database, DatabaseTransaction};
use crate::error::{Error, Result};
use crate::indexes::add_index;
use crate::records::{ForeignKey, ForeignKeyActions, Index, PRIMARY_KEY};
use crate::row::{KeyCodec, TableSchema};
use crate::write::apply_actions;

impl Database {
    /// Adds a foreign key: each row of `table` whose `columns` are not null has a row of the table `referred` with the same values in
    /// `referred_columns`, which are the primary key of that table, or the columns of a unique index; no names stand for the primary key. Both may be
    /// the same table.
    ///
    /// Rows are checked when a transaction commits, so that it may change both tables in any order. A row cannot be deleted, and its values
    /// cannot be changed, while others refer to them. An index of `columns` is created under the name of the foreign key, unless the table has one.
    /// Values that a transaction puts or removes are in memory until it commits, each once.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    /// # use lath_table::{Database, Error, TableOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    /// let customers = RecordBatch::try_from_iter([("id", column(vec![7]))])?;
    /// let orders = RecordBatch::try_from_iter([("id", column(vec![1])), ("customer", column(vec![7]))])?;
    /// let database = Database::create(folder.path().join("shop"), TableOptions::new())?;
    /// database.create_table("customers", &customers.schema(), &["id"])?;
    /// database.create_table("orders", &orders.schema(), &["id"])?;
    /// database.add_foreign_key("orders", "orders_customer", &["customer"], "customers", &["id"])?;
    ///
    /// assert!(matches!(database.table("orders")?.insert(&orders), Err(Error::NoReferredRow { .. })));
    /// let mut transaction = database.begin()?;
    /// transaction.table("orders")?.insert(&orders)?;
    /// transaction.table("customers")?.insert(&customers)?;
    /// transaction.commit()?;
    /// assert!(matches!(database.table("customers")?.delete([7]), Err(Error::ReferredRow { .. })));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchTable`], [`Error::Batch`] for a column that does not exist, [`Error::Schema`] for columns that do not fit each other, for
    /// columns without a primary key or unique index, and for a name that another constraint or index has, [`Error::NoReferredRow`] if an existing
    /// row has no row to refer to; [`Error::Store`].
    pub fn add_foreign_key<S: AsRef<str>>(
        &self,
        table: &str,
        name: &str,
        columns: &[S],
        referred: &str,
        referred_columns: &[S],
    ) -> Result<()> {
        let actions = ForeignKeyActions::default();
        self.define(|transaction| {
            transaction.add_foreign_key(table, name, columns, referred, referred_columns, actions)
        })
    }

    /// Drops a foreign key of a table, and the index that was created for it.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`], [`Error::Schema`] if there is none with this name, [`Error::Store`].
    pub fn drop_foreign_key(&self, table: &str, name: &str) -> Result<()> {
        self.define(|transaction| transaction.drop_foreign_key(table, name))
    }
}

impl DatabaseTransaction {
    /// [`Database::add_foreign_key`] as part of this transaction, at whose end existing rows are checked, too. Actions delete or change the rows that
    /// refer to a row which is deleted or changed, and whatever follows from that; they are done when the transaction commits, or before, by
    /// [`apply_actions`](Self::apply_actions).
    ///
    /// # Errors
    /// As there.
    pub fn add_foreign_key<S: AsRef<str>>(
        &mut self,
        table: &str,
        name: &str,
        columns: &[S],
        referred: &str,
        referred_columns: &[S],
        actions: ForeignKeyActions,
    ) -> Result<()> {
        self.all_or_nothing(|this| this.declare_foreign_key(table, name, columns, referred, referred_columns, actions))
    }

    /// Does the actions of foreign keys for the changes so far, as a statement does at its end.
    ///
    /// # Errors
    /// [`Error::ReferredRow`] for a row that a foreign key restricts, and whatever the changes of other rows return.
    pub fn apply_actions(&mut self) -> Result<()> {
        let is_due = |part: &&Part| !part.is_dropped && part.transaction.changing.touched().is_due();
        let numbers = self.parts.values().filter(is_due).filter_map(|part| part.engine.trees.number());
        let numbers: Vec<u64> = numbers.collect();
        if !numbers.is_empty() {
            self.all_or_nothing(|this| apply_actions(this, &numbers))?;
        }
        for part in self.parts.values_mut() {
            part.transaction.changing.touched_mut().statement = Arc::default();
        }
        Ok(())
    }

    fn declare_foreign_key<S: AsRef<str>>(
        &mut self,
        table: &str,
        name: &str,
        columns: &[S],
        referred: &str,
        referred_columns: &[S],
        actions: ForeignKeyActions,
    ) -> Result<()> {
        let (own, other) = (self.require(table)?, self.require(referred)?);
        let changing = &self.numbered(other)?.changing;
        let target = find_target(changing.schema(), changing.indexes(), referred, referred_columns)?;
        let changing = &mut self.numbered(own)?.changing;
        let checks = &changing.schema().constraints().checks;
        let is_taken = checks.iter().any(|check| check.name == name)
            || changing.foreign_keys().own.iter().any(|key| key.name == name);
        if is_taken {
            return Err(Error::schema(format!("the table has a constraint {name:?} already: choose another name")));
        }
        if let Some(twice) = columns
            .iter()
            .enumerate()
            .find(|(at, name)| columns[..*at].iter().any(|other| other.as_ref() == name.as_ref()))
        {
            return Err(Error::schema(format!(
                "column {:?} is twice in the foreign key: name it once",
                twice.1.as_ref()
            )));
        }
        let columns = target.in_order(table, columns)?;
        let places = columns.iter().map(|column| changing.schema().column(column)).collect::<Result<Vec<_>>>()?;
        for (&place, (field, other)) in places.iter().zip(&target.columns) {
            let own = changing.schema().arrow().field(place);
            if !is_comparable(own.data_type(), other) {
                return Err(Error::schema(format!(
                    "column {:?} refers to column {field:?} of table {:?}, which has another type: give both the same type",
                    own.name(),
                    shown_name(referred)
                )));
            }
        }
        let known = changing.indexes().iter().find(|index| index.codec().columns() == places).map(Index::number);
        let index = match known {
            Some(number) => number,
            None => add_index(changing, name, &columns, false)?,
        };
        let key = ForeignKey {
            name: name.to_owned(),
            table: own,
            index,
            has_own_index: known.is_none(),
            referred: other,
            target: target.number,
            actions,
        };
        changing.add_foreign_key(&key)?;
        changing.touch_index(index)?;
        if other != own {
            self.numbered(other)?.changing.add_foreign_key(&key)?;
        }
        Ok(())
    }

    /// [`Database::drop_foreign_key`] as part of this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn drop_foreign_key(&mut self, table: &str, name: &str) -> Result<()> {
        let number = self.require(table)?;
        let changing = &mut self.numbered(number)?.changing;
        let key = changing.foreign_keys().own.iter().find(|key| key.name == name).cloned();
        let key = key.ok_or_else(|| Error::schema(format!("the table has no constraint {name:?}")))?;
        changing.drop_foreign_key(&key)?;
        if key.referred != number {
            self.numbered(key.referred)?.changing.drop_foreign_key(&key)?;
        }
        let changing = &mut self.numbered(number)?.changing;
        let index = changing.indexes().iter().find(|index| index.number() == key.index).cloned();
        if let Some(index) = index
            && key.has_own_index
            && changing.foreign_keys().needs_index(index.number()).is_none()
        {
            changing.view()?;
            changing.drop_index(&index)?;
        }
        Ok(())
    }
}

/// A key or unique index that a foreign key refers to.
struct Target<'n> {
    number: u64,
    /// Names and types, in its order.
    columns: Vec<(String, DataType)>,
    /// The names that were given for them, if any.
    given: Vec<&'n str>,
}

impl Target<'_> {
    /// The columns of the foreign key, in the order of the columns that they refer to.
    fn in_order<'c, S: AsRef<str>>(&self, table: &str, columns: &'c [S]) -> Result<Vec<&'c str>> {
        if columns.len() != self.columns.len() {
            return Err(Error::schema(format!(
                "a foreign key of table {:?} has {} columns and refers to {}: name as many",
                shown_name(table),
                columns.len(),
                self.columns.len()
            )));
        }
        if self.given.is_empty() {
            return Ok(columns.iter().map(AsRef::as_ref).collect());
        }
        let by_name: BTreeMap<&str, &str> = self.given.iter().copied().zip(columns.iter().map(AsRef::as_ref)).collect();
        let found = self.columns.iter().map(|(name, _)| by_name.get(name.as_str()).copied());
        found.collect::<Option<Vec<_>>>().ok_or_else(|| Error::internal("a column of a foreign key is missing"))
    }
}

fn find_target<'n, S: AsRef<str>>(
    schema: &TableSchema,
    indexes: &[Index],
    table: &str,
    names: &'n [S],
) -> Result<Target<'n>> {
    let given: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    for name in &given {
        schema.column(name)?;
    }
    let columns = |codec: &KeyCodec| -> Vec<(String, DataType)> {
        codec.fields().iter().map(|field| (field.name().clone(), field.data_type().clone())).collect()
    };
    let has_these = |codec: &KeyCodec| {
        given.len() == codec.fields().len() && codec.fields().iter().all(|field| given.contains(&field.name().as_str()))
    };
    if given.is_empty() || has_these(schema.key()) {
        return Ok(Target { number: PRIMARY_KEY, columns: columns(schema.key()), given });
    }
    let unique = indexes.iter().find(|index| index.is_unique() && has_these(index.codec()));
    match unique {
        Some(index) => Ok(Target { number: index.number(), columns: columns(index.codec()), given }),
        None => Err(Error::schema(format!(
            "{} is neither the primary key of table {table:?} nor unique: refer to its key, or create a unique index of these columns first",
            given.join(", ")
        ))),
    }
}

/// Whether values of one type can be looked up among values of the other.
fn is_comparable(one: &DataType, other: &DataType) -> bool {
    let value_type = |data_type: &DataType| match data_type {
        DataType::Dictionary(_, values) => (**values).clone(),
        other => other.clone(),
    };
    let (one, other) = (value_type(one), value_type(other));
    let is_text = |data_type: &DataType| matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    one == other || (one.is_integer() && other.is_integer()) || (is_text(&one) && is_text(&other))
}

/// The name that a table which is being created will have.
fn shown_name(table: &str) -> &str {
    table.strip_prefix(UNFINISHED).unwrap_or(table)
}
