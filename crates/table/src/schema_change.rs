//! Adds, drops, renames and widens columns.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_cast::cast;
use arrow_schema::{DataType, Field, TimeUnit};
use lath_parquet::{ExactType, ExactUnit, PARQUET_TYPE_KEY};
use lath_predicate::{BatchFilter, column_named};
use lath_store::Durability;

use crate::error::{Error, Result};
use crate::read::{KIND, SEQUENCE};
use crate::row::key::{KeyValue, default_array};
use crate::row::{ColumnCategories, Growth, SchemaParts, TableSchema, new_nested_ids, with_id};
use crate::table::Table;
use crate::write::{OpenWrite, Transaction};

/// Prefix of the metadata of extension types. Each has one type of Arrow.
const EXTENSION: &str = "ARROW:extension:";

impl Table {
    /// Appends a column. Existing rows get the default, or null if there is none; later batches must have the column.
    ///
    /// Each schema change is one durable commit, whose cost does not depend on the number of rows: hot rows and files stay as they are, and
    /// are converted to the reader's schema when they are read, until a flush or compaction rewrites them. Snapshots that were taken or
    /// [kept](Self::keep_snapshot) before keep their schema. In a file that has a column under another name, with another type or not at
    /// all, a condition on the column is tested row by row, without the file's statistics.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::cast::AsArray;
    /// # use arrow_array::types::{Int32Type, Int64Type};
    /// # use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
    /// # use arrow_schema::{DataType, Field, TimeUnit};
    /// use lath_table::{Table, TableOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    /// # let counts: ArrayRef = Arc::new(Int32Array::from(vec![10, 20]));
    /// # let rows = RecordBatch::try_from_iter([("id", ids), ("count", counts)])?;
    /// let table = Table::create(folder.path().join("films"), &rows.schema(), &["id"], TableOptions::new())?;
    /// table.upsert(&rows)?;
    /// table.flush()?;
    ///
    /// table.add_column(&Field::new("stars", DataType::Int32, false), Some(3.into()))?;
    /// table.rename_column("count", "views")?;
    /// table.widen_column("views", &DataType::Int64)?;
    ///
    /// let film = table.get(2)?.ok_or("no film")?;
    /// assert_eq!(film.column_by_name("views").map(|views| views.as_primitive::<Int64Type>().value(0)), Some(20));
    /// assert_eq!(film.column_by_name("stars").map(|stars| stars.as_primitive::<Int32Type>().value(0)), Some(3));
    /// table.drop_column("stars")?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Schema`] for a name that a column has, a column without nulls and without default, a default that the type does not have,
    /// and a type that no table has; [`Error::Store`].
    pub fn add_column(&self, field: &Field, default: Option<KeyValue>) -> Result<()> {
        self.define(|transaction| transaction.add_column(field, default))
    }

    /// Drops a column. Its values stay in snapshots, and in files until these are rewritten. A column that is added later with the same name
    /// is a new column and does not have these values.
    ///
    /// # Errors
    /// [`Error::Schema`] for a column that does not exist, is part of the key, has an index, or is one by which files are
    /// [clustered](Self::cluster_by); [`Error::Store`].
    pub fn drop_column(&self, name: &str) -> Result<()> {
        self.define(|transaction| transaction.drop_column(name))
    }

    /// Gives a column another name. It may be part of the key or have indexes.
    ///
    /// # Errors
    /// [`Error::Schema`] for a column that does not exist, and a name that another column has; [`Error::Store`].
    pub fn rename_column(&self, name: &str, new_name: &str) -> Result<()> {
        self.define(|transaction| transaction.rename_column(name, new_name))
    }

    /// Changes the type of a column to one that represents all values of the old type exactly: integers with more bits, signed or not, if
    /// they hold every value; floats with more bits; decimals with at least as many digits before and after the point; floats or decimals
    /// that hold all digits of an integer (64-bit floats for 32-bit integers); and times of day in finer units.
    ///
    /// # Errors
    /// [`Error::Schema`] for a column that does not exist, is part of the key, or has an index, since keys and entries of indexes have another
    /// form with another type; and for a type that is not as wide. [`Error::Store`].
    pub fn widen_column(&self, name: &str, data_type: &DataType) -> Result<()> {
        self.define(|transaction| transaction.widen_column(name, data_type))
    }

    /// Allows nulls in a column, or refuses them from now on.
    ///
    /// # Errors
    /// [`Error::Schema`] for a column that does not exist, or is part of the key, which has no nulls, and for a column in which a row has a null;
    /// [`Error::Store`].
    pub fn set_nullable(&self, name: &str, is_nullable: bool) -> Result<()> {
        self.define(|transaction| transaction.set_nullable(name, is_nullable))
    }

