//! Random tests on columns of every type, written by two writers.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use lath_kernels::compare::Comparison;
use lath_predicate::{BoundPredicate, Pattern, Test, Value, ValueSet, ValueTest, test_values};
use lath_testkit::Seeded;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};

use super::super::PruneReport;
use super::columns::{array, elements, list, types, value, within_struct};
use super::{bound, check};
use crate::ParquetFile;
use lath_writer::{BloomFilter, ColumnOptions, PageVersion, ParquetWriter, StatisticsLevel, WriteOptions};

/// Steps that grow with the rows, with noise and nulls.
fn steps(random: &mut Seeded, row_count: usize) -> Vec<Option<i64>> {
    let noise = *random.choice(&[1, 3, 60]).unwrap();
    let null_one_in = *random.choice(&[2, 20, 1_000_000]).unwrap();
    let sorted = random.u8(..3) > 0;
    let step = |row: usize, random: &mut Seeded| {
        if random.u32(..null_one_in) == 0 || null_one_in < 1000 && row / 32 % 5 == 4 {
            return None;
        }
        let base = if sorted { row * 180 / row_count } else { random.usize(..180) };
        Some((base + random.usize(..noise)) as i64)
    };
    (0..row_count).map(|row| step(row, random)).collect()
}

fn batch(random: &mut Seeded) -> RecordBatch {
    let row_count = random.usize(20..400) / 10 * 10;
    let types = types();
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for number in 0..random.usize(1..4) {
        let data_type = random.choice(&types).unwrap().clone();
        let own = steps(random, row_count);
        let values = array(&data_type, &own);
        let is_plain = !matches!(data_type, DataType::Dictionary(..));
        let values = match random.u8(..6) {
            0 if is_plain => within_struct(&values),
            1 if is_plain => {
                let more: Vec<Option<i64>> = own.iter().flat_map(|step| [*step, *step]).collect();
                list(&array(&data_type, &more))
            }
            _ => values,
        };
        let nullable = values.null_count() > 0 || random.bool();
        fields.push(Field::new(format!("c{number}"), values.data_type().clone(), nullable));
        arrays.push(values);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

fn written_by_crate(random: &mut Seeded, batch: &RecordBatch) -> Bytes {
    let levels = [EnabledStatistics::None, EnabledStatistics::Chunk, EnabledStatistics::Page, EnabledStatistics::Page];
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    let truncations = [Some(1), Some(5), Some(64), None];
    let properties = WriterProperties::builder()
        .set_writer_version(*random.choice(&versions).unwrap())
        .set_max_row_group_row_count(Some(random.usize(10..200)))
        .set_data_page_row_count_limit(random.usize(5..60))
        .set_write_batch_size(5)
        .set_statistics_enabled(*random.choice(&levels).unwrap())
        .set_statistics_truncate_length(*random.choice(&truncations).unwrap())
        .set_column_index_truncate_length(*random.choice(&truncations).unwrap())
        .set_dictionary_enabled(random.bool())
        .set_dictionary_page_size_limit(*random.choice(&[100, 1 << 20]).unwrap())
        .set_bloom_filter_enabled(random.bool())
        .set_bloom_filter_max_ndv(*random.choice(&[5, 100, 10_000]).unwrap())
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes.into()
}

fn written_by_lath(random: &mut Seeded, batch: &RecordBatch) -> Bytes {
    let levels = [StatisticsLevel::None, StatisticsLevel::Chunk, StatisticsLevel::Page, StatisticsLevel::Page];
    let filters = [
        None,
        Some(BloomFilter::Bytes(32)),
        Some(BloomFilter::FalsePositiveRate(0.01)),
        Some(BloomFilter::Bytes(1 << 15)),
    ];
    let column = ColumnOptions::new()
        .page_version(*random.choice(&[PageVersion::V1, PageVersion::V2]).unwrap())
        .page_rows(random.usize(5..60))
        .statistics(*random.choice(&levels).unwrap())
        .statistics_bytes(*random.choice(&[1, 5, 64]).unwrap())
        .dictionary(random.bool())
        .dictionary_bytes(*random.choice(&[100, 1 << 20]).unwrap())
        .bloom_filter(*random.choice(&filters).unwrap())
        .offset_index(random.u8(..5) > 0)
        .total_order(random.bool());
    let options = WriteOptions::default().row_group_rows(random.usize(10..200)).all_columns(column);
    let mut bytes = Vec::new();
    let mut writer = ParquetWriter::new(&mut bytes, &batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    bytes.into()
}

/// A literal to compare with: usually a value of the column, or one near it.
fn literal(random: &mut Seeded, values: &dyn Array) -> Option<Value> {
    let near = |value: Value, random: &mut Seeded| match value {
        Value::Int(value) => Value::Int(value + *random.choice(&[-1, 1, 1000]).unwrap()),
        Value::Wide(value) => Value::Wide(value.wrapping_add(arrow_buffer::i256::ONE)),
        Value::Float(value) => {
            Value::Float(*random.choice(&[value + 0.1, -value, f64::NAN, f64::INFINITY, 0.0]).unwrap())
        }
        Value::Bytes(bytes) => {
            let mut bytes = bytes.to_vec();
            match random.u8(..4) {
                0 => bytes.push(b'0'),
                1 => bytes.truncate(bytes.len() / 2),
                _ => bytes.iter_mut().rev().take(1).for_each(|byte| *byte = byte.wrapping_add(1)),
            }
            Value::Bytes(bytes.into())
        }
        Value::Boolean(value) => Value::Boolean(!value),
    };
    for _ in 0..20 {
        if values.is_empty() {
            return None;
        }
        let row = random.usize(..values.len());
        if let Some(value) = value(values, row) {
            return Some(if random.u8(..3) == 0 { near(value, random) } else { value });
        }
    }
    None
}

fn comparison(random: &mut Seeded) -> Comparison {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    *random.choice(&[Equal, Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual]).unwrap()
}

fn leaf_test(random: &mut Seeded, operand: &ArrayRef) -> ValueTest {
    let values = elements(operand);
    let Some(one) = literal(random, &values) else { return ValueTest::IsNull };
    let another = literal(random, &values).unwrap_or_else(|| one.clone());
    if matches!(operand.data_type(), DataType::List(_)) {
        return if random.u8(..5) == 0 { ValueTest::IsNull } else { ValueTest::Contains(one) };
    }
    let value_type = match values.data_type() {
        DataType::Dictionary(_, values) => (**values).clone(),
        other => other.clone(),
    };
    match random.u8(..8) {
        0 => ValueTest::IsNull,
        1 if value_type == DataType::Boolean => ValueTest::Truth,
        1 => ValueTest::Always(random.bool()),
        2 => ValueTest::Between(one.clone().min(another.clone()), one.max(another)),
        3 => {
            let mut list = vec![one, another];
            list.extend((0..random.usize(..20)).filter_map(|_| literal(random, &values)));
            ValueTest::In(ValueSet::new(list))
        }
        4 if value_type.is_string() => {
            let Value::Bytes(bytes) = one else { unreachable!("strings are bytes") };
            let text = String::from_utf8_lossy(&bytes);
            let prefix: String = text.chars().take(random.usize(..6)).collect();
            let pattern = match random.u8(..3) {
                0 => format!("{prefix}%"),
                1 => format!("{prefix}_%x"),
                _ => text.into_owned(),
            };
            ValueTest::Like(Pattern::new(&pattern, random.u8(..8) == 0))
        }
        _ => ValueTest::Compare(comparison(random), one),
    }
}

fn test(random: &mut Seeded, operands: &[ArrayRef], depth: usize) -> Test {
    let many = |random: &mut Seeded| (0..random.usize(1..4)).map(|_| test(random, operands, depth - 1)).collect();
    match random.u8(..12) {
        0..2 if depth > 0 => Test::All(many(random)),
        2..4 if depth > 0 => Test::Any(many(random)),
        4 if depth > 0 => Test::Not(Box::new(test(random, operands, depth - 1))),
        5 if depth > 0 => {
            let truth = *random.choice(&[Some(true), Some(false), None]).unwrap();
            Test::Is(Box::new(test(random, operands, depth - 1)), truth)
        }
        6 => {
            let (left, right) = (random.usize(..operands.len()), random.usize(..operands.len()));
            let (one, other) = (operands[left].data_type(), operands[right].data_type());
            if one == other && !one.is_nested() && !matches!(one, DataType::Dictionary(..)) {
                return Test::Columns { left, op: comparison(random), right, common: one.clone() };
            }
            Test::Constant(*random.choice(&[Some(true), Some(false), None]).unwrap())
        }
        _ => {
            let column = random.usize(..operands.len());
            // Binding refuses literals that the column's type cannot hold.
            let tests = std::iter::repeat_with(|| leaf_test(random, &operands[column])).take(100);
            let test = tests.into_iter().find(|test| test_values(test, &operands[column]).is_ok());
            Test::Values { column, test: test.unwrap_or(ValueTest::IsNull) }
        }
    }
}

/// The file's columns as operands, and their values.
fn operands(file: &ParquetFile) -> (BoundPredicate, Vec<ArrayRef>) {
    let schema = file.schema();
    let names = schema.fields().iter().map(|field| match field.data_type() {
        DataType::Struct(_) => format!("{}.inner IS NULL", field.name()),
        _ => format!("{} IS NULL", field.name()),
    });
    let bound = bound(file, &names.collect::<Vec<_>>().join(" OR "));
    let batch = file.scan().batch_size(100_000).build().unwrap().next().unwrap().unwrap();
    let arrays = bound.columns.iter().map(|column| column.operand(&batch).unwrap()).collect();
    (bound, arrays)
}

fn check_file(random: &mut Seeded, bytes: Bytes, count: usize) -> PruneReport {
    let file = ParquetFile::from_bytes(bytes).unwrap();
    let (bound, arrays) = operands(&file);
    assert!(bound.columns.iter().all(|column| column.leaf.is_some()), "{:?}", bound.columns);
    let mut all = PruneReport::default();
    for _ in 0..count {
        let test = test(random, &arrays, 2);
        all += check(&file, &bound.with_test(test.clone()), &test);
    }
    all
}

/// Every passing row remains with any evidence, and the remaining test is true for the same rows.
#[test]
fn nothing_that_passes_is_pruned() {
    let mut random = Seeded::new("nothing_that_passes_is_pruned");
    let mut all = PruneReport::default();
    for _ in 0..40 {
        let batch = batch(&mut random);
        let bytes = written_by_crate(&mut random, &batch);
        all += check_file(&mut random, bytes, 8);
        let bytes = written_by_lath(&mut random, &batch);
        all += check_file(&mut random, bytes, 8);
    }
    // Each kind of evidence ruled out something.
    for (name, pruned) in
        [("statistics", all.statistics), ("Bloom filters", all.bloom), ("dictionaries", all.dictionary)]
    {
        assert!(pruned.row_groups > 0, "{name}: {all:?}");
    }
    assert!(all.page_index.pages > 0, "{all:?}");
}
