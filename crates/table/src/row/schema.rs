//! Schema of a table: its columns, its key, and their versions.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow_select::take::take;
use lath_parquet::Strings;
use lath_predicate::BatchFilter;
use lath_store::{RecordReader, RecordWriter};
use lath_writer::parquet_schema;

use super::array_bytes::{array_from_bytes, array_to_bytes};
use super::canonical_floats::FloatKeys;
use super::categories::{Categories, ColumnCategories, Growth, with_category_order};
use super::conform::conform_column;
use super::constraints::Constraints;
use super::field_ids::{field_id, nested_ids, new_nested_ids, with_id, with_nested_ids};
use super::key_codec::{KeyCodec, as_type};
use super::time_to_live::Ttl;
use super::value_codec::ValueCodec;
use crate::error::{Error, Result};

/// The name of the column with row numbers in scans of files. No column of a table is called so.
pub(crate) const ROW_NUMBER: &str = "__lath_row_number";

/// The metadata key of a column that is generated from others, by an expression of SQL. Only SQL can evaluate it, so other programs cannot put
/// rows of the table, and exports leave the key out.
pub const GENERATED_KEY: &str = "lath:generated";

/// Maximum number of rows of a batch.
pub(crate) const BATCH_ROWS: usize = 8192;

/// One version of a table's schema.
#[derive(Debug)]
pub(crate) struct TableSchema {
    /// Counted from 1.
    version: u32,
    arrow: SchemaRef,
    /// The same with numbers of the fields within columns.
    file: SchemaRef,
    /// The numbers of the columns, in ascending order. No other column of any version has the same.
    ids: Vec<u32>,
    nested_ids: Vec<Vec<u32>>,
    /// The number of the next column that is added.
    next_id: u32,
    /// For each column, the value of rows that are older than it, as an array of one value; `None` stands for null.
    defaults: Vec<Option<ArrayRef>>,
    key: KeyCodec,
    floats: FloatKeys,
    values: ValueCodec,
    categories: Arc<Categories>,
    constraints: Arc<Constraints>,
    ttl: Option<Ttl>,
    /// The conditions of the constraints, for batches of all columns.
    filters: Vec<BatchFilter>,
    /// The versions before this one, from the first on. They have none themselves.
    older: Vec<Arc<TableSchema>>,
}

/// The parts of a schema of which the rest follows.
#[derive(Debug, Clone)]
pub(crate) struct SchemaParts {
    pub(crate) fields: Vec<FieldRef>,
    pub(crate) metadata: HashMap<String, String>,
    pub(crate) next_id: u32,
    pub(crate) defaults: Vec<Option<ArrayRef>>,
    /// The places of the key columns.
    pub(crate) key_columns: Vec<usize>,
    /// Comparison of floats in keys and indexes.
    pub(crate) floats: FloatKeys,
    pub(crate) categories: Arc<Categories>,
    /// For each column the numbers of the fields within it; none in a table that an earlier version of Lath has made.
    pub(crate) nested_ids: Vec<Vec<u32>>,
    pub(crate) constraints: Arc<Constraints>,
    pub(crate) ttl: Option<Ttl>,
}

/// The columns of a batch as a table has them.
#[derive(Debug)]
pub(crate) struct ConformedRows {
    pub(crate) columns: Vec<ArrayRef>,
    /// The categories of the table with the new ones of the batch; `None` if it has no new ones.
    pub(crate) categories: Option<Arc<Categories>>,
}

impl TableSchema {
    /// The first version of the schema of a new table. Key columns become NOT NULL, and columns get numbers.
    pub(crate) fn create<S: AsRef<str>>(schema: &Schema, key_columns: &[S]) -> Result<Self> {
        let mut columns = Vec::new();
        for name in key_columns {
            let name = name.as_ref();
            let (column, _) = schema.column_with_name(name).ok_or_else(|| {
                Error::schema(format!("there is no column {name:?} to be the key: name columns of the schema"))
            })?;
            if columns.contains(&column) {
                return Err(Error::schema(format!("column {name:?} is twice in the key: name it once")));
            }
            columns.push(column);
        }
        let mut categories = Categories::default();
        for (column, field) in schema.fields().iter().enumerate() {
            categories.set(column as u32 + 1, ColumnCategories::new(field));
        }
        let fields = schema.fields().iter().enumerate().map(|(column, field)| {
            let is_nullable = field.is_nullable() && !columns.contains(&column);
            Arc::new(with_id(field, column as u32 + 1).with_nullable(is_nullable))
        });
        let mut next_id = schema.fields().len() as u32 + 1;
        let nested_ids = schema.fields().iter().map(|field| new_nested_ids(field, &mut next_id)).collect();
        let parts = SchemaParts {
            fields: fields.collect(),
            metadata: schema.metadata().clone(),
            next_id,
            defaults: vec![None; schema.fields().len()],
            key_columns: columns,
            floats: FloatKeys::ByValue,
            categories: Arc::new(categories),
            nested_ids,
            constraints: Arc::default(),
            ttl: None,
        };
        Self::checked(1, parts)
    }

