//! ALP: every bit of FLOAT and DOUBLE columns comes back, whatever the values; samples choose it only if allowed.
//!
//! `interop/alp` reads such files with version 60 of the `parquet` crate, which supports the encoding.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, Float32Array, Float64Array, ListArray, RecordBatch};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, SchemaRef};
use lath_parquet::{Encoding, ParquetFile};
use lath_testkit::Seeded;
use lath_writer::{ColumnOptions, PageVersion, ParquetWriter, Profile, ValueEncoding, WriteOptions};

use crate::check::has_alp;
use crate::reading::collect;
use crate::writing::write;

/// The distribution of a column's values.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Numbers with a few digits after the point.
    Decimals(i32),
    /// Any bits: NaNs with payloads, infinities, subnormal numbers.
    Bits,
    /// −0.0, infinities, NaNs and decimal numbers.
    Special,
    /// Decimal numbers with occasional random bits.
    Mixed,
    /// Noise followed by decimal numbers, so that an encoding that suits the first page does not suit the others.
    Changing,
}

const KINDS: [Kind; 7] =
    [Kind::Decimals(0), Kind::Decimals(2), Kind::Decimals(9), Kind::Bits, Kind::Special, Kind::Mixed, Kind::Changing];

fn value(random: &mut fastrand::Rng, kind: Kind, row: usize) -> f64 {
    const SPECIAL: [u64; 6] = [
        0x8000_0000_0000_0000,
        0x7ff0_0000_0000_0000,
        0xfff0_0000_0000_0000,
        0x7ff8_0000_0000_0000,
        0xfff8_dead_beef_0001,
        0x7ff0_0000_0000_0001,
    ];
    match kind {
        Kind::Decimals(digits) => (random.f64() * 100_000.0).round() / 10_f64.powi(digits),
        Kind::Special if random.u8(..3) == 0 => f64::from_bits(SPECIAL[random.usize(..SPECIAL.len())]),
        Kind::Mixed if random.u8(..20) == 0 => f64::from_bits(random.u64(..)),
        Kind::Bits => f64::from_bits(random.u64(..)),
        Kind::Changing if row < 1_500 => random.f64(),
        Kind::Special | Kind::Mixed | Kind::Changing => value(random, Kind::Decimals(2), row),
    }
}

/// The value as a float; random bits stay random bits.
fn float(random: &mut fastrand::Rng, kind: Kind, row: usize) -> f32 {
    match kind {
        Kind::Bits => f32::from_bits(random.u32(..)),
        _ => value(random, kind, row) as f32,
    }
}

