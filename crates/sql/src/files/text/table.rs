//! Files of CSV and JSON lines as tables: by their names, and by `CREATE EXTERNAL TABLE … STORED AS CSV` or `STORED AS JSON`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray, UInt32Array, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::extension::Uuid;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use arrow_select::take::take;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::{DataFusionError, Result, plan_datafusion_err, plan_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{CreateExternalTable, Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::PartitionStream;
use lath_parquet::{DatasetFile, DatasetOptions, Partitions};
use lath_text::{Error, InferRows, Setting, TextFile, TextFormat, TextOptions, TextRows, is_uuid};

use super::super::external::{column_name, has_no_files};
use super::super::table::{no_change, with_distinct_names};
use super::options::FileOptions;
use crate::error::{blocking, external};
use crate::local_path::local_path;
use crate::scan::{TableFuture, changes_refused_by, create_by, insert_by, scan_by};
use crate::write::{Destination, FileFormat, WriteSettings, file_schema, file_sink, written_folder};

/// The columns of a table that take values of files.
#[derive(Debug, Clone)]
pub(crate) struct CopiedColumns {
    pub(crate) fields: Vec<FieldRef>,
    /// Whether the statement lists them, in the order of the files' columns.
    pub(crate) are_listed: bool,
}

/// The columns that a function reads.
#[derive(Debug, Clone)]
pub(super) enum ReadColumns {
    /// All, with the types that their values have.
    Inferred,
    /// All, some with these types.
    Some(Vec<Field>),
    /// These.
    Declared(SchemaRef),
    /// All, as texts.
    Texts,
}

/// Batches that are read ahead.
const AHEAD: usize = 2;

/// Makes tables of `CREATE EXTERNAL TABLE`.
#[derive(Debug)]
pub(crate) struct TextTables {
    pub(crate) format: TextFormat,
    pub(crate) settings: WriteSettings,
}

/// A table of files, which each query lists again.
#[derive(Debug)]
pub(crate) struct TextTable {
    files: Arc<TextFiles>,
    /// The columns of the files, then of directories.
    schema: SchemaRef,
    partition_by: Vec<String>,
    /// Settings of INSERT, unless the table is made of a name of files.
    settings: Option<WriteSettings>,
}

/// Locations and options of files.
#[derive(Debug, Clone)]
struct TextFiles {
    locations: Vec<String>,
    format: TextFormat,
    options: FileOptions,
    /// Options for the columns of directories.
    partitions: DatasetOptions,
    /// The name of a column with the file of each row.
    file_name: Option<String>,
    /// Whether there may be none: the columns are known without.
    may_be_none: bool,
}

impl TextTables {
    async fn make(&self, command: &CreateExternalTable) -> Result<Arc<dyn TableProvider>> {
        if !command.order_exprs.is_empty() {
            return plan_err!("WITH ORDER: nothing sorts rows of text, or checks their order; leave it out");
        }
        let mut options = FileOptions::parse(self.format, &command.options)?;
        let named: Vec<String> = command.table_partition_cols.iter().map(|text| column_name(text)).collect();
        let declared = (!command.schema.fields().is_empty()).then(|| Arc::clone(command.schema.inner()));
        let mut partitions = DatasetOptions::new();
        if let Some(schema) = &declared {
            partitions = partitions.partitions(!named.is_empty());
            for column in &named {
                partitions = partitions.partition_type(column, schema.field_with_name(column)?.data_type().clone());
            }
            let fields = schema.fields().iter().filter(|field| !named.contains(field.name()));
            options.text.columns = Some(Arc::new(Schema::new(fields.cloned().collect::<Fields>())));
        }
        let files = TextFiles {
            locations: command.locations.clone(),
            format: self.format,
            options,
            partitions,
            file_name: None,
            may_be_none: declared.is_some(),
        };
        let table = blocking(move || TextTable::new(files, declared.as_ref(), &named)).await?;
        Ok(Arc::new(TextTable { settings: Some(self.settings.clone()), ..table }))
    }
}

impl TableProviderFactory for TextTables {
    create_by!(TextTables, make);
}

