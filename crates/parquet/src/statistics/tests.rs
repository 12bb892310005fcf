//! Checks that statistics hold for the values in the file.

use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, StringViewArray, StructArray,
};
use arrow_schema::{DataType, Field};
use arrow_select::concat::{concat, concat_batches};
use bytes::Bytes;
use lath_predicate::{Value, value_at};
use lath_testkit::Seeded;
use lath_testkit::random::{FileShape, RandomFile};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use super::{ColumnStatistics, Precision};
use crate::dataset::{Dataset, DatasetOptions};
use crate::file::ParquetFile;
use lath_writer::{ParquetWriter, WriteOptions};

/// The smallest and largest value of an array, in the order of predicates.
fn extremes(array: &ArrayRef) -> Option<(Value, Value)> {
    let values: Vec<Value> = (0..array.len()).filter_map(|row| value_at(array, row)).collect();
    Some((values.iter().min()?.clone(), values.iter().max()?.clone()))
}

fn check(statistics: &ColumnStatistics, array: &ArrayRef, context: &dyn Fn() -> String) -> usize {
    if let Precision::Exact(nulls) = statistics.null_count {
        assert_eq!(nulls, array.logical_null_count() as u64, "nulls: {}", context());
    }
    let mut checked = 0;
    for (said, side) in [(&statistics.min, Ordering::Less), (&statistics.max, Ordering::Greater)] {
        let Some(bound) = said.value() else { continue };
        assert_eq!((bound.len(), bound.data_type()), (1, array.data_type()), "{}", context());
        let bound = value_at(bound, 0);
        let Some((min, max)) = extremes(array) else {
            assert!(bound.is_none(), "{bound:?} of nothing: {}", context());
            continue;
        };
        let actual = if side == Ordering::Less { min } else { max };
        let bound = bound.unwrap_or_else(|| panic!("null, and there is {actual:?}: {}", context()));
        match said.is_exact() {
            true => assert_eq!(bound, actual, "{}", context()),
            false => assert_ne!(bound.cmp(&actual), side.reverse(), "{bound:?} {actual:?} {}", context()),
        }
        checked += 1;
    }
    checked
}

#[test]
fn bounds_and_counts_hold_for_the_values_of_random_files() {
    let mut random = Seeded::new("bounds_and_counts_hold_for_the_values_of_random_files");
    let mut checked = 0;
    // Some files have few bounds; together they must be enough to prove something.
    for case in 0.. {
        if case >= 150 && checked > 1000 {
            break;
        }
        assert!(case < 600, "{checked} bounds in {case} files");
        let seed = random.u64(..);
        let written = RandomFile::new(&mut fastrand::Rng::with_seed(seed), FileShape::default());
        let file = ParquetFile::from_bytes(written.bytes.clone()).unwrap();
        let whole = file.statistics().unwrap();
        assert_eq!(whole.row_count, Precision::Exact(file.row_count()));
        let of_dataset = Dataset::of([file.clone(), file.clone()]).unwrap().statistics().unwrap();
        let read = |row_groups: Vec<usize>| {
            let batches = file.scan().row_groups(row_groups).build().unwrap();
            let schema = batches.schema();
            let batches = batches.map(Result::unwrap).collect::<Vec<_>>();
            // Arrow cannot join all dictionaries.
            catch_unwind(AssertUnwindSafe(|| concat_batches(&schema, &batches))).ok().and_then(Result::ok)
        };
        let row_groups = file.metadata().row_group_count();
        let Some(all) = read((0..row_groups).collect()) else { continue };
        for (at, column) in all.columns().iter().enumerate() {
            let name = all.schema().field(at).clone();
            let context = || format!("{name} in case {case} with seed {seed:#x}");
            checked += check(&whole.columns[at], column, &context);
            if let Ok(Ok(twice)) = catch_unwind(AssertUnwindSafe(|| concat(&[column, column]))) {
                check(&of_dataset.columns[at], &twice, &context);
            }
        }
        for row_group in 0..row_groups {
            let Some(rows) = read(vec![row_group]) else { continue };
            let statistics = file.row_group_statistics(row_group).unwrap();
            for (at, column) in rows.columns().iter().enumerate() {
                let name = rows.schema().field(at).name().clone();
                let context = || format!("{name} of row group {row_group} in case {case} with seed {seed:#x}");
                checked += check(&statistics.columns[at], column, &context);
                let Ok(Some(pages)) = file.page_statistics(row_group, &name) else { continue };
                for page in pages {
                    let slice = column.slice(page.rows.start as usize, (page.rows.end - page.rows.start) as usize);
                    let (min, max) = (page.min, page.max);
                    let unknown = ColumnStatistics::unknown(statistics.columns[at].field.clone());
                    let page = ColumnStatistics { min, max, null_count: page.null_count, ..unknown };
                    checked += check(&page, &slice, &context);
                }
            }
        }
    }
}

