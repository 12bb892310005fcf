//! Reads files through the C interface.
#![cfg(feature = "files")]
#![expect(unsafe_code, reason = "calls functions of the C interface")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::ffi::{CStr, CString, c_char};
use std::ptr::{null, null_mut};

use lath::arrow::array::ffi::FFI_ArrowSchema;
use lath::arrow::array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use lath::arrow::schema::Schema;
use lath_capi::*;

const TRIPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/trips");

fn message() -> String {
    // SAFETY: the text ends with a zero byte and stays until the next error of this thread.
    unsafe { CStr::from_ptr(lath_last_error_message()) }.to_str().unwrap().to_owned()
}

fn open(location: &str, flags: u32) -> Result<*mut Dataset, Status> {
    let location = CString::new(location).unwrap();
    let locations = [location.as_ptr()];
    let mut dataset = null_mut();
    // SAFETY: one text, and room for a pointer.
    let status = unsafe { lath_dataset_open(locations.as_ptr(), 1, flags, &raw mut dataset) };
    if status == Status::Ok { Ok(dataset) } else { Err(status) }
}

fn options() -> ScanOptions {
    ScanOptions {
        filter: null(),
        columns: null(),
        column_count: 0,
        limit: 0,
        batch_size: 0,
        threads: 0,
        string_views: false,
        unordered: false,
    }
}

#[test]
fn a_scan_gives_the_rows_and_columns_that_were_asked_for() {
    let dataset = open(TRIPS, 0).unwrap();
    let mut rows = 0;
    // SAFETY: the dataset is open, and there is room for a number.
    assert_eq!(unsafe { lath_dataset_count(dataset, null(), &raw mut rows) }, Status::Ok);
    assert_eq!(rows, 30_000);
    let filter = c"minutes > 45 AND \"from\" = 'Harbour'";
    // SAFETY: as above, and the text ends with a zero byte.
    assert_eq!(unsafe { lath_dataset_count(dataset, filter.as_ptr(), &raw mut rows) }, Status::Ok);
    let expected =
        lath::Dataset::open([TRIPS], lath::DatasetOptions::new()).unwrap().scan().filter(filter.to_str().unwrap());
    assert_eq!(rows, expected.unwrap().count().unwrap());
    assert!(rows > 0);

    let columns = [c"minutes".as_ptr(), c"started".as_ptr()];
    let chosen = ScanOptions { filter: filter.as_ptr(), columns: columns.as_ptr(), column_count: 2, ..options() };
    let mut stream = FFI_ArrowArrayStream::empty();
    // SAFETY: the pointers are to variables and to texts that end with a zero byte, and the dataset is open.
    assert_eq!(unsafe { lath_dataset_scan(dataset, &raw const chosen, &raw mut stream) }, Status::Ok);
    // SAFETY: it is not used any more; the stream goes on.
    unsafe { lath_dataset_free(dataset) };
    let batches = ArrowArrayStreamReader::try_new(stream).unwrap();
    let mut found = 0;
    for batch in batches {
        let batch = batch.unwrap();
        assert_eq!(
            batch.schema().fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>(),
            ["minutes", "started"]
        );
        found += batch.num_rows() as u64;
    }
    assert_eq!(found, rows);
}

#[test]
fn schema_and_report_are_available() {
    let dataset = open(TRIPS, LATH_UNION_SCHEMAS).unwrap();
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the dataset is open, and there is room for a structure.
    assert_eq!(unsafe { lath_dataset_schema(dataset, &raw mut schema) }, Status::Ok);
    let schema = Schema::try_from(&schema).unwrap();
    assert!(schema.field_with_name("minutes").is_ok(), "{schema}");
    let mut text = Buffer { data: null_mut(), len: 0 };
    // SAFETY: as above, and the text ends with a zero byte.
    assert_eq!(unsafe { lath_dataset_explain(dataset, c"minutes > 1000000".as_ptr(), &raw mut text) }, Status::Ok);
    // SAFETY: a zero byte follows the text.
    let lines = unsafe { CStr::from_ptr(text.data.cast::<c_char>()) }.to_str().unwrap();
    assert!(lines.starts_with("files: 3 named") && lines.contains("found: 0 rows"), "{lines}");
    assert_eq!(lines.len(), text.len);
    // SAFETY: Lath filled the buffer.
    unsafe { lath_buffer_free(&raw mut text) };
    assert!(text.data.is_null());
    // SAFETY: an empty buffer is allowed.
    unsafe { lath_buffer_free(&raw mut text) };
    // SAFETY: it is not used any more.
    unsafe { lath_dataset_free(dataset) };
}

#[test]
fn invalid_arguments_are_errors() {
    assert_eq!(open("/nowhere/at/all.parquet", 0), Err(Status::NotFound), "{}", message());
    assert!(message().contains("/nowhere/at/all.parquet"), "{}", message());
    assert_eq!(open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), 0), Err(Status::NotParquet), "{}", message());
    assert_eq!(open(TRIPS, 64), Err(Status::Invalid));
    // SAFETY: null is refused.
    assert_eq!(unsafe { lath_dataset_open(null(), 1, 0, null_mut()) }, Status::Invalid);
    let dataset = open(TRIPS, 0).unwrap();
    let mut rows = 7;
    // SAFETY: the dataset is open, the text ends with a zero byte.
    assert_eq!(unsafe { lath_dataset_count(dataset, c"minutes >".as_ptr(), &raw mut rows) }, Status::Invalid);
    // SAFETY: as above.
    assert_eq!(unsafe { lath_dataset_count(dataset, c"hours > 1".as_ptr(), &raw mut rows) }, Status::Invalid);
    assert!(message().contains("hours"), "{}", message());
    // SAFETY: as above; a text that is not UTF-8 is refused.
    assert_eq!(unsafe { lath_dataset_count(dataset, c"\xFF".as_ptr(), &raw mut rows) }, Status::Invalid);
    assert_eq!(rows, 7);
    let wrong = ScanOptions { column_count: 2, ..options() };
    let mut stream = FFI_ArrowArrayStream::empty();
    // SAFETY: as above; null columns are refused.
    assert_eq!(unsafe { lath_dataset_scan(dataset, &raw const wrong, &raw mut stream) }, Status::Invalid);
    // SAFETY: null is refused.
    assert_eq!(unsafe { lath_dataset_scan(null(), null(), &raw mut stream) }, Status::Invalid);
    // SAFETY: it is not used any more.
    unsafe { lath_dataset_free(dataset) };
    // SAFETY: null is allowed.
    unsafe { lath_dataset_free(null_mut()) };
}