impl TextTable {
    /// The files that a name stands for.
    pub(crate) fn from_name(name: &str, format: TextFormat) -> TableFuture<'_> {
        let files = TextFiles {
            locations: vec![name.to_owned()],
            format,
            options: FileOptions::default(),
            partitions: DatasetOptions::new(),
            file_name: None,
            may_be_none: false,
        };
        Box::pin(async { Ok(Arc::new(blocking(|| Self::new(files, None, &[])).await?) as Arc<dyn TableProvider>) })
    }

    /// The files of a function.
    pub(super) fn read(
        locations: Vec<String>,
        format: TextFormat,
        options: FileOptions,
        partitions: DatasetOptions,
        file_name: Option<String>,
        columns: ReadColumns,
    ) -> Result<Self> {
        let mut files =
            TextFiles { locations, format, options, partitions, file_name: file_name.clone(), may_be_none: false };
        match columns {
            ReadColumns::Inferred => Self::new(files, None, &[]),
            ReadColumns::Some(fields) => {
                let types = fields.iter().map(|field| (field.name().clone(), field.data_type().clone()));
                files.options.text.types = types.collect();
                Ok(Self::new(files, None, &[])?.with_uuids(fields.iter()))
            }
            ReadColumns::Declared(schema) => {
                files.options.text.columns = Some(Arc::clone(&schema));
                files.partitions = files.partitions.partitions(false);
                Ok(Self::new(files, Some(&schema), &[])?.with_uuids(schema.fields().iter().map(AsRef::as_ref)))
            }
            ReadColumns::Texts => {
                let mut names_only = files.clone();
                names_only.options.text.infer_rows = Some(InferRows::First(0));
                let names = Self::new(names_only, None, &[])?;
                let names = names.schema.fields().iter().map(|field| field.name().clone());
                let types = names.filter(|name| Some(name) != file_name.as_ref()).map(|name| (name, DataType::Utf8));
                files.options.text.types = types.collect();
                Self::new(files, None, &[])
            }
        }
    }

    /// Marks the columns that some fields declare as UUIDs.
    fn with_uuids<'f>(self, declared: impl Iterator<Item = &'f Field>) -> Self {
        let uuids: Vec<&str> = declared.filter(|field| is_uuid(field)).map(|field| field.name().as_str()).collect();
        let marked = |field: &FieldRef| match uuids.contains(&field.name().as_str()) {
            true => Arc::new(field.as_ref().clone().with_extension_type(Uuid)),
            false => Arc::clone(field),
        };
        let fields: Fields = self.schema.fields().iter().map(marked).collect();
        Self { schema: Arc::new(Schema::new_with_metadata(fields, self.schema.metadata().clone())), ..self }
    }

    /// The files of COPY FROM, read as the types of the table's columns, and whether they have names of their columns.
    pub(crate) fn copied(
        location: String,
        format: TextFormat,
        options: &HashMap<String, String>,
        columns: &CopiedColumns,
    ) -> Result<(Self, bool)> {
        let mut files = TextFiles {
            locations: vec![location],
            format,
            options: FileOptions::parse(format, options)?,
            partitions: DatasetOptions::new(),
            file_name: None,
            may_be_none: false,
        };
        let has_names = format == TextFormat::JsonLines || files.options.text.header;
        let is_placed = !has_names || columns.are_listed;
        let found = match format {
            TextFormat::JsonLines => Self::new(files.clone(), None, &[])?,
            TextFormat::Csv => {
                let mut names_only = files.clone();
                names_only.options.text.infer_rows = Some(InferRows::First(0));
                Self::new(names_only, None, &[])?
            }
        };
        let mut types: Vec<Field> = Vec::new();
        let fields = found.schema.fields().iter().enumerate();
        for (place, field) in fields.filter(|(_, field)| !found.partition_by.contains(field.name())) {
            let target = match is_placed {
                true => columns.fields.get(place),
                false => {
                    columns.fields.iter().find(|target| target.name().to_lowercase() == field.name().to_lowercase())
                }
            };
            let target = target.filter(|target| format == TextFormat::JsonLines || !target.data_type().is_nested());
            types.extend(target.map(|target| target.as_ref().clone().with_name(field.name()).with_nullable(true)));
        }
        files.options.text.types_of = Some(("the table".to_owned(), Arc::new(Schema::new(types))));
        Ok((Self::new(files, None, &[])?, has_names))
    }

    fn new(files: TextFiles, declared: Option<&SchemaRef>, partition_by: &[String]) -> Result<Self> {
        let paths = files.find()?;
        let partitions = files.partitions(&paths)?;
        let found: Vec<String> = partitions.columns().iter().map(|column| column.field().name().clone()).collect();
        if !partition_by.is_empty() && !paths.is_empty() && partition_by != found {
            return plan_err!(
                "the files are partitioned by ({}), and not by ({})",
                found.join(", "),
                partition_by.join(", ")
            );
        }
        // All files are looked into, so that one that does not fit is an error now.
        let schemas = paths.iter().map(|path| Ok(with_distinct_names(&files.open(path)?.schema)));
        let schemas = schemas.collect::<Result<Vec<SchemaRef>>>()?;
        let schema = match declared {
            Some(declared) => Arc::clone(declared),
            None => {
                let united = lath_parquet::unite_schemas(&with_common_types(&schemas))
                    .map_err(|error| DataFusionError::Plan(error.to_string()))?;
                let of_files = united.fields().iter().filter(|field| !found.contains(field.name()));
                let of_folders = partitions.columns().iter().map(lath_parquet::PartitionColumn::field);
                Arc::new(Schema::new(of_files.chain(of_folders).cloned().collect::<Fields>()))
            }
        };
        let partition_by = if found.is_empty() { partition_by.to_vec() } else { found };
        let schema = match &files.file_name {
            Some(name) if schema.column_with_name(name).is_some() => {
                return plan_err!("there is a column {name} already; choose another name");
            }
            Some(name) => {
                let column = Arc::new(Field::new(name, DataType::Utf8, false));
                Arc::new(Schema::new(schema.fields().iter().cloned().chain([column]).collect::<Fields>()))
            }
            None => schema,
        };
        Ok(Self { files: Arc::new(files), schema, partition_by, settings: None })
    }

    async fn plan_scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (files, schema) = (Arc::clone(&self.files), Arc::clone(&self.schema));
        let parts = blocking(move || text_parts(&files, &schema)).await?;
        StreamingTable::try_new(Arc::clone(&self.schema), parts)?.scan(state, projection, filters, limit).await
    }

    /// Adds a file in the dialect that is read.
    async fn plan_insert(
        &self,
        _: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if op != InsertOp::Append {
            return plan_err!("rows of text files cannot be replaced; use INSERT INTO to add rows");
        }
        let ([location], Some(settings)) = (self.files.locations.as_slice(), &self.settings) else {
            return plan_err!("INSERT needs a table with one folder, which CREATE EXTERNAL TABLE makes");
        };
        let path = written_folder(location)?;
        file_schema(&self.schema, &self.partition_by)?;
        let format = FileFormat::Text(self.files.options.written(self.files.format));
        file_sink(input, &self.schema, Destination::Folder { path }, self.partition_by.clone(), format, settings)
            .map_err(|error| plan_datafusion_err!("{location}: {error}"))
    }
}

