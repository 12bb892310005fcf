//! Creates and drops indexes.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::read::{Snapshot, entries_of_rows, find_index};
use crate::records::Index;
use crate::table::Table;
use crate::view::View;
use crate::write::{OpenWrite, Transaction};

/// Maximum length of an index's name in bytes.
const NAME_LEN: usize = 255;

/// Name, columns and kind of an index.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexInfo {
    /// Its name.
    pub name: String,
    /// The names of its columns, the most significant first.
    pub columns: Vec<String>,
    /// Whether no two rows may have the same values in its columns. Rows with a null in one of them may.
    pub is_unique: bool,
}

impl Table {
    /// Creates an index of columns over all existing rows. Every later change updates it in the same transaction. In a unique index no two
    /// rows have the same values, unless one of them is null.
    ///
    /// With an index, an upsert or delete reads the indexed columns of the rows that it replaces: it looks up each key, also in files, and
    /// reads one page for each indexed column and row that it finds in a file. Creating an index holds the write transaction, and keeps all
    /// entries in memory.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    /// use lath_table::{Error, Table, TableOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let users = |ids: Vec<i64>, mails: Vec<&str>| {
    /// #     let columns = [("id", Arc::new(Int64Array::from(ids)) as ArrayRef), ("mail", Arc::new(StringArray::from(mails)) as _)];
    /// #     RecordBatch::try_from_iter(columns)
    /// # };
    /// # let table = Table::create(folder.path().join("users"), &users(vec![], vec![])?.schema(), &["id"], TableOptions::new())?;
    /// table.upsert(&users(vec![1, 2], vec!["ada@example.com", "grace@example.com"])?)?;
    /// table.create_index("by mail", &["mail"], true)?;
    /// assert_eq!(table.snapshot()?.get_by_index("by mail", "ada@example.com")?.num_rows(), 1);
    /// let taken = table.upsert(&users(vec![3], vec!["ada@example.com"])?);
    /// assert!(matches!(taken, Err(Error::NotUnique { .. })));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::IndexExists`], [`Error::Batch`] for columns that the table does not have, [`Error::Schema`] for columns that have no order,
    /// none or one twice, or a name that is empty or longer than 255 bytes, [`Error::NotUnique`], [`Error::KeyTooLong`], and whatever goes
    /// wrong while reading.
    pub fn create_index<S: AsRef<str>>(&self, name: &str, columns: &[S], is_unique: bool) -> Result<()> {
        self.define(|transaction| transaction.create_index(name, columns, is_unique))
    }

    /// Drops an index.
    ///
    /// # Errors
    /// [`Error::NoSuchIndex`], and [`Error::Schema`] if a foreign key needs it.
    pub fn drop_index(&self, name: &str) -> Result<()> {
        self.define(|transaction| transaction.drop_index(name))
    }
}

impl Transaction {
    /// [`Table::create_index`] as part of this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn create_index<S: AsRef<str>>(&mut self, name: &str, columns: &[S], is_unique: bool) -> Result<()> {
        self.all_or_nothing(|this| add_index(&mut this.changing, name, columns, is_unique).map(drop))
    }

    /// [`Table::drop_index`] as part of this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn drop_index(&mut self, name: &str) -> Result<()> {
        let index = find_index(self.changing.indexes(), name)?;
        if let Some(key) = self.changing.foreign_keys().needs_index(index.number()) {
            return Err(Error::schema(format!(
                "the foreign key {:?} needs the index {name:?}: drop that constraint first",
                key.name
            )));
        }
        // Its entries are written with the rows.
        self.write_buffered()?;
        self.changing.drop_index(&index)
    }
}

/// Adds an index of columns over all rows to an open write, and returns its number.
pub(crate) fn add_index<S: AsRef<str>>(
    changing: &mut OpenWrite,
    name: &str,
    columns: &[S],
    is_unique: bool,
) -> Result<u64> {
    if !(1..=NAME_LEN).contains(&name.len()) {
        return Err(Error::schema(format!("the name of an index has 1 to {NAME_LEN} bytes: choose another")));
    }
    let indexes = Arc::clone(changing.indexes());
    if indexes.iter().any(|index| index.name() == name) {
        return Err(Error::IndexExists { name: name.to_owned() });
    }
    // Expired rows forbid no values of a unique index.
    changing.remove_all_expired()?;
    let schema = Arc::clone(changing.schema());
    let mut places = Vec::new();
    for column in columns {
        let place = schema.column(column.as_ref())?;
        if places.contains(&place) {
            return Err(Error::schema(format!("column {:?} is twice in the index: name it once", column.as_ref())));
        }
        places.push(place);
    }
    if places.is_empty() {
        return Err(Error::schema("an index needs at least one column"));
    }
    let number = changing.next_index();
    let index = Index::new(name.to_owned(), number, is_unique, places, &schema)?;
    let entries = entries_of_rows(&Arc::clone(changing.engine()), &mut changing.view()?, &index)?;
    if let Some([_, entry]) = entries.array_windows().find(|[a, b]| b.is_bound() && a.values() == b.values()) {
        return Err(index.not_unique(entry));
    }
    changing.add_index(index)?;
    let mut tree = changing.index_tree_mut(number)?;
    for entry in &entries {
        tree.put(entry.bytes(), &entry.tree_value())?;
    }
    Ok(number)
}

impl Snapshot {
    /// The indexes of the table, in the order of their names.
    pub fn indexes(&self) -> Vec<IndexInfo> {
        let (_, pinned) = self.parts();
        let info = |index: &Index| IndexInfo {
            name: index.name().to_owned(),
            columns: index.codec().fields().iter().map(|field| field.name().clone()).collect(),
            is_unique: index.is_unique(),
        };
        let mut infos: Vec<IndexInfo> = View::indexes(pinned).iter().map(info).collect();
        infos.sort_by(|a, b| a.name.cmp(&b.name));
        infos
    }
}