    /// As [`create`](Self::create), with the numbers that the fields have, if all have one, in the order of the columns.
    pub(crate) fn create_numbered<S: AsRef<str>>(schema: &Schema, key_columns: &[S]) -> Result<Self> {
        let created = Self::create(schema, key_columns)?;
        let fields = schema.fields();
        let ids: Option<Vec<u32>> = fields.iter().map(|field| field_id(field).ok()).collect();
        let nested: Option<Vec<Vec<u32>>> =
            fields.iter().map(|field| nested_ids(field).into_iter().collect()).collect();
        let (Some(ids), Some(nested)) = (ids, nested) else { return Ok(created) };
        let all: BTreeSet<u32> = ids.iter().chain(nested.iter().flatten()).copied().collect();
        let are_distinct = all.len() == ids.len() + nested.iter().map(Vec::len).sum::<usize>();
        let is_within = |id: u32| (1..i32::MAX as u32).contains(&id);
        if !are_distinct || !all.iter().all(|&id| is_within(id)) || !ids.is_sorted() {
            return Ok(created);
        }
        let parts = created.parts();
        let fields = parts.fields.iter().zip(&ids).map(|(field, &id)| Arc::new(with_id(field, id))).collect();
        let next_id = all.last().map_or(1, |last| last + 1);
        Self::checked(1, SchemaParts { fields, nested_ids: nested, next_id, categories: Arc::default(), ..parts })
    }

    /// A version that was not committed yet. Refuses what no table can have.
    fn checked(version: u32, parts: SchemaParts) -> Result<Self> {
        let mut names = BTreeSet::new();
        for field in &parts.fields {
            if !names.insert(field.name().as_str()) || field.name() == ROW_NUMBER {
                return Err(Error::schema(format!("two columns cannot be called {:?}: rename one", field.name())));
            }
        }
        let schema = Self::new(version, parts)?;
        // Refuses what Parquet has no place for.
        parquet_schema(&schema.arrow)?;
        Ok(schema)
    }

    fn new(version: u32, parts: SchemaParts) -> Result<Self> {
        let SchemaParts {
            fields,
            metadata,
            next_id,
            defaults,
            key_columns,
            floats,
            categories,
            nested_ids,
            constraints,
            ttl,
        } = parts;
        let ids = fields.iter().map(|field| field_id(field)).collect::<Result<Vec<_>>>()?;
        if !ids.is_sorted_by(|a, b| a < b) || ids.last().is_some_and(|&last| last >= next_id) {
            return Err(Error::corrupt("the columns of a schema are not numbered in their order"));
        }
        let ordered = |(field, id): (&FieldRef, &u32)| {
            let own = categories.get(*id);
            match own.is_none_or(|own| own.fits(field)) {
                true => Ok(with_category_order(field, own.map(|own| &**own))),
                false => Err(Error::corrupt(format!("column {:?} has categories of another type", field.name()))),
            }
        };
        let fields: Vec<FieldRef> = fields.iter().zip(&ids).map(ordered).collect::<Result<_>>()?;
        let arrow = Arc::new(Schema::new_with_metadata(fields, metadata));
        let file = file_schema(&arrow, &nested_ids, next_id)?;
        let field = |&column: &usize| FieldRef::clone(&arrow.fields()[column]);
        let key_fields: Vec<FieldRef> = key_columns.iter().map(field).collect();
        let value_columns: Vec<usize> = (0..arrow.fields().len()).filter(|at| !key_columns.contains(at)).collect();
        let value_fields: Vec<FieldRef> = value_columns.iter().map(field).collect();
        let key = KeyCodec::new(key_columns, key_fields, floats)?;
        let values = ValueCodec::new(value_columns, value_fields)?;
        let filters = constraints.bind(&arrow)?;
        Ok(Self {
            version,
            arrow,
            file,
            ids,
            nested_ids,
            next_id,
            defaults,
            key,
            floats,
            values,
            categories,
            constraints,
            ttl,
            filters,
            older: Vec::new(),
        })
    }