fn written(columns: Vec<(&str, ArrayRef)>, rows: usize) -> ParquetFile {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(rows)).build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    ParquetFile::from_bytes(Bytes::from(bytes)).unwrap()
}

#[test]
fn row_groups_are_put_together() {
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(5), None, Some(-3), Some(9), None, None]));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.5, f64::NAN, 7.0, -0.0, 3.0]));
    let file = written(vec![("n", numbers), ("f", floats)], 2);
    let n = file.column_statistics("n").unwrap();
    assert_eq!(n.null_count, Precision::Exact(3));
    assert!(matches!(&n.min, Precision::Exact(min) if min.as_ref() == &Int32Array::from(vec![-3])));
    assert!(matches!(&n.max, Precision::Exact(max) if max.as_ref() == &Int32Array::from(vec![9])));
    // The last row group has nulls alone.
    let last = file.row_group_column_statistics(2, "n").unwrap();
    assert!(matches!(&last.min, Precision::Exact(min) if min.as_ref() == &Int32Array::from(vec![None])));
    // The writer need not record NaNs, which are above all numbers.
    let f = file.column_statistics("f").unwrap();
    let is_known = f.nan_count == Precision::Exact(1);
    assert_eq!(f.max.value().is_some(), is_known);
    assert!(f.min.value().is_some() && !f.min.is_exact(), "a zero has no sign: {:?}", f.min);
    assert!(file.column_statistics("nowhere").is_err() && file.row_group_statistics(3).is_err());
}

#[test]
fn distinct_values_of_several_row_groups_are_at_least_those_of_each() {
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, 1, 2, 2, 3, 1, 7, 7, 7, 7]));
    let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    let written = |rows: usize| {
        let mut bytes = Vec::new();
        let mut writer =
            ParquetWriter::new(&mut bytes, &batch.schema(), WriteOptions::default().row_group_rows(rows)).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        ParquetFile::from_bytes(bytes.into()).unwrap()
    };
    let distinct = |file: &ParquetFile| file.column_statistics("n").unwrap().distinct_count;
    let (whole, parts) = (written(100), written(6));
    assert_eq!(distinct(&whole), Precision::Exact(4));
    assert_eq!(distinct(&parts), Precision::Inexact(3));
    let dataset = |files: &[&ParquetFile]| {
        let dataset = Dataset::of(files.iter().map(|&file| file.clone())).unwrap();
        dataset.statistics().unwrap().columns[0].distinct_count
    };
    assert_eq!(dataset(&[&whole]), Precision::Exact(4));
    assert_eq!(dataset(&[&parts, &whole]), Precision::Inexact(4));
}

#[test]
fn fields_of_structs_are_asked_for_by_path() {
    let (a, b): (ArrayRef, ArrayRef) =
        (Arc::new(Int64Array::from(vec![3, 1, 2])), Arc::new(StringArray::from(vec!["x", "zz", "y"])));
    let fields = vec![Field::new("a", DataType::Int64, false), Field::new("b.c", DataType::Utf8, false)];
    let structs: ArrayRef = Arc::new(StructArray::new(fields.into(), vec![a, b], Some(vec![true, false, true].into())));
    let file = written(vec![("s", structs)], 100);
    let column = file.column_statistics("s.a").unwrap();
    assert_eq!((column.field.name().as_str(), column.null_count), ("s.a", Precision::Exact(1)));
    assert!(matches!(&column.max, Precision::Exact(max) if max.as_ref() == &Int64Array::from(vec![3])));
    let column = file.column_statistics("s.b.c").unwrap();
    assert!(matches!(column.max.value(), Some(max) if max.as_ref() == &StringViewArray::from(vec!["y"])), "{column:?}");
    let whole = file.column_statistics("s").unwrap();
    assert!(whole.min.value().is_none() && whole.byte_count.is_exact());
}