impl TableProvider for TextTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    scan_by!(TextTable, plan_scan);

    insert_by!(TextTable, plan_insert);

    changes_refused_by!(|_| no_change());
}

impl TextFiles {
    /// Lists the existing files. Blocks on I/O, like all functions below.
    fn find(&self) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let plain = DatasetOptions::new().plain_files(true);
        for location in &self.locations {
            let Some(path) = local_path(location) else { return only_parquet(location) };
            if self.may_be_none && has_no_files(std::slice::from_ref(location)) {
                continue;
            }
            let is_folder = path.is_dir();
            let location = if is_folder { all_below(&path.to_string_lossy()) } else { location.clone() };
            let files = DatasetFile::find(&location, &plain).map_err(external)?;
            let paths = files.iter().filter_map(DatasetFile::path).map(PathBuf::from);
            found.extend(paths.filter(|path| !is_folder || TextFormat::from_name(path) == Some(self.format)));
        }
        if found.is_empty() && !self.may_be_none {
            return plan_err!("{}: there are no files", self.locations.join(", "));
        }
        Ok(found)
    }

    fn partitions(&self, paths: &[PathBuf]) -> Result<Partitions> {
        let locations: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
        let locations: Vec<&str> = locations.iter().map(AsRef::as_ref).collect();
        // Types are given for columns that no directory of an empty table has yet.
        let options = if paths.is_empty() { DatasetOptions::new() } else { self.partitions.clone() };
        Partitions::of(&locations, &options).map_err(external)
    }

    /// A file with the types that it has alone.
    fn open(&self, path: &PathBuf) -> Result<TextRows> {
        self.open_with(path, &self.options.text, 1, None)
    }

    fn open_with(
        &self,
        path: &PathBuf,
        options: &TextOptions,
        batch_rows: usize,
        types: Option<&SchemaRef>,
    ) -> Result<TextRows> {
        let file = TextFile::open(path).map_err(failed)?;
        if self.options.compression.is_some_and(|compression| compression != file.compression()) {
            return plan_err!("{}: it is not compressed as the option compression says", path.display());
        }
        file.read(self.format, options, batch_rows, types).map_err(failed)
    }

    /// A file with the types of the table.
    fn open_as(&self, path: &PathBuf, table: &Schema, batch_rows: usize) -> Result<TextRows> {
        if self.options.text.columns.is_some() {
            return self.open_with(path, &self.options.text, batch_rows, None);
        }
        // Nothing is inferred again.
        let options = TextOptions { infer_rows: Some(InferRows::First(0)), ..self.options.text.clone() };
        if self.format == TextFormat::JsonLines {
            return self.open_with(path, &options, batch_rows, Some(&Arc::new(table.clone())));
        }
        let of_file = self.open_with(path, &options, 1, None)?.schema;
        let distinct = with_distinct_names(&of_file);
        let fields = of_file.fields().iter().zip(distinct.fields()).map(|(field, distinct)| {
            match table.field_with_name(distinct.name()) {
                Ok(known) => Arc::new(known.clone().with_name(field.name())),
                Err(_) => Arc::clone(field),
            }
        });
        let types = Arc::new(Schema::new(fields.collect::<Fields>()));
        self.open_with(path, &options, batch_rows, Some(&types))
    }
}