    /// Sets the earlier versions, beginning with the first.
    pub(crate) fn with_older(mut self, older: Vec<Arc<Self>>) -> Self {
        self.older = older;
        self
    }

    /// This version of the schema with other categories.
    pub(crate) fn with_categories(&self, categories: Arc<Categories>) -> Result<Self> {
        let parts = SchemaParts { categories, ..self.parts() };
        Ok(Self::new(self.version, parts)?.with_older(self.older.clone()))
    }

    /// The first version of the schema, with constraints.
    pub(crate) fn with_constraints(&self, constraints: Constraints) -> Result<Self> {
        Self::checked(self.version, SchemaParts { constraints: Arc::new(constraints), ..self.parts() })
    }

    pub(crate) fn constraints(&self) -> &Constraints {
        &self.constraints
    }

    /// The rule by which rows expire; `None` if they do not.
    pub(crate) fn ttl(&self) -> Option<Ttl> {
        self.ttl
    }

    /// Returns an error for the first row that violates a constraint. The arrays are all columns of the table.
    pub(crate) fn check_constraints(&self, columns: &[ArrayRef]) -> Result<()> {
        if self.constraints.is_empty() {
            return Ok(());
        }
        let row_count = columns.first().map_or(0, Array::len);
        let rows = batch(&self.arrow, columns.to_vec(), row_count)?;
        let key = |row| self.key.describe(&self.key.select(columns), row);
        self.constraints.check(&rows, &self.ids, &self.filters, key)
    }

    /// The conditions of the constraints, in their order.
    pub(crate) fn filters(&self) -> &[BatchFilter] {
        &self.filters
    }

    /// The version after this one, which has these parts.
    pub(crate) fn next(self: &Arc<Self>, parts: SchemaParts) -> Result<Self> {
        let version = self.version.checked_add(1).ok_or_else(|| Error::schema("the schema has changed too often"))?;
        let mut older = self.older.clone();
        older.push(Arc::new(Self::new(self.version, self.parts())?));
        Ok(Self::checked(version, parts)?.with_older(older))
    }

    pub(crate) fn parts(&self) -> SchemaParts {
        SchemaParts {
            fields: self.arrow.fields().iter().cloned().collect(),
            metadata: self.arrow.metadata().clone(),
            next_id: self.next_id,
            defaults: self.defaults.clone(),
            key_columns: self.key.columns().to_vec(),
            floats: self.floats,
            categories: Arc::clone(&self.categories),
            nested_ids: self.nested_ids.clone(),
            constraints: Arc::clone(&self.constraints),
            ttl: self.ttl,
        }
    }

    pub(crate) fn categories(&self) -> &Arc<Categories> {
        &self.categories
    }