#[test]
fn partitions_and_columns_that_a_file_lacks_count() {
    let folder = tempfile::tempdir().unwrap();
    let write = |part: &str, columns: Vec<(&str, ArrayRef)>| {
        let folder = folder.path().join(part);
        std::fs::create_dir(&folder).unwrap();
        let file = written(columns, 100);
        std::fs::write(folder.join("a.parquet"), file.source().read(0..file.source().len()).unwrap()).unwrap();
    };
    write("part=3", vec![("a", Arc::new(Int32Array::from(vec![1, 2])) as _)]);
    let both: Vec<(&str, ArrayRef)> =
        vec![("a", Arc::new(Int64Array::from(vec![1 << 40]))), ("b", Arc::new(Int32Array::from(vec![7])))];
    write("part=10", both);
    let dataset = Dataset::open([folder.path()], DatasetOptions::new().union_schemas(true)).unwrap();
    let statistics = dataset.statistics().unwrap();
    assert_eq!(statistics.row_count, Precision::Exact(3));
    let column = |name: &str| statistics.columns.iter().find(|column| column.field.name() == name).unwrap();
    assert!(matches!(&column("a").max, Precision::Exact(max) if max.as_ref() == &Int64Array::from(vec![1 << 40])));
    assert!(matches!(&column("part").min, Precision::Exact(min) if min.as_ref() == &Int64Array::from(vec![3])));
    assert!(matches!(&column("part").max, Precision::Exact(max) if max.as_ref() == &Int64Array::from(vec![10])));
    assert_eq!(column("b").null_count, Precision::Exact(2));
    assert!(matches!(&column("b").min, Precision::Exact(min) if min.as_ref() == &Int32Array::from(vec![7])));
}

/// The file with other statistics of its only chunk.
fn with_statistics(bytes: &Bytes, statistics: parquet::file::statistics::Statistics) -> ParquetFile {
    use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
    let metadata = ParquetMetaDataReader::new().parse_and_finish(bytes).unwrap();
    let tail = bytes.len() - 8;
    let footer_len = u32::from_le_bytes(bytes[tail..tail + 4].try_into().unwrap()) as usize;
    let mut changed = bytes[..tail - footer_len].to_vec();
    let mut builder = metadata.into_builder();
    let mut row_groups = builder.take_row_groups();
    let mut row_group = row_groups.remove(0).into_builder();
    let column = row_group.take_columns().remove(0).into_builder().set_statistics(statistics).build().unwrap();
    let metadata = builder.add_row_group(row_group.set_column_metadata(vec![column]).build().unwrap()).build();
    ParquetMetaDataWriter::new(&mut changed, &metadata).finish().unwrap();
    ParquetFile::from_bytes(changed.into()).unwrap()
}

#[test]
fn bounds_that_a_writer_calls_inexact_are_inexact_and_contradictory_ones_unknown() {
    use parquet::file::statistics::{Statistics as Written, ValueStatistics};
    let values: ArrayRef = Arc::new(Int64Array::from(vec![5, 7]));
    let batch = RecordBatch::try_from_iter([("v", values)]).unwrap();
    let bytes = {
        let mut writer = ParquetWriter::new(Vec::new(), &batch.schema(), WriteOptions::default()).unwrap();
        writer.write(&batch).unwrap();
        Bytes::from(writer.finish_into().unwrap().0)
    };
    let bounds = |min, max, is_exact| {
        let written = ValueStatistics::new(Some(min), Some(max), None, Some(0), false);
        let written = written.with_min_is_exact(is_exact).with_max_is_exact(is_exact);
        let file = with_statistics(&bytes, Written::Int64(written));
        let statistics = file.column_statistics("v").unwrap();
        (statistics.min, statistics.max)
    };
    let is_inexact = |bound: &Precision<ArrayRef>| matches!(bound, Precision::Inexact(_));
    let (min, max) = bounds(0, 100, false);
    assert!(is_inexact(&min) && is_inexact(&max), "{min:?} {max:?}");
    let (min, max) = bounds(5, 7, true);
    assert!(min.is_exact() && max.is_exact(), "{min:?} {max:?}");
    let (min, max) = bounds(7, 5, true);
    assert!(min.value().is_none() && max.value().is_none(), "{min:?} {max:?}");
}
