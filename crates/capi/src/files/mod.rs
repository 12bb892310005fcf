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

/// For `lath_dataset_open`: columns of any file are columns of the table, and null where a file has them not. Otherwise the files have
/// the same columns.
pub const LATH_UNION_SCHEMAS: u32 = 1;
/// For `lath_dataset_open`: directories called `key=value` are no columns.
pub const LATH_NO_PARTITIONS: u32 = 2;

/// Files that are read as one table. Any number of threads may use it at once.
#[derive(Debug)]
pub struct Dataset(lath::Dataset);

/// Which rows and columns a scan reads, and how. A structure of zeros reads everything.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ScanOptions {
    /// A condition in SQL, as `lath find` takes it: `minutes > 45 AND "from" = 'Harbour'`. Null for all rows.
    pub filter: *const c_char,
    /// The paths of the columns wanted, `rider.plan` for a field within a struct. Null for all columns.
    pub columns: *const *const c_char,
    /// Their number. With a pointer that is not null, zero columns are none: batches have numbers of rows only.
    pub column_count: usize,
    /// The maximum number of rows; 0 for all.
    pub limit: u64,
    /// The maximum number of rows in a batch; 0 for what Lath chooses.
    pub batch_size: usize,
    /// The number of threads; 0 for as many as there are processor cores, or requests in flight for files that are far away.
    pub threads: usize,
    /// Whether strings and binary values may come as Arrow's views, which is faster; otherwise they come with offsets, which every
    /// version of Arrow understands.
    pub string_views: bool,
    /// Whether batches may come in any order, which is faster.
    pub unordered: bool,
}

/// Opens files as one table: paths of files and directories, globs, and URLs of object stores.
///
/// `flags` is 0, or `LATH_UNION_SCHEMAS`, `LATH_NO_PARTITIONS` or both. Give the dataset to `lath_dataset_free` in the end.
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
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) }
}

/// Closes a dataset; null is allowed. Streams that were made of it go on.
///
/// # Safety
/// `dataset` is null, or comes from `lath_dataset_open` and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_dataset_free(dataset: *mut Dataset) {
    let work = |pointers: Pointers| pointers.take("dataset", dataset).map(drop);
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) };
}

/// The names and types of the columns, as a struct. The caller calls `schema->release(schema)` in the end.
///
/// # Safety
/// `dataset` comes from `lath_dataset_open`; `schema` points to room for a structure, of which nothing is read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_dataset_schema(dataset: *const Dataset, schema: *mut FFI_ArrowSchema) -> Status {
    let work = |pointers: Pointers| {
        let dataset = pointers.get("dataset", dataset)?;
        // Of what a scan gives, whose strings come in another form.
        let columns = scan(dataset, None)?.strings(Strings::Offsets).build()?.schema();
        let columns = FFI_ArrowSchema::try_from(&*columns).map_err(|error| Failure::invalid(error.to_string()))?;
        pointers.write("schema", schema, columns)
    };
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) }
}

/// The number of rows for which a condition is true, or of all rows if `filter` is null. Nothing is read that takes no part in it: for
/// all rows, only the files' footers.
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
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) }
}

/// Reads rows as a stream of Arrow record batches. Work begins when the first batch is asked for. The stream can be used on any
/// thread, by one at a time; what goes wrong while it is read is in its `get_last_error`. The caller calls `stream->release(stream)` in
/// the end, at any time.
///
/// # Safety
/// `dataset` comes from `lath_dataset_open`; `options` is null or points to a structure whose pointers are as it says, and which is read
/// during this call only; `stream` points to room for a structure, of which nothing is read.
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
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) }
}

/// Finds the rows for which a condition is true, and writes to `text` what was ruled out without reading it and what was read, in lines.
/// Give `text` to `lath_buffer_free` in the end.
///
/// # Safety
/// `dataset` comes from `lath_dataset_open`; `filter` is a text in UTF-8 that ends with a zero byte; `text` points to room for a buffer,
/// of which nothing is read.
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
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) }
}

/// A scan of the rows for which a condition is true.
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