    /// Whether this is the same version with the same categories. Two versions with one number are different if one of them was undone before its
    /// transaction was committed.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let has_same_categories = Arc::ptr_eq(&self.categories, &other.categories)
            || (self.categories.is_empty() && other.categories.is_empty());
        let has_same_columns =
            || Arc::ptr_eq(&self.arrow, &other.arrow) || (self.arrow == other.arrow && self.defaults == other.defaults);
        self.version == other.version && has_same_categories && has_same_columns()
    }

    /// An array of a column with the categories of the column as its dictionary.
    pub(crate) fn with_column_categories(&self, column: usize, array: ArrayRef) -> Result<ArrayRef> {
        match self.categories.get(self.ids[column]) {
            Some(categories) => categories.apply(&array),
            None => Ok(array),
        }
    }

    /// Whether the values of a column are categories.
    pub(crate) fn has_categories(&self, column: usize) -> bool {
        self.categories.get(self.ids[column]).is_some()
    }

    /// This version or an older one.
    pub(crate) fn with_version(self: &Arc<Self>, version: u32) -> Result<Arc<Self>> {
        if version == self.version {
            return Ok(Arc::clone(self));
        }
        let older = (version as usize).checked_sub(1).and_then(|at| self.older.get(at));
        older.cloned().ok_or_else(|| Error::corrupt(format!("there are rows of schema {version}, which is missing")))
    }

    /// As a record of the store.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut ipc = Vec::new();
        StreamWriter::try_new(&mut ipc, &self.arrow)?.finish()?;
        let mut record = RecordWriter::default();
        record.u32(self.version).u32(self.next_id).u32(self.key.columns().len() as u32);
        for &column in self.key.columns() {
            record.u32(column as u32);
        }
        record.bytes(&ipc).u32(self.defaults.iter().flatten().count() as u32);
        for (column, default) in self.defaults.iter().enumerate() {
            if let Some(default) = default {
                record.u32(column as u32).bytes(&array_to_bytes(default)?);
            }
        }
        record.u32((self.floats == FloatKeys::ByValue).into());
        let nested = self.nested_ids.iter().enumerate().filter(|(_, ids)| !ids.is_empty());
        let has_more = !self.constraints.is_empty() || self.ttl.is_some();
        if nested.clone().next().is_some() || has_more {
            record.u32(nested.clone().count() as u32);
        }
        for (column, ids) in nested {
            record.u32(column as u32).u32(ids.len() as u32);
            ids.iter().for_each(|&id| _ = record.u32(id));
        }
        if has_more {
            self.constraints.write(&mut record);
        }
        if let Some(ttl) = self.ttl {
            ttl.write(&mut record);
        }
        Ok(record.finish())
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut record = RecordReader::new("a schema", bytes)?;
        let (version, next_id) = (record.u32()?, record.u32()?);
        let key_columns = (0..record.u32()?).map(|_| Ok(record.u32()? as usize)).collect::<Result<Vec<_>>>()?;
        let arrow = StreamReader::try_new(record.bytes()?, None)?.schema();
        if key_columns.iter().any(|&column| column >= arrow.fields().len()) {
            return Err(Error::corrupt("the key has a column that the schema lacks"));
        }
        let mut defaults = vec![None; arrow.fields().len()];
        for _ in 0..record.u32()? {
            let (column, default) = (record.u32()? as usize, array_from_bytes(record.bytes()?)?);
            match defaults.get_mut(column) {
                Some(place) if default.len() == 1 && default.data_type() == arrow.field(column).data_type() => {
                    *place = Some(default);
                }
                _ => return Err(Error::corrupt("a default does not fit its column")),
            }
        }
        // Schemas of format 4 and before end here.
        let is_by_value = !record.is_at_end() && record.u32()? == 1;
        let floats = if is_by_value { FloatKeys::ByValue } else { FloatKeys::ByBits };
        let mut nested_ids = vec![Vec::new(); arrow.fields().len()];
        // Schemas without nested columns end here, and all schemas of format 5 and before.
        for _ in 0..if record.is_at_end() { 0 } else { record.u32()? } {
            let (column, count) = (record.u32()? as usize, record.u32()?);
            let ids = (0..count).map(|_| Ok(record.u32()?)).collect::<Result<_>>()?;
            *nested_ids.get_mut(column).ok_or_else(|| Error::corrupt("a column with fields is missing"))? = ids;
        }
        let (fields, metadata) = (arrow.fields().iter().cloned().collect(), arrow.metadata().clone());
        let constraints = Arc::new(Constraints::read(&mut record)?);
        let ttl = Ttl::read(&mut record)?;
        if let Some(ttl) = ttl
            && !arrow.fields().iter().any(|field| field_id(field).is_ok_and(|id| id == ttl.column))
        {
            return Err(Error::corrupt("rows expire by a column that the schema lacks"));
        }
        let categories = Arc::default();
        let parts = SchemaParts {
            fields,
            metadata,
            next_id,
            defaults,
            key_columns,
            floats,
            categories,
            nested_ids,
            constraints,
            ttl,
        };
        Self::new(version, parts)
    }

    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    pub(crate) fn arrow(&self) -> &SchemaRef {
        &self.arrow
    }

    /// The columns with numbers at any depth, as files have them.
    pub(crate) fn file_schema(&self) -> &SchemaRef {
        &self.file
    }

    /// All columns of rows as files have them.
    pub(crate) fn file_batch(&self, rows: RecordBatch) -> Result<RecordBatch> {
        if Arc::ptr_eq(&self.file, &self.arrow) {
            return Ok(rows);
        }
        let row_count = rows.num_rows();
        let columns = rows.columns().iter().zip(self.file.fields());
        let columns = columns.map(|(array, field)| as_type(Arc::clone(array), field.data_type()));
        batch(&self.file, columns.collect::<Result<_>>()?, row_count)
    }

    pub(crate) fn key(&self) -> &KeyCodec {
        &self.key
    }

    /// Comparison of floats in keys and indexes.
    pub(crate) fn floats(&self) -> FloatKeys {
        self.floats
    }

    pub(crate) fn values(&self) -> &ValueCodec {
        &self.values
    }

    /// The number of a column, which it keeps in all versions.
    pub(crate) fn id(&self, column: usize) -> u32 {
        self.ids[column]
    }

    /// The place of the column with this number.
    pub(crate) fn place_of_id(&self, id: u32) -> Option<usize> {
        self.ids.binary_search(&id).ok()
    }

    /// Whether rows that are older than a column have another value than null in it.
    pub(crate) fn has_default(&self, column: usize) -> bool {
        self.defaults[column].is_some()
    }

    /// The default of a column for rows that are older than the column.
    pub(crate) fn default_values(&self, column: usize, row_count: usize) -> Result<ArrayRef> {
        match &self.defaults[column] {
            Some(default) => Ok(take(default, &UInt32Array::from(vec![0; row_count]), None)?),
            None => Ok(new_null_array(self.arrow.field(column).data_type(), row_count)),
        }
    }

    /// The form of strings in which files are read: the one that most likely needs no conversion.
    pub(crate) fn strings(&self) -> Strings {
        if self.arrow.fields().iter().any(|field| has_offsets(field.data_type())) {
            Strings::Offsets
        } else {
            Strings::Views
        }
    }

    /// The place of a column.
    pub(crate) fn column(&self, name: &str) -> Result<usize> {
        let found = self.arrow.column_with_name(name);
        found.map(|(column, _)| column).ok_or_else(|| Error::batch(format!("the table has no column {name:?}")))
    }

    /// The columns of a batch as the table has them: in its order and with its types. A batch with other columns, or with a null where
    /// there may be none, is an error.
    pub(crate) fn conform(&self, batch: &RecordBatch) -> Result<ConformedRows> {
        if let Some(unknown) = batch.schema().fields().iter().find(|field| self.column(field.name()).is_err()) {
            return Err(Error::batch(format!("the batch has a column {:?}, and the table has not", unknown.name())));
        }
        let mut rows = ConformedRows { columns: Vec::new(), categories: None };
        for column in 0..self.arrow.fields().len() {
            let array = self.conform_column(batch, column, &mut rows.categories)?;
            rows.columns.push(array);
        }
        rows.columns = self.with_key_form(rows.columns)?;
        Ok(rows)
    }

    /// The array of a batch as a column of the table. New categories of its dictionary are added to `categories`.
    pub(crate) fn conform_column(
        &self,
        batch: &RecordBatch,
        column: usize,
        categories: &mut Option<Arc<Categories>>,
    ) -> Result<ArrayRef> {
        let (field, id) = (self.arrow.field(column), self.ids[column]);
        let array = conform_column(self.batch_column(batch, column)?, field)?;
        let Some(own) = self.categories.get(id) else { return Ok(array) };
        let is_ordered = batch.schema_ref().field_with_name(field.name())?.dict_is_ordered() == Some(true);
        match own.extend(field, &array, is_ordered)? {
            Growth::Unchanged => own.apply(&array),
            Growth::Grown(own) => {
                let array = own.apply(&array);
                Arc::make_mut(categories.get_or_insert_with(|| Arc::clone(&self.categories))).set(id, Some(own));
                array
            }
            Growth::TooMany => {
                Arc::make_mut(categories.get_or_insert_with(|| Arc::clone(&self.categories))).set(id, None);
                Ok(array)
            }
        }
    }

    /// All columns of the table, with one form of each float in key columns.
    pub(crate) fn with_key_form(&self, mut columns: Vec<ArrayRef>) -> Result<Vec<ArrayRef>> {
        let keys = self.key.one_form(&self.key.select(&columns))?;
        self.key.columns().iter().zip(keys).for_each(|(&place, key)| columns[place] = key);
        Ok(columns)
    }

    /// The array that a batch has for the column at this place.
    pub(crate) fn batch_column<'b>(&self, batch: &'b RecordBatch, column: usize) -> Result<&'b ArrayRef> {
        let name = self.arrow.field(column).name();
        unique_column(batch, name)?.ok_or_else(|| Error::batch(format!("the batch lacks the column {name:?}")))
    }

    /// The key columns of a batch, as the table has them.
    pub(crate) fn conform_key(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let column = |field: &FieldRef| {
            let array = unique_column(batch, field.name())?;
            let array =
                array.ok_or_else(|| Error::batch(format!("the batch lacks the key column {:?}", field.name())))?;
            conform_column(array, field)
        };
        self.key.one_form(&self.key.fields().iter().map(column).collect::<Result<Vec<_>>>()?)
    }

    /// A batch of all columns with the categories of the table as dictionaries.
    pub(crate) fn with_all_categories(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        if self.categories.is_empty() {
            return Ok(rows.clone());
        }
        let arrays = rows.columns().iter().enumerate();
        let columns = arrays.map(|(column, array)| self.with_column_categories(column, Arc::clone(array)));
        batch(&self.arrow, columns.collect::<Result<_>>()?, rows.num_rows())
    }

    /// The key columns of encoded keys.
    pub(crate) fn decode_keys<'k>(&self, keys: impl IntoIterator<Item = &'k [u8]>) -> Result<Vec<ArrayRef>> {
        let arrays = self.key.columns().iter().zip(self.key.decode(keys)?);
        arrays.map(|(&column, array)| self.with_column_categories(column, array)).collect()
    }

    /// The batch of all columns of the table in the rows with these keys and value columns.
    pub(crate) fn row_batch(
        &self,
        keys: Vec<ArrayRef>,
        values: Vec<ArrayRef>,
        row_count: usize,
    ) -> Result<RecordBatch> {
        let places = self.key.columns().iter().chain(self.values.columns());
        let mut columns = vec![None; self.arrow.fields().len()];
        for (&place, array) in places.zip(keys.into_iter().chain(values)) {
            columns[place] = Some(self.with_column_categories(place, array)?);
        }
        let columns = columns.into_iter().collect::<Option<Vec<_>>>();
        let columns = columns.ok_or_else(|| Error::internal("a hot row lacks a column"))?;
        batch(&self.arrow, columns, row_count)
    }
}