/// A glob of all files below a folder.
fn all_below(folder: &str) -> String {
    let mut glob = String::new();
    for c in folder.trim_end_matches('/').chars() {
        match c {
            '*' | '?' | '[' | ']' => glob.extend(['[', c, ']']),
            other => glob.push(other),
        }
    }
    glob + "/**/*"
}

/// Widens the types of columns to hold the values of all files, as within one file: integers become floats if another file has floats, and
/// anything becomes text if another file has text.
fn with_common_types(schemas: &[SchemaRef]) -> Vec<SchemaRef> {
    let mut common: HashMap<&str, DataType> = HashMap::new();
    for field in schemas.iter().flat_map(|schema| schema.fields()) {
        let data_type = field.data_type();
        let known = common.entry(field.name()).or_insert_with(|| data_type.clone());
        let has = |test: fn(&DataType) -> bool| test(known) || test(data_type);
        if known == data_type || has(DataType::is_nested) {
            continue;
        }
        if has(DataType::is_string) {
            *known = DataType::Utf8;
        } else if has(DataType::is_floating) && has(DataType::is_integer) {
            *known = DataType::Float64;
        }
    }
    let with_types = |schema: &SchemaRef| {
        let fields = schema.fields().iter().map(|field| match common.get(field.name().as_str()) {
            Some(data_type) if data_type == &DataType::Utf8 || data_type.is_floating() => {
                Arc::new(field.as_ref().clone().with_data_type(data_type.clone()))
            }
            _ => Arc::clone(field),
        });
        Arc::new(Schema::new(fields.collect::<Fields>()))
    };
    schemas.iter().map(with_types).collect()
}

/// The files as parts of a scan.
fn text_parts(files: &Arc<TextFiles>, schema: &SchemaRef) -> Result<Vec<Arc<dyn PartitionStream>>> {
    let paths = files.find()?;
    let partitions = files.partitions(&paths)?;
    let parts = paths.into_iter().enumerate().map(|(index, path)| {
        let constants = partitions
            .values(index)
            .into_iter()
            .map(|(column, row)| Ok((column.field().name().clone(), column.values().slice(row, 1))));
        let mut constants: HashMap<String, ArrayRef> = constants.collect::<Result<_>>()?;
        if let Some(name) = &files.file_name {
            let path = StringArray::from_iter_values([path.to_string_lossy()]);
            constants.insert(name.clone(), Arc::new(path));
        }
        let part = TextPart { files: Arc::clone(files), path, schema: Arc::clone(schema), constants };
        Ok(Arc::new(part) as Arc<dyn PartitionStream>)
    });
    parts.collect()
}

