//! Parquet files as one table, whose rows come as Arrow streams.

mod report;
mod stream;

use std::ffi::{OsStr, c_char};

use lath::arrow::array::ffi::FFI_ArrowSchema;
use lath::arrow::array::ffi_stream::FFI_ArrowArrayStream;
use lath::{Error, Scan, Strings};

use crate::call::call;
use crate::pointers::{Buffer, Pointers};
use crate::status::{Failure, Status};

/// For `lath_dataset_open`: the table has the columns of all files, with nulls for columns that a file lacks. Without
/// it, all files must have the same columns.
pub const LATH_UNION_SCHEMAS: u32 = 1;
/// For `lath_dataset_open`: directories called `key=value` do not become columns.
pub const LATH_NO_PARTITIONS: u32 = 2;

/// Files that are read as one table. Any number of threads may use it at once.
#[derive(Debug)]
pub struct Dataset(lath::Dataset);

/// Selects the rows and columns of a scan, and how it runs. A structure of zeros reads everything.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ScanOptions {
    /// A condition in SQL, as `lath find` takes it: `minutes > 45 AND "from" = 'Harbour'`. Null for all rows.
    pub filter: *const c_char,
    /// The paths of the selected columns, `rider.plan` for a field within a struct. Null for all columns.
    pub columns: *const *const c_char,
    /// Their number. If `columns` is not null, zero selects no columns: batches have numbers of rows only.
    pub column_count: usize,
    /// The maximum number of rows; 0 for all.
    pub limit: u64,
    /// The maximum number of rows in a batch; 0 for the default.
    pub batch_size: usize,
    /// The number of threads; 0 for the number of processor cores, or of concurrent requests for remote files.
    pub threads: usize,
    /// Whether strings and binary values may be Arrow views, which is faster. Otherwise they have offsets, which every
    /// version of Arrow understands.
    pub string_views: bool,
    /// Whether batches may come in any order, which is faster.
    pub unordered: bool,
}

/// Opens files as one table: paths of files and directories, globs, and URLs of object stores.
///
/// `flags` is 0, or `LATH_UNION_SCHEMAS`, `LATH_NO_PARTITIONS` or both. Free the dataset with `lath_dataset_free`.
///
/// # Safety
/// `locations` points to `location_count` texts in UTF-8 that end with a zero byte, `dataset` to room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_dataset_open(
    locations: *const *const c_char,
    location_count: usize,
    flags: u32,
    dataset: *mut *mut Dataset,
) -> Status {
    let work = |pointers: Pointers| {
        let locations = pointers.texts("locations", locations, location_count)?;
        if flags & !(LATH_UNION_SCHEMAS | LATH_NO_PARTITIONS) != 0 {
            return Err(Failure::invalid(format!("the flags {flags:#x} include an unknown one")));
        }
        pointers.check_write("dataset", dataset)?;
        let options = lath::DatasetOptions::new()
            .union_schemas(flags & LATH_UNION_SCHEMAS != 0)
            .partitions(flags & LATH_NO_PARTITIONS == 0);
        let opened = lath::Dataset::open(locations.iter().map(OsStr::new), options)?;
        pointers.give("dataset", dataset, Dataset(opened))
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Closes a dataset; null is allowed. Streams that were created from it stay valid.
///
/// # Safety
/// `dataset` is null, or comes from `lath_dataset_open` and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_dataset_free(dataset: *mut Dataset) {
    let work = |pointers: Pointers| pointers.take("dataset", dataset).map(drop);
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) };
}