/// The schema with numbers for the fields within columns; the same schema if there are none.
fn file_schema(schema: &SchemaRef, nested: &[Vec<u32>], next_id: u32) -> Result<SchemaRef> {
    if nested.iter().all(Vec::is_empty) {
        return Ok(Arc::clone(schema));
    }
    let numbered = |(field, ids): (&FieldRef, &Vec<u32>)| {
        let is_right = ids.len() == nested_ids(field).len() && ids.iter().all(|&id| id < next_id);
        match ids.is_empty() || is_right {
            true => Ok(with_nested_ids(field, &mut ids.iter().copied())),
            false => Err(Error::corrupt(format!("the fields within column {:?} have other numbers", field.name()))),
        }
    };
    let fields: Vec<Field> = schema.fields().iter().zip(nested).map(numbered).collect::<Result<_>>()?;
    Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

/// A batch, also of no columns.
pub(crate) fn batch(schema: &SchemaRef, columns: Vec<ArrayRef>, row_count: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(row_count));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

fn unique_column<'b>(batch: &'b RecordBatch, name: &str) -> Result<Option<&'b ArrayRef>> {
    let schema = batch.schema_ref();
    let mut found = (0..schema.fields().len()).filter(|&at| schema.field(at).name() == name);
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Err(Error::batch(format!("the batch has two columns {name:?}"))),
        (first, _) => Ok(first.map(|at| batch.column(at))),
    }
}

fn has_offsets(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => true,
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => has_offsets(field.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_offsets(field.data_type())),
        DataType::Dictionary(_, values) => has_offsets(values),
        _ => false,
    }
}
