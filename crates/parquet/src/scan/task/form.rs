//! The written form of tasks and plans, which `docs/formats/tasks.md` describes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use lath_format::schema::{encode_arrow_schema, guard};
use lath_predicate::{BindContext, Predicate};
use lath_source::Version;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{How, ScanPlan, ScanTask};
use crate::dataset::{Dataset, DatasetFile, DatasetOptions, PartitionColumn};
use crate::error::{Error, Result};
use crate::file::OpenOptions;
use crate::options::{Int96Unit, Strings};
use crate::scan::deletes::DeleteMask;
use crate::scan::planner::Planner;
use crate::scan::target::{Target, VirtualColumns};
use crate::schema::{ArrowLayout, decode_arrow_schema};

/// The version of the form that is written, and the only one that is read.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskForm {
    lath_scan_task: u32,
    scan: ScanForm,
    file: FileForm,
    rows: RowsForm,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanForm {
    lath_scan_plan: u32,
    scan: ScanForm,
    files: Vec<FileForm>,
    tasks: Vec<PlannedRowsForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlannedRowsForm {
    file: usize,
    rows: RowsForm,
}

/// What all tasks of a scan have in common.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScanForm {
    /// Arrow schemas as Parquet files have them.
    schema: String,
    columns: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paths: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file_name_column: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    row_number_column: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    predicate: Option<String>,
    strings: StringsForm,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dictionary_columns: Vec<String>,
    int96: Int96Form,
    arrow_schema_hint: bool,
    batch_size: usize,
    verify_crc: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StringsForm {
    Views,
    Offsets,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Int96Form {
    Nanoseconds,
    Microseconds,
    Milliseconds,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileForm {
    location: String,
    /// Where that is not the whole path of a local file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    version: VersionForm,
    /// A batch of one row with a column for each partition column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partition: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deleted: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum VersionForm {
    Local { len: u64, modified: (i64, i64), inode: u64, changed: (i64, i64) },
    Store { len: u64, tag: String },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowsForm {
    row_group: usize,
    ranges: Vec<(u64, u64)>,
    /// All of them are wanted.
    settled: bool,
    row_count: u64,
    byte_count: u64,
}

impl ScanForm {
    fn new(planner: &Planner, how: How) -> Result<Self> {
        let dataset = &planner.dataset;
        let (follows_hint, int96_unit) = match dataset.files().first() {
            Some(file) => file.options().open().schema_choices(),
            None => OpenOptions::new().schema_choices(),
        };
        let predicate = planner.predicate.as_ref().map(Predicate::to_string);
        if let Some(text) = &predicate {
            // One that was built in Rust may be deeper than text may be.
            Predicate::parse(text).map_err(|error| Error::invalid(format!("a predicate that is written: {error}")))?;
        }
        let target = &planner.target;
        Ok(Self {
            schema: encode_arrow_schema(&needed_schema(planner)),
            columns: encode_arrow_schema(&target.of_files),
            paths: target.paths.clone(),
            file_name_column: target.virtual_columns.file_name.clone(),
            row_number_column: target.virtual_columns.row_number.clone(),
            predicate,
            strings: match planner.layout.strings {
                Strings::Views => StringsForm::Views,
                Strings::Offsets => StringsForm::Offsets,
            },
            dictionary_columns: planner.layout.dictionary_columns.clone(),
            int96: match int96_unit {
                Int96Unit::Nanoseconds => Int96Form::Nanoseconds,
                Int96Unit::Microseconds => Int96Form::Microseconds,
                Int96Unit::Milliseconds => Int96Form::Milliseconds,
            },
            arrow_schema_hint: follows_hint,
            batch_size: how.batch_size,
            verify_crc: how.verify_crc,
        })
    }

    /// The planner of tasks about `files`.
    fn into_planner(self, files: Vec<FileForm>, limit: u64) -> Result<(Planner, How)> {
        let int96_unit = match self.int96 {
            Int96Form::Nanoseconds => Int96Unit::Nanoseconds,
            Int96Form::Microseconds => Int96Unit::Microseconds,
            Int96Form::Milliseconds => Int96Unit::Milliseconds,
        };
        let open = OpenOptions::new().arrow_schema_hint(self.arrow_schema_hint).int96_unit(int96_unit);
        let options = Arc::new(DatasetOptions::new().open_options(open));
        let strings = match self.strings {
            StringsForm::Views => Strings::Views,
            StringsForm::Offsets => Strings::Offsets,
        };
        if self.batch_size == 0 {
            return Err(Error::invalid("a batch size of 0 rows"));
        }
        let schema = decode_arrow_schema(&self.schema)?;
        let of_files: SchemaRef = Arc::new(decode_arrow_schema(&self.columns)?);
        let virtual_columns = VirtualColumns { file_name: self.file_name_column, row_number: self.row_number_column };
        let target = Target::new(of_files, self.paths.as_deref(), &virtual_columns, strings)?;
        let (partitions, rows) = partitions(&files)?;
        let mut deleted = BTreeMap::new();
        let mut dataset_files = Vec::with_capacity(files.len());
        for ((at, file), partition) in files.into_iter().enumerate().zip(rows) {
            if let Some(mask) = &file.deleted {
                deleted.insert(at, Arc::new(DeleteMask::from_bytes(&decoded(mask)?)?));
            }
            let (path, version) = (file.path.as_deref(), file.version.version()?);
            dataset_files.push(DatasetFile::described(&file.location, path, version, partition, &options)?);
        }
        let planner = Planner {
            predicate: self.predicate.as_deref().map(Predicate::parse).transpose()?,
            deleted,
            layout: ArrowLayout { strings, dictionary_columns: self.dictionary_columns },
            limit,
            ..Planner::new(Dataset::described(dataset_files, partitions, &schema), Arc::new(target))
        };
        Ok((planner, How { batch_size: self.batch_size, verify_crc: self.verify_crc }))
    }
}

/// The columns of the dataset's files that the result has or that the predicate asks for: a file may lack them.
fn needed_schema(planner: &Planner) -> Schema {
    let dataset = &planner.dataset;
    let whole = dataset.schema();
    let of_files = &whole.fields()[..dataset.file_column_count()];
    let bound = planner.predicate.as_ref().map(|predicate| predicate.bind(&BindContext::new(whole)));
    let is_asked = |name: &str| match &bound {
        None => false,
        Some(Ok(bound)) => bound.columns.iter().any(|column| crate::dataset::is_at_or_below(&column.path, name)),
        Some(Err(_)) => true,
    };
    let is_needed = |name: &String| planner.target.of_files.column_with_name(name).is_some() || is_asked(name);
    let fields = of_files.iter().filter(|field| is_needed(field.name())).cloned();
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), whole.metadata().clone())
}

impl FileForm {
    fn new(planner: &Planner, file: usize, version: Option<&Version>) -> Result<Self> {
        let entry = &planner.dataset.files()[file];
        let location = entry.location();
        let no_location = || {
            Error::invalid(format!(
                "{location:?}: a task can only be written for a file that was found by its path or URL, not for one that was \
                 given open"
            ))
        };
        let version = version.filter(|_| !entry.is_given_open()).ok_or_else(no_location)?;
        let path = match entry.path() {
            None => None,
            Some(path) => {
                let whole = std::path::absolute(path).map_err(|error| Error::io("find", error))?;
                let whole = whole.to_str().ok_or_else(|| {
                    Error::invalid(format!("{location}: a path that is not Unicode cannot be written into a task"))
                })?;
                (whole != location).then(|| whole.to_owned())
            }
        };
        let partitions = planner.dataset.partitions();
        let values = partitions.iter().zip(entry.partition());
        let values: Vec<(_, ArrayRef)> =
            values.map(|(column, &row)| (column.field(), alone(&column.values().slice(row as usize, 1)))).collect();
        Ok(Self {
            location: location.to_owned(),
            path,
            version: VersionForm::new(version),
            partition: (!values.is_empty()).then(|| encode_row(values)).transpose()?,
            deleted: planner.deleted.get(&file).map(|mask| BASE64_STANDARD.encode(mask.to_bytes())),
        })
    }
}

impl VersionForm {
    fn new(version: &Version) -> Self {
        match version {
            Version::Local { len, modified, identity, changed } => {
                Self::Local { len: *len, modified: *modified, inode: identity.1, changed: *changed }
            }
            #[cfg(feature = "object-store")]
            Version::Store { len, tag } => Self::Store { len: *len, tag: tag.to_string() },
        }
    }

    fn version(&self) -> Result<Version> {
        match self {
            Self::Local { len, modified, inode, changed } => {
                Ok(Version::Local { len: *len, modified: *modified, identity: (0, *inode), changed: *changed })
            }
            #[cfg(feature = "object-store")]
            Self::Store { len, tag } => Ok(Version::Store { len: *len, tag: tag.as_str().into() }),
            #[cfg(not(feature = "object-store"))]
            Self::Store { .. } => Err(Error::unsupported("files in object stores (feature object-store)")),
        }
    }
}

/// For each partition column of a file, the row of its value.
type ValueRows = Box<[u32]>;

/// The partition columns of files, and for each file the rows of their values.
fn partitions(files: &[FileForm]) -> Result<(Vec<PartitionColumn>, Vec<ValueRows>)> {
    let rows = files.iter().map(|file| file.partition.as_deref().map(decode_row).transpose());
    let rows = rows.collect::<Result<Vec<Option<RecordBatch>>>>()?;
    let Some(Some(first)) = rows.first() else {
        return match rows.iter().any(Option::is_some) {
            true => Err(Error::invalid("files with and without partition columns")),
            false => Ok((Vec::new(), vec![Box::default(); files.len()])),
        };
    };
    let schema = first.schema();
    let all: Option<Vec<&RecordBatch>> = rows.iter().map(Option::as_ref).collect();
    let all = all.filter(|rows| rows.iter().all(|row| row.schema() == schema));
    let all = all.ok_or_else(|| Error::invalid("files with different partition columns"))?;
    let values = concat_batches(&schema, all).map_err(|error| Error::of_arrow(&error))?;
    let columns = schema.fields().iter().zip(values.columns());
    let columns: Vec<_> =
        columns.map(|(field, values)| PartitionColumn::new(Arc::clone(field), Arc::clone(values))).collect();
    // Fewer than 2³² of them fit a text.
    let rows = (0..files.len()).map(|row| vec![row as u32; columns.len()].into()).collect();
    Ok((columns, rows))
}

impl RowsForm {
    fn new(task: &ScanTask) -> Self {
        Self {
            row_group: task.row_group,
            ranges: task.rows.iter().map(|range| (range.start, range.end)).collect(),
            settled: task.is_settled,
            row_count: task.row_count,
            byte_count: task.byte_count,
        }
    }

    fn into_task(self, planner: &Arc<Planner>, how: How, file: usize, version: Version) -> Result<ScanTask> {
        let rows: Vec<Range<u64>> = self.ranges.into_iter().map(|(start, end)| start..end).collect();
        let is_sorted = rows.windows(2).all(|pair| pair[0].end <= pair[1].start);
        if !is_sorted || rows.iter().any(Range::is_empty) {
            return Err(Error::invalid("ranges of rows have to be sorted, disjoint and not empty"));
        }
        Ok(ScanTask {
            planner: Arc::clone(planner),
            how,
            file,
            version: Some(version),
            row_group: self.row_group,
            rows,
            row_count: self.row_count,
            byte_count: self.byte_count,
            is_settled: self.settled,
            open: None,
        })
    }
}

impl Serialize for ScanTask {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = || {
            Ok::<_, Error>(TaskForm {
                lath_scan_task: VERSION,
                scan: ScanForm::new(&self.planner, self.how)?,
                file: FileForm::new(&self.planner, self.file, self.version.as_ref())?,
                rows: RowsForm::new(self),
            })
        };
        form().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ScanTask {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = TaskForm::deserialize(deserializer)?;
        let task = || {
            check_version(form.lath_scan_task)?;
            let version = form.file.version.version()?;
            let (planner, how) = form.scan.into_planner(vec![form.file], u64::MAX)?;
            form.rows.into_task(&Arc::new(planner), how, 0, version)
        };
        task().map_err(serde::de::Error::custom)
    }
}

impl Serialize for ScanPlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = || {
            let Some(first) = self.tasks.first() else {
                return Err(Error::invalid("a plan without tasks has nothing that could be written"));
            };
            let planner = &first.planner;
            let mut places = BTreeMap::new();
            let mut files = Vec::new();
            let mut tasks = Vec::with_capacity(self.tasks.len());
            for task in &self.tasks {
                let file = match places.get(&task.file) {
                    Some(&file) => file,
                    None => {
                        files.push(FileForm::new(planner, task.file, task.version.as_ref())?);
                        places.insert(task.file, files.len() - 1);
                        files.len() - 1
                    }
                };
                tasks.push(PlannedRowsForm { file, rows: RowsForm::new(task) });
            }
            let scan = ScanForm::new(planner, first.how)?;
            Ok(PlanForm { lath_scan_plan: VERSION, scan, files, tasks, limit: self.limit() })
        };
        form().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ScanPlan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = PlanForm::deserialize(deserializer)?;
        let plan = || {
            check_version(form.lath_scan_plan)?;
            let limit = form.limit.unwrap_or(u64::MAX);
            let versions = form.files.iter().map(|file| file.version.version()).collect::<Result<Vec<_>>>()?;
            let (planner, how) = form.scan.into_planner(form.files, limit)?;
            let planner = Arc::new(planner);
            let tasks = form.tasks.into_iter().map(|PlannedRowsForm { file, rows }| {
                let version = versions.get(file).cloned();
                let version =
                    version.ok_or_else(|| Error::invalid(format!("a task of file {file}, which there is not")));
                rows.into_task(&planner, how, file, version?)
            });
            Ok::<_, Error>(Self::new(Arc::clone(&planner.target.schema), tasks.collect::<Result<_>>()?, limit))
        };
        plan().map_err(serde::de::Error::custom)
    }
}

