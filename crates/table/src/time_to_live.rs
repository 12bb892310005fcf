//! Turns the expiry of rows on and off.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::read::Snapshot;
use crate::row::{TableSchema, TimeToLive, Ttl};
use crate::table::Table;
use crate::view::View;
use crate::write::Transaction;

impl Table {
    /// Lets rows expire: a row is gone once the time in `column` plus `lifetime` has come, by the [clock](crate::TableOptions::clock) of the process
    /// that reads. Rows in which the column is null do not expire. Timestamps without a time zone, and dates, are of UTC.
    ///
    /// Expired rows vanish from all reads at once, and do not stand in the way of rows with the same key or with equal values in a unique index. A
    /// snapshot fixes its clock when it is taken, and a transaction when it begins. Flushes and compactions remove expired rows; a file all of whose
    /// rows have expired is removed by its statistics, without being read, unless the table has indexes. The change feed has no record of rows that
    /// expire. If the table had a TTL before, the rows that have expired by it are removed first, so that they do not come back.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use std::time::Duration;
    /// # use arrow_array::{ArrayRef, Int64Array, RecordBatch, TimestampMicrosecondArray};
    /// # use lath_table::{Table, TableOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    /// # let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![Some(0), None]));
    /// # let events = RecordBatch::try_from_iter([("id", ids), ("ts", times)])?;
    /// let table = Table::create(folder.path().join("events"), &events.schema(), &["id"], TableOptions::new())?;
    /// table.upsert(&events)?;
    /// table.set_ttl("ts", Duration::from_secs(30 * 86_400))?;
    /// // One row is of 1970, and the other one has no time.
    /// assert_eq!(table.count()?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Schema`] for a column that does not exist or has no timestamps or dates, for a lifetime of more than 1,000 years, and for a table with
    /// foreign keys or that is referred to by some; [`Error::Store`].
    pub fn set_ttl(&self, column: &str, lifetime: Duration) -> Result<()> {
        self.define(|transaction| transaction.set_ttl(column, lifetime))
    }

    /// Ends the expiry of rows. Rows that have expired already are removed first, so that they do not come back.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn drop_ttl(&self) -> Result<()> {
        self.define(Transaction::drop_ttl)
    }
}

impl Transaction {
    /// [`Table::set_ttl`] as part of this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn set_ttl(&mut self, column: &str, lifetime: Duration) -> Result<()> {
        self.change_ttl(|schema| new_ttl(schema, &TimeToLive::new(column, lifetime)).map(Some))
    }

    /// [`Table::drop_ttl`] as part of this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn drop_ttl(&mut self) -> Result<()> {
        self.change_ttl(|_| Ok(None))
    }

    fn change_ttl(&mut self, ttl: impl FnOnce(&TableSchema) -> Result<Option<Ttl>>) -> Result<()> {
        let changing = &mut self.changing;
        let mut parts = changing.schema().parts();
        parts.ttl = ttl(changing.schema())?;
        if parts.ttl == changing.schema().ttl() {
            return Ok(());
        }
        if parts.ttl.is_some() && changing.state().has_references {
            return Err(Error::schema(
                "rows of a table with foreign keys, or that is referred to by some, do not expire, since rows would refer to missing ones: \
                 drop these constraints first, or delete rows by a condition",
            ));
        }
        changing.remove_all_expired()?;
        let schema = changing.schema().next(parts)?;
        changing.set_schema(schema)
    }
}

impl Snapshot {
    /// The rule by which rows expire; `None` if they do not.
    pub fn ttl(&self) -> Option<TimeToLive> {
        let (_, pinned) = self.parts();
        let schema = View::schema(pinned);
        let ttl = schema.ttl()?;
        let column = schema.arrow().field(schema.place_of_id(ttl.column)?).name();
        Some(TimeToLive::new(column, ttl.lifetime()))
    }
}

/// A rule for the columns of a schema.
pub(crate) fn new_ttl(schema: &TableSchema, rule: &TimeToLive) -> Result<Ttl> {
    let column = schema.column(&rule.column)?;
    Ttl::new(rule, schema.id(column), schema.arrow().field(column).data_type())
}