/// The names and types of the columns, as a struct. The caller must call `schema->release(schema)`.
///
/// # Safety
/// `dataset` comes from `lath_dataset_open`; `schema` points to room for a structure, whose old contents are ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_dataset_schema(dataset: *const Dataset, schema: *mut FFI_ArrowSchema) -> Status {
    let work = |pointers: Pointers| {
        let dataset = pointers.get("dataset", dataset)?;
        // The schema of a scan, which has strings in another form than the file.
        let columns = scan(dataset, None)?.strings(Strings::Offsets).build()?.schema();
        let columns = FFI_ArrowSchema::try_from(&*columns).map_err(|error| Failure::invalid(error.to_string()))?;
        pointers.write("schema", schema, columns)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// The number of rows that satisfy a condition, or of all rows if `filter` is null. Reads only what is needed: for all
/// rows, only the files' footers.
///
/// # Safety
/// `dataset` comes from `lath_dataset_open`; `filter` is null or a text in UTF-8 that ends with a zero byte; `rows` points to room for
/// a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_dataset_count(dataset: *const Dataset, filter: *const c_char, rows: *mut u64) -> Status {
    let work = |pointers: Pointers| {
        let dataset = pointers.get("dataset", dataset)?;
        let filter = pointers.optional_text("filter", filter)?;
        pointers.write("rows", rows, scan(dataset, filter)?.count()?)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Reads rows as a stream of Arrow record batches. Work begins when the first batch is requested. The stream may move
/// between threads; one thread at a time may use it. Errors while reading are reported by its `get_last_error`. The
/// caller must call `stream->release(stream)`, at any time.
///
/// # Safety
/// `dataset` comes from `lath_dataset_open`; `options` is null or points to a structure with valid pointers, which is
/// read only during this call; `stream` points to room for a structure, whose old contents are ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_dataset_scan(
    dataset: *const Dataset,
    options: *const ScanOptions,
    stream: *mut FFI_ArrowArrayStream,
) -> Status {
    let work = |pointers: Pointers| {
        let dataset = pointers.get("dataset", dataset)?;
        pointers.check_write("stream", stream)?;
        let mut scan = scan(dataset, None)?.strings(Strings::Offsets);
        if !options.is_null() {
            let options = pointers.get("options", options)?;
            scan = chosen(self::scan(dataset, pointers.optional_text("filter", options.filter)?)?, options, pointers)?;
        }
        pointers.write("stream", stream, stream::stream(scan.build()?))
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Finds the rows that satisfy a condition, and writes to `text` what was pruned and what was read, in lines. Free
/// `text` with `lath_buffer_free`.
///
/// # Safety
/// `dataset` comes from `lath_dataset_open`; `filter` is a text in UTF-8 that ends with a zero byte; `text` points to
/// room for a buffer, whose old contents are ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_dataset_explain(
    dataset: *const Dataset,
    filter: *const c_char,
    text: *mut Buffer,
) -> Status {
    let work = |pointers: Pointers| {
        let dataset = pointers.get("dataset", dataset)?;
        let filter = pointers.text("filter", filter)?;
        pointers.check_write("text", text)?;
        let batches = scan(dataset, Some(filter))?.select(Vec::<String>::new()).build()?;
        let progress = batches.progress();
        batches.count_rows()?;
        pointers.write("text", text, Buffer::new(report::as_text(&progress.report()).as_bytes()))
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// A scan of the rows that satisfy a condition.
fn scan(dataset: &Dataset, filter: Option<&str>) -> Result<Scan, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if filter.is_none() { cores } else { cores.max(dataset.0.concurrency()) };
    let scan = dataset.0.scan().threads(threads);
    Ok(match filter {
        Some(filter) => scan.filter(filter)?,
        None => scan,
    })
}

fn chosen(mut scan: Scan, options: &ScanOptions, pointers: Pointers) -> Result<Scan, Failure> {
    if !options.columns.is_null() {
        scan = scan.select(pointers.texts("columns", options.columns, options.column_count)?);
    } else if options.column_count > 0 {
        return Err(Failure::invalid("columns is a null pointer, but column_count is not zero"));
    }
    if options.limit > 0 {
        scan = scan.limit(options.limit);
    }
    if options.batch_size > 0 {
        scan = scan.batch_size(options.batch_size);
    }
    if options.threads > 0 {
        scan = scan.threads(options.threads);
    }
    let strings = if options.string_views { Strings::Views } else { Strings::Offsets };
    Ok(scan.strings(strings).unordered(options.unordered))
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::Corrupt { .. } => Status::Corrupt,
            Error::NotParquet { .. } => Status::NotParquet,
            Error::Encrypted { .. } => Status::Encrypted,
            Error::Unsupported { .. } => Status::Unsupported,
            Error::OutOfRange { .. } => Status::OutOfRange,
            Error::Limit { .. } => Status::Limit,
            Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => Status::NotFound,
            Error::Io { .. } => Status::Io,
            Error::Invalid { .. } => Status::Invalid,
            Error::Cancelled => Status::Cancelled,
            _ => Status::Internal,
        };
        Self::new(status, error.to_string())
    }
}