fn check_version(version: u32) -> Result<()> {
    if version == VERSION {
        return Ok(());
    }
    Err(Error::unsupported(format!("version {version} of the written form of tasks; this is version {VERSION}")))
}

fn decoded(text: &str) -> Result<Vec<u8>> {
    BASE64_STANDARD.decode(text).map_err(|error| Error::invalid(format!("text that is not base64: {error}")))
}

/// A value without the strings of others that lie beside it.
fn alone(value: &ArrayRef) -> ArrayRef {
    match value.data_type() {
        DataType::Utf8View => Arc::new(value.as_string_view().gc()),
        DataType::BinaryView => Arc::new(value.as_binary_view().gc()),
        _ => Arc::clone(value),
    }
}

/// A batch of one row, as an Arrow stream in base64.
fn encode_row(values: Vec<(&FieldRef, ArrayRef)>) -> Result<String> {
    let (fields, values): (Vec<_>, Vec<_>) =
        values.into_iter().map(|(field, value)| (Arc::clone(field), value)).unzip();
    let schema = Arc::new(Schema::new(fields));
    let write = || {
        let row = RecordBatch::try_new(Arc::clone(&schema), values)?;
        let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
        writer.write(&row)?;
        writer.into_inner()
    };
    write().map(|bytes| BASE64_STANDARD.encode(bytes)).map_err(|error| Error::of_arrow(&error))
}

fn decode_row(text: &str) -> Result<RecordBatch> {
    let bytes = decoded(text)?;
    // What reads Arrow streams panics at some that are malformed.
    let row = guard(|| {
        let mut batches = StreamReader::try_new(bytes.as_slice(), None)?;
        Ok(batches.next().transpose()?)
    });
    let row = row.map_err(|error| Error::invalid(format!("values of partition columns: {error}")))?;
    row.filter(|row| row.num_rows() == 1).ok_or_else(|| Error::invalid("values of partition columns: not one row"))
}