    /// Sets or removes a key in the metadata of a column's field. A layer above the table can store its own data there.
    ///
    /// # Errors
    /// [`Error::Schema`] for a column that does not exist; [`Error::Store`].
    pub fn set_column_metadata(&self, name: &str, key: &str, value: Option<&str>) -> Result<()> {
        self.define(|transaction| transaction.set_column_metadata(name, key, value))
    }

    /// Sets or removes a key in the metadata of the table's schema, as [`set_column_metadata`](Self::set_column_metadata) does for a column.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn set_metadata(&self, key: &str, value: Option<&str>) -> Result<()> {
        self.define(|transaction| transaction.set_metadata(key, value))
    }

    /// One durable commit of definitions. Files may be written in a new schema at once, and a version has to stay one schema.
    pub(crate) fn define(&self, define: impl FnOnce(&mut Transaction) -> Result<()>) -> Result<()> {
        let mut transaction = Transaction::begin(self.engine())?;
        define(&mut transaction)?;
        transaction.changing.commit(Durability::Sync)
    }
}

impl Transaction {
    /// [`Table::add_column`] as part of this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn add_column(&mut self, field: &Field, default: Option<KeyValue>) -> Result<()> {
        self.change_schema(|changing| with_column(changing, field, default).map(Some))
    }

    /// [`Table::drop_column`] as part of this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn drop_column(&mut self, name: &str) -> Result<()> {
        self.change_schema(|changing| {
            let column = find_column(changing.schema(), name)?;
            check_is_free_of_keys(changing, column, "dropped")?;
            check_is_not_clustered(changing, column)?;
            check_is_free_of_checks(changing, column)?;
            check_is_free_of_ttl(changing.schema(), column)?;
            let mut parts = changing.schema().parts();
            if changing.schema().constraints().max_chars.contains_key(&changing.schema().id(column)) {
                Arc::make_mut(&mut parts.constraints).max_chars.remove(&changing.schema().id(column));
            }
            Arc::make_mut(&mut parts.categories).set(changing.schema().id(column), None);
            parts.fields.remove(column);
            parts.defaults.remove(column);
            parts.nested_ids.remove(column);
            parts.key_columns.iter_mut().filter(|key| **key > column).for_each(|key| *key -= 1);
            Ok(Some(parts))
        })
    }

    /// [`Table::rename_column`] as part of this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn rename_column(&mut self, name: &str, new_name: &str) -> Result<()> {
        self.change_schema(|changing| {
            let column = find_column(changing.schema(), name)?;
            if name == new_name {
                return Ok(None);
            }
            check_is_free(changing, new_name)?;
            let mut parts = changing.schema().parts();
            parts.fields[column] = Arc::new(Field::clone(&parts.fields[column]).with_name(new_name));
            rename_in_checks(changing.schema(), &mut parts, name, new_name);
            Ok(Some(parts))
        })
    }

    /// [`Table::widen_column`] as part of this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn widen_column(&mut self, name: &str, data_type: &DataType) -> Result<()> {
        self.change_schema(|changing| {
            let column = find_column(changing.schema(), name)?;
            let mut parts = changing.schema().parts();
            let field = &parts.fields[column];
            if field.data_type() == data_type {
                return Ok(None);
            }
            check_is_free_of_keys(changing, column, "widened")?;
            if !is_wider(field.data_type(), data_type) {
                return Err(Error::schema(format!(
                    "column {name:?} is {}, and {data_type} does not have all its values exactly: integers, floats and decimals can be \
                     widened, for other types add a column",
                    field.data_type()
                )));
            }
            let mut metadata = field.metadata().clone();
            // Both are about the narrower type.
            metadata.retain(|key, _| key != PARQUET_TYPE_KEY && !key.starts_with(EXTENSION));
            let widened = Field::clone(field).with_data_type(data_type.clone()).with_metadata(metadata);
            parts.fields[column] = Arc::new(widened);
            let default: Option<&ArrayRef> = parts.defaults[column].as_ref();
            parts.defaults[column] = default.map(|default| cast(default, data_type)).transpose()?;
            Ok(Some(parts))
        })
    }

    /// [`Table::set_column_metadata`] as part of this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn set_column_metadata(&mut self, name: &str, key: &str, value: Option<&str>) -> Result<()> {
        self.change_schema(|changing| {
            let column = find_column(changing.schema(), name)?;
            let mut parts = changing.schema().parts();
            let mut metadata = parts.fields[column].metadata().clone();
            match value {
                Some(value) => metadata.insert(key.to_owned(), value.to_owned()),
                None => metadata.remove(key),
            };
            if metadata == *parts.fields[column].metadata() {
                return Ok(None);
            }
            parts.fields[column] = Arc::new(Field::clone(&parts.fields[column]).with_metadata(metadata));
            Ok(Some(parts))
        })
    }

    /// [`Table::set_metadata`] as part of this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn set_metadata(&mut self, key: &str, value: Option<&str>) -> Result<()> {
        self.change_schema(|changing| {
            let mut parts = changing.schema().parts();
            let before = match value {
                Some(value) => parts.metadata.insert(key.to_owned(), value.to_owned()),
                None => parts.metadata.remove(key),
            };
            Ok((before.as_deref() != value).then_some(parts))
        })
    }

    /// [`Table::set_nullable`] as part of this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn set_nullable(&mut self, name: &str, is_nullable: bool) -> Result<()> {
        let schema = Arc::clone(self.changing.schema());
        let column = find_column(&schema, name)?;
        if schema.arrow().field(column).is_nullable() == is_nullable {
            return Ok(());
        }
        if schema.key().columns().contains(&column) {
            return Err(Error::schema(format!("column {name:?} is part of the key, which has no nulls")));
        }
        if !is_nullable {
            let key: Vec<String> = schema.key().fields().iter().map(|field| field.name().clone()).collect();
            for rows in self.scan().select(key).predicate(column_named(name).is_null()).limit(1).build()? {
                let rows = rows?;
                if rows.num_rows() > 0 {
                    return Err(Error::schema(format!(
                        "column {name:?} is null in the row with {}: give it a value before the column refuses nulls",
                        schema.key().describe(rows.columns(), 0)
                    )));
                }
            }
        }
        self.change_schema(|changing| {
            let mut parts = changing.schema().parts();
            parts.fields[column] = Arc::new(Field::clone(&parts.fields[column]).with_nullable(is_nullable));
            Ok(Some(parts))
        })
    }

    /// Gives the table the schema that `change` makes, unless it makes none.
    pub(crate) fn change_schema(
        &mut self,
        change: impl FnOnce(&OpenWrite) -> Result<Option<SchemaParts>>,
    ) -> Result<()> {
        let Some(parts) = change(&self.changing)? else { return Ok(()) };
        let schema = self.changing.schema().next(parts)?;
        self.changing.set_schema(schema)
    }
}