/// A file of a table.
#[derive(Debug)]
struct TextPart {
    files: Arc<TextFiles>,
    path: PathBuf,
    schema: SchemaRef,
    /// Columns of directories, by name, with their only value.
    constants: HashMap<String, ArrayRef>,
}

impl PartitionStream for TextPart {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream = RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), AHEAD);
        let (batches, batch_rows) = (stream.tx(), context.session_config().batch_size());
        let part = Self {
            files: Arc::clone(&self.files),
            path: self.path.clone(),
            schema: Arc::clone(&self.schema),
            constants: self.constants.clone(),
        };
        stream.spawn_blocking(move || {
            let rows = part.files.open_as(&part.path, &part.schema, batch_rows)?;
            let columns = part.columns(&rows.schema)?;
            for batch in rows.batches {
                let batch = batch.map_err(failed).and_then(|batch| part.aligned(&batch, &columns));
                let is_last = batch.is_err();
                // The stream that takes the rows may be gone.
                if batches.blocking_send(batch).is_err() || is_last {
                    break;
                }
            }
            Ok(())
        });
        stream.build()
    }
}

impl TextPart {
    /// For each column of the table, its place in the file.
    fn columns(&self, of_file: &SchemaRef) -> Result<Vec<Option<usize>>> {
        let of_file = with_distinct_names(of_file);
        let is_known = |name: &String| self.schema.column_with_name(name).is_some();
        if let Some(field) = of_file.fields().iter().find(|field| !is_known(field.name())) {
            return plan_err!(
                "{}: column {} was not there when the table was made; make the table again",
                self.path.display(),
                field.name()
            );
        }
        let place = |field: &FieldRef| {
            let is_constant = self.constants.contains_key(field.name());
            of_file.index_of(field.name()).ok().filter(|_| !is_constant)
        };
        Ok(self.schema.fields().iter().map(place).collect())
    }

    /// The rows with the columns of the table.
    fn aligned(&self, batch: &RecordBatch, columns: &[Option<usize>]) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let aligned = self.schema.fields().iter().zip(columns).map(|(field, column)| {
            match (column, self.constants.get(field.name())) {
                (Some(at), _) => Ok(Arc::clone(batch.column(*at))),
                (None, Some(value)) => {
                    let strict = CastOptions { safe: false, ..CastOptions::default() };
                    let value = cast_with_options(value, field.data_type(), &strict)?;
                    Ok(take(&value, &UInt32Array::from_value(0, rows), None)?)
                }
                (None, None) => Ok(new_null_array(field.data_type(), rows)),
            }
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch =
            RecordBatch::try_new_with_options(Arc::clone(&self.schema), aligned.collect::<Result<_>>()?, &options);
        batch.map_err(|error| DataFusionError::Execution(format!("{}: {error}", self.path.display())))
    }
}

/// The error of a file, with what helps in SQL.
fn failed(error: Error) -> DataFusionError {
    let advice = match &error {
        Error::Malformed { setting: Some(Setting::Quote), .. } => {
            "; the option quote of CREATE EXTERNAL TABLE … STORED AS CSV sets the quote character"
        }
        Error::Malformed { setting: Some(Setting::Delimiter), .. } => {
            "; the option delimiter of CREATE EXTERNAL TABLE … STORED AS CSV sets another"
        }
        Error::Malformed { setting: Some(Setting::Type { .. }), .. } | Error::Value { .. } => {
            "; CREATE EXTERNAL TABLE … declares the types of columns, and its option infer_rows is how many rows they are inferred from"
        }
        _ => "",
    };
    DataFusionError::Execution(format!("{error}{advice}"))
}

/// The error for a file in a store that is not Parquet.
pub(crate) fn only_parquet<T>(name: &str) -> Result<T> {
    plan_err!("{name}: only Parquet is read from there; download the file")
}