/// A DOUBLE, a FLOAT, each with nulls and without, and a list of doubles.
fn batch(random: &mut fastrand::Rng, kind: Kind, rows: usize) -> RecordBatch {
    let doubles: Vec<f64> = (0..rows).map(|row| value(random, kind, row)).collect();
    let floats: Vec<f32> = (0..rows).map(|row| float(random, kind, row)).collect();
    let nulls: Vec<bool> = (0..rows).map(|_| random.u8(..5) == 0).collect();
    let lens: Vec<usize> = (0..rows).map(|_| random.usize(..3)).collect();
    let items = (0..lens.iter().sum()).map(|row| (random.u8(..7) > 0).then(|| value(random, kind, row)));
    let items: Float64Array = items.collect();
    let item = Arc::new(Field::new("element", DataType::Float64, true));
    let with_nulls = |row: usize| !nulls[row];
    let columns: [(&str, ArrayRef, bool); 5] = [
        ("double", Arc::new(Float64Array::from(doubles.clone())), false),
        ("float", Arc::new(Float32Array::from(floats.clone())), false),
        (
            "double?",
            Arc::new((0..rows).map(|row| with_nulls(row).then(|| doubles[row])).collect::<Float64Array>()),
            true,
        ),
        ("float?", Arc::new((0..rows).map(|row| with_nulls(row).then(|| floats[row])).collect::<Float32Array>()), true),
        ("list", Arc::new(ListArray::new(item, OffsetBuffer::from_lengths(lens), Arc::new(items), None)), false),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// The bits of every value of a column, `None` for a null; the values of a list one after another.
fn bits(array: &ArrayRef) -> Vec<Option<u64>> {
    match array.data_type() {
        DataType::Float32 => {
            array.as_primitive::<Float32Type>().iter().map(|v| v.map(|v| v.to_bits().into())).collect()
        }
        DataType::Float64 => array.as_primitive::<Float64Type>().iter().map(|v| v.map(f64::to_bits)).collect(),
        _ => bits(array.as_list::<i32>().values()),
    }
}

fn read(file: &ParquetFile) -> (SchemaRef, RecordBatch) {
    let (schema, batches) = file.scan().build().and_then(collect).unwrap();
    let batch = arrow_select::concat::concat_batches(&schema, &batches).unwrap();
    (schema, batch)
}

fn alp() -> WriteOptions {
    WriteOptions::default().encoding(ValueEncoding::Alp).dictionary(false)
}

fn encodings(file: &ParquetFile, leaf: usize) -> Vec<Encoding> {
    file.metadata().chunk(0, leaf).unwrap().encodings()
}

#[test]
fn every_bit_of_random_columns_comes_back() {
    let mut random = Seeded::new("every_bit_of_random_columns_comes_back");
    for kind in KINDS {
        for rows in [0, 1, 63, 1_024, 5_000] {
            let batch = batch(&mut random, kind, rows);
            for (version, dictionary, page_rows) in
                [(PageVersion::V1, false, 700), (PageVersion::V2, false, 20_000), (PageVersion::V1, true, 1_000)]
            {
                let all = ColumnOptions::new().page_version(version).page_rows(page_rows).dictionary_bytes(4_000);
                let options = alp().dictionary(dictionary).all_columns(all).row_group_rows(3_000);
                let (bytes, _) = write(&batch.schema(), std::slice::from_ref(&batch), options).unwrap();
                let (_, got) = read(&ParquetFile::from_bytes(bytes).unwrap());
                assert_eq!(got.num_rows(), rows);
                for (field, (expected, got)) in
                    batch.schema().fields().iter().zip(batch.columns().iter().zip(got.columns()))
                {
                    assert!(bits(expected) == bits(got), "{} of {rows} rows, {kind:?}", field.name());
                }
            }
        }
    }
}

#[test]
fn a_column_of_nulls_alone_has_alp_pages_without_values() {
    let nulls: ArrayRef = Arc::new(Float64Array::new_null(3_000));
    let batch = RecordBatch::try_from_iter_with_nullable([("c", nulls, true)]).unwrap();
    let (bytes, _) = write(&batch.schema(), std::slice::from_ref(&batch), alp()).unwrap();
    let file = ParquetFile::from_bytes(bytes).unwrap();
    assert!(has_alp(&file));
    assert_eq!(read(&file).1.column(0).null_count(), 3_000);
}

#[test]
fn pages_of_other_numbers_than_the_first_page_are_small_too() {
    let mut random = Seeded::new("pages_of_other_numbers_than_the_first_page_are_small_too");
    let rows = 60_000;
    let encoded = |values: Vec<f64>| {
        let column: ArrayRef = Arc::new(Float64Array::from(values));
        let batch = RecordBatch::try_from_iter([("c", column)]).unwrap();
        let (_, summary) = write(&batch.schema(), &[batch], alp()).unwrap();
        summary.columns[0].encoded_bytes as f64 / rows as f64
    };
    let price = |random: &mut fastrand::Rng| random.i32(0..100_000) as f64 / 100.0;
    let prices = encoded((0..rows).map(|_| price(&mut random)).collect());
    assert!(prices < 2.2, "{prices} bytes a price");
    // The first of three pages has only exceptions, or small integers.
    let after_noise =
        encoded((0..rows).map(|row| if row < rows / 3 { random.f64() } else { price(&mut random) }).collect());
    assert!(after_noise < (10.1 + 2.0 * 2.2) / 3.0, "{after_noise} bytes a value");
    let integers = |row: usize| (row % 50) as f64;
    let after_integers =
        encoded((0..rows).map(|row| if row < rows / 3 { integers(row) } else { price(&mut random) }).collect());
    assert!(after_integers < (1.0 + 2.0 * 2.2) / 3.0, "{after_integers} bytes a value");
}

#[test]
fn chunks_do_not_depend_on_the_chunks_before_them() {
    let mut random = Seeded::new("chunks_do_not_depend_on_the_chunks_before_them");
    let (first, second) = (batch(&mut random, Kind::Decimals(1), 2_000), batch(&mut random, Kind::Decimals(5), 2_000));
    let last_pages = |batches: &[RecordBatch]| {
        let (bytes, summary) = write(&second.schema(), batches, alp().row_group_rows(2_000)).unwrap();
        let chunk = summary.metadata.chunk(summary.row_groups - 1, 0).unwrap();
        let start = chunk.data_page_offset() as usize;
        bytes.slice(start..start + chunk.compressed_size() as usize)
    };
    assert!(last_pages(&[first, second.clone()]) == last_pages(std::slice::from_ref(&second)));
}

#[test]
fn rows_are_found_by_the_statistics_and_the_page_index_of_alp_columns() {
    let prices: ArrayRef = Arc::new(Float64Array::from_iter_values((0..50_000).map(|row| f64::from(row) / 100.0)));
    let batch = RecordBatch::try_from_iter([("price", prices)]).unwrap();
    let (bytes, _) =
        write(&batch.schema(), &[batch], alp().all_columns(ColumnOptions::new().page_rows(1_000))).unwrap();
    let file = ParquetFile::from_bytes(bytes).unwrap();
    let scan = file.scan().filter("price BETWEEN 123.45 AND 123.47").unwrap().build().unwrap();
    let batches = scan.map(|batch| batch.unwrap().column(0).as_primitive::<Float64Type>().values().to_vec());
    let found = batches.collect::<Vec<_>>().concat();
    assert_eq!(found, [123.45, 123.46, 123.47]);
}

#[test]
fn a_file_written_again_keeps_alp() {
    let mut random = Seeded::new("a_file_written_again_keeps_alp");
    let batch = batch(&mut random, Kind::Decimals(2), 3_000);
    let (bytes, _) = write(&batch.schema(), std::slice::from_ref(&batch), alp()).unwrap();
    let file = ParquetFile::from_bytes(bytes).unwrap();
    let inherited = WriteOptions::default().inherit(&file).unwrap();
    let (bytes, _) = write(&batch.schema(), std::slice::from_ref(&batch), inherited.clone()).unwrap();
    let encoded = ParquetFile::from_bytes(bytes).unwrap();
    let mut writer = ParquetWriter::new_like(Vec::new(), &file, None, inherited).unwrap();
    writer.copy_row_group(&file, 0).unwrap();
    let copied = ParquetFile::from_bytes(writer.finish_into().unwrap().0.into()).unwrap();
    for written in [encoded, copied] {
        assert!((0..5).all(|leaf| encodings(&written, leaf).contains(&Encoding::Alp)));
        assert_eq!(bits(read(&written).1.column(0)), bits(batch.column(0)));
    }
}

#[test]
fn a_sample_takes_alp_where_it_wins_and_previews_are_allowed() {
    let mut random = Seeded::new("a_sample_takes_alp_where_it_wins_and_previews_are_allowed");
    let prices = Float64Array::from_iter_values((0..50_000).map(|_| f64::from(random.i32(0..1_000_000)) / 100.0));
    let noise = Float64Array::from_iter_values((0..50_000).map(|_| random.f64()));
    let columns: [(&str, ArrayRef); 2] = [("prices", Arc::new(prices)), ("noise", Arc::new(noise))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let compact = WriteOptions::profile(Profile::Compact);
    let written = |options: WriteOptions| {
        let (bytes, summary) = write(&batch.schema(), std::slice::from_ref(&batch), options).unwrap();
        (ParquetFile::from_bytes(bytes).unwrap(), summary)
    };
    let (without, summary) = written(compact.clone());
    assert!(!has_alp(&without));
    assert!(!summary.columns[0].encodings[0].reason.contains("ALP"));
    let (with, smaller) = written(compact.preview_encodings(true));
    assert_eq!(smaller.columns[0].encodings[0].encoding, Encoding::Alp, "{}", smaller.columns[0].encodings[0]);
    assert!(smaller.columns[1].encodings[0].encoding != Encoding::Alp, "{}", smaller.columns[1].encodings[0]);
    assert!(smaller.columns[0].compressed_bytes < summary.columns[0].compressed_bytes);
    assert_eq!(bits(read(&with).1.column(0)), bits(batch.column(0)));
}

#[test]
fn columns_of_other_types_refuse_alp_where_it_was_asked_of_them() {
    let numbers: ArrayRef = Arc::new(arrow_array::Int64Array::from(vec![1, 2]));
    let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    let (bytes, _) = write(&batch.schema(), std::slice::from_ref(&batch), alp()).unwrap();
    assert_eq!(encodings(&ParquetFile::from_bytes(bytes).unwrap(), 0), [Encoding::Plain]);
    let own = WriteOptions::default().column("n", ColumnOptions::new().encoding(ValueEncoding::Alp));
    let error = write(&batch.schema(), &[batch], own).unwrap_err().to_string();
    assert!(error.contains("column n") && error.contains("INT64") && error.contains("Alp"), "{error}");
}