/// The parts of the schema with another column, which comes last.
pub(crate) fn with_column(changing: &OpenWrite, field: &Field, default: Option<KeyValue>) -> Result<SchemaParts> {
    if default.is_none() && !field.is_nullable() {
        let name = field.name();
        let what = format!("column {name:?} allows no nulls: give a default for the rows that are there");
        return Err(Error::schema(what));
    }
    let default = default.map(|default| default_array(&default, field)).transpose()?;
    check_is_free(changing, field.name())?;
    let mut parts = changing.schema().parts();
    let too_many = || Error::schema("the table has had too many columns");
    let mut next_id = parts.next_id.checked_add(1).ok_or_else(too_many)?;
    parts.nested_ids.push(new_nested_ids(field, &mut next_id));
    i32::try_from(next_id).map_err(|_| too_many())?;
    let categories = Arc::make_mut(&mut parts.categories);
    categories.set(parts.next_id, initial_categories(field, default.as_ref())?);
    parts.fields.push(Arc::new(with_id(field, parts.next_id)));
    parts.defaults.push(default);
    parts.next_id = next_id;
    Ok(parts)
}

/// The categories of a new column: the one of its default, if there is one.
fn initial_categories(field: &Field, default: Option<&ArrayRef>) -> Result<Option<ColumnCategories>> {
    let Some(categories) = ColumnCategories::new(field) else { return Ok(None) };
    match default.map(|default| categories.extend(field, default, true)).transpose()? {
        Some(Growth::Grown(categories)) => Ok(Some(categories)),
        Some(Growth::TooMany) => Ok(None),
        Some(Growth::Unchanged) | None => Ok(Some(categories)),
    }
}

fn find_column(schema: &TableSchema, name: &str) -> Result<usize> {
    let found = schema.arrow().column_with_name(name);
    found.map(|(column, _)| column).ok_or_else(|| Error::schema(format!("the table has no column {name:?}")))
}

/// Refuses a name that a column has, or that those before the columns have in changes.
fn check_is_free(changing: &OpenWrite, name: &str) -> Result<()> {
    if changing.schema().arrow().column_with_name(name).is_some() {
        return Err(Error::schema(format!("the table has a column {name:?} already: choose another name")));
    }
    if changing.state().feed.is_some() && [KIND, SEQUENCE].contains(&name) {
        return Err(Error::schema(format!("a table that keeps changes has no column {name:?}: choose another name")));
    }
    Ok(())
}

/// Refuses a column of the key or of an index.
fn check_is_free_of_keys(changing: &OpenWrite, column: usize, done: &str) -> Result<()> {
    let schema = changing.schema();
    let name = schema.arrow().field(column).name();
    if schema.key().columns().contains(&column) {
        return Err(Error::schema(format!(
            "column {name:?} is part of the key and cannot be {done}: create a table with another key and copy the rows"
        )));
    }
    let index = changing.indexes().iter().find(|index| index.codec().columns().contains(&column));
    if let Some(key) = index.and_then(|index| changing.foreign_keys().needs_index(index.number())) {
        return Err(Error::schema(format!(
            "column {name:?} is part of the foreign key {:?} and cannot be {done}: drop that constraint first",
            key.name
        )));
    }
    match index {
        None => Ok(()),
        Some(index) => Err(Error::schema(format!(
            "column {name:?} has the index {:?} and cannot be {done}: drop the index first",
            index.name()
        ))),
    }
}

/// Refuses a column that a constraint names.
fn check_is_free_of_checks(changing: &OpenWrite, column: usize) -> Result<()> {
    let schema = changing.schema();
    let name = schema.arrow().field(column).name();
    let is_used = |filter: &BatchFilter| filter.names().iter().any(|names| names.first() == Some(name));
    match schema.constraints().checks.iter().zip(schema.filters()).find(|(_, filter)| is_used(filter)) {
        None => Ok(()),
        Some((check, _)) => Err(Error::schema(format!(
            "column {name:?} is in the constraint {:?} and cannot be dropped: drop the constraint first",
            check.name
        ))),
    }
}

/// Refuses a column by which rows expire.
fn check_is_free_of_ttl(schema: &TableSchema, column: usize) -> Result<()> {
    match schema.ttl() {
        Some(ttl) if ttl.column == schema.id(column) => Err(Error::schema(format!(
            "rows expire by column {:?}, which cannot be dropped: drop the TTL first",
            schema.arrow().field(column).name()
        ))),
        _ => Ok(()),
    }
}

/// Gives a column another name in the conditions that name it.
fn rename_in_checks(schema: &TableSchema, parts: &mut SchemaParts, name: &str, new_name: &str) {
    for (at, filter) in schema.filters().iter().enumerate() {
        if filter.names().iter().any(|names| names.first().is_some_and(|first| first == name)) {
            let check = &mut Arc::make_mut(&mut parts.constraints).checks[at];
            check.condition = check.condition.with_renamed_column(name, new_name);
        }
    }
}

/// Refuses a column by which new files are sorted.
fn check_is_not_clustered(changing: &OpenWrite, column: usize) -> Result<()> {
    let schema = changing.schema();
    if !changing.state().cluster.contains(&schema.id(column)) {
        return Ok(());
    }
    Err(Error::schema(format!(
        "files are clustered by column {:?}, which cannot be dropped: cluster by other columns first, or by none",
        schema.arrow().field(column).name()
    )))
}

/// Whether a type has all values of another, exactly, and is not the same.
fn is_wider(from: &DataType, to: &DataType) -> bool {
    use DataType::{Float16, Float32, Float64, Time32, Time64};
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    match (integer(from), ExactType::decimal_digits(from), integer(to), ExactType::decimal_digits(to)) {
        (Some((bits, is_signed)), _, Some((to_bits, to_signed)), _) => {
            return to_bits > bits && (to_signed || !is_signed);
        }
        (Some((bits, is_signed)), _, _, Some((precision, scale))) => {
            return i16::from(precision) - i16::from(scale) >= i16::from(digits(bits, is_signed));
        }
        (_, Some((precision, scale)), _, Some((to_precision, to_scale))) => {
            let before_point = |precision: u8, scale: i8| i16::from(precision) - i16::from(scale);
            return from != to
                && to_scale >= scale
                && before_point(to_precision, to_scale) >= before_point(precision, scale);
        }
        _ => {}
    }
    let mantissa = |data_type: &DataType| match data_type {
        Float16 => 11,
        Float32 => 24,
        Float64 => 53,
        _ => 0,
    };
    if let Some((bits, is_signed)) = integer(from) {
        return bits - u32::from(is_signed) < mantissa(to);
    }
    matches!(
        (from, to),
        (Float16, Float32 | Float64)
            | (Float32, Float64)
            | (Time32(Second), Time32(Millisecond))
            | (Time32(_), Time64(Microsecond | Nanosecond))
            | (Time64(Microsecond), Time64(Nanosecond))
    )
}

/// Number of decimal digits of the largest integer.
fn digits(bits: u32, is_signed: bool) -> u8 {
    match (bits, is_signed) {
        (8, _) => 3,
        (16, _) => 5,
        (32, _) => 10,
        (64, true) => 19,
        _ => 20,
    }
}

/// The number of bits of integers, and whether they are signed.
fn integer(data_type: &DataType) -> Option<(u32, bool)> {
    let exact = ExactType::new(data_type)?;
    (exact.unit == ExactUnit::One).then_some((exact.width as u32 * 8, exact.is_signed))
}
