//! TPC-H lineitem, 16 required columns: scale factor 1, 6,001,215 rows, in four variants, and scale factor 10, 59,986,052
//! rows, with Snappy in the first two.
//!
//! - `a`: dictionary with fallback to PLAIN (the writer's default); decimals (15, 2) stored as INT64.
//! - `b`: no dictionary; DELTA_BINARY_PACKED integers, dates and decimals; DELTA_LENGTH_BYTE_ARRAY strings.
//! - `c`: like `a`, but the four decimals are doubles in BYTE_STREAM_SPLIT.
//! - `d`: like `b`, but DELTA_BYTE_ARRAY strings.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::builder::{Date32Builder, Decimal128Builder, Int32Builder, Int64Builder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::basic::Encoding;
use parquet::file::properties::{WriterProperties, WriterVersion};
use tpchgen::generators::{LineItem, LineItemGenerator};

use super::{Codec, ROW_GROUP_ROWS, folder, write};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    Plain,
    Delta,
    Split,
    Prefix,
}

impl Variant {
    pub const ALL: [Variant; 4] = [Variant::Plain, Variant::Delta, Variant::Split, Variant::Prefix];

    pub fn name(self) -> &'static str {
        match self {
            Variant::Plain => "a",
            Variant::Delta => "b",
            Variant::Split => "c",
            Variant::Prefix => "d",
        }
    }
}

pub fn path(variant: Variant, codec: Codec) -> PathBuf {
    folder().join(format!("lineitem-{}-{}.parquet", variant.name(), codec.name()))
}

/// The tables of scale factor 10.
pub fn large_path(variant: Variant) -> PathBuf {
    folder().join(format!("lineitem10-{}-{}.parquet", variant.name(), LARGE_CODEC.name()))
}

pub const LARGE: [Variant; 2] = [Variant::Plain, Variant::Delta];
const LARGE_CODEC: Codec = Codec::Snappy;

/// Columns 4 to 7: quantity, extended price, discount, tax.
const DECIMALS: std::ops::Range<usize> = 4..8;

fn schema() -> SchemaRef {
    let decimal = DataType::Decimal128(15, 2);
    let fields = [
        ("l_orderkey", DataType::Int64),
        ("l_partkey", DataType::Int64),
        ("l_suppkey", DataType::Int64),
        ("l_linenumber", DataType::Int32),
        ("l_quantity", decimal.clone()),
        ("l_extendedprice", decimal.clone()),
        ("l_discount", decimal.clone()),
        ("l_tax", decimal),
        ("l_returnflag", DataType::Utf8),
        ("l_linestatus", DataType::Utf8),
        ("l_shipdate", DataType::Date32),
        ("l_commitdate", DataType::Date32),
        ("l_receiptdate", DataType::Date32),
        ("l_shipinstruct", DataType::Utf8),
        ("l_shipmode", DataType::Utf8),
        ("l_comment", DataType::Utf8),
    ];
    Arc::new(Schema::new(fields.map(|(name, data_type)| Field::new(name, data_type, false)).to_vec()))
}

/// The table in batches of 65,536 rows.
fn generate(scale_factor: f64) -> impl Iterator<Item = RecordBatch> {
    let schema = schema();
    let mut rows = LineItemGenerator::new(scale_factor, 1, 1).iter().peekable();
    std::iter::from_fn(move || {
        rows.peek()?;
        Some(batch(&schema, rows.by_ref().take(1 << 16)))
    })
}

fn batch<'a>(schema: &SchemaRef, rows: impl Iterator<Item = LineItem<'a>>) -> RecordBatch {
    let mut longs: [Int64Builder; 3] = Default::default();
    let mut line_number = Int32Builder::new();
    let mut decimals: [Decimal128Builder; 4] =
        std::array::from_fn(|_| Decimal128Builder::new().with_data_type(DataType::Decimal128(15, 2)));
    let mut dates: [Date32Builder; 3] = Default::default();
    let mut strings: [StringBuilder; 5] = Default::default();
    for row in rows {
        for (to, value) in longs.iter_mut().zip([row.l_orderkey, row.l_partkey, row.l_suppkey]) {
            to.append_value(value);
        }
        line_number.append_value(row.l_linenumber);
        let cents = [row.l_quantity * 100, row.l_extendedprice.0, row.l_discount.0, row.l_tax.0];
        for (to, value) in decimals.iter_mut().zip(cents) {
            to.append_value(i128::from(value));
        }
        for (to, value) in dates.iter_mut().zip([row.l_shipdate, row.l_commitdate, row.l_receiptdate]) {
            to.append_value(value.to_unix_epoch());
        }
        let texts = [row.l_returnflag, row.l_linestatus, row.l_shipinstruct, row.l_shipmode, row.l_comment];
        for (to, value) in strings.iter_mut().zip(texts) {
            to.append_value(value);
        }
    }
    let mut columns: Vec<ArrayRef> = Vec::new();
    columns.extend(longs.iter_mut().map(|b| Arc::new(b.finish()) as ArrayRef));
    columns.push(Arc::new(line_number.finish()));
    columns.extend(decimals.iter_mut().map(|b| Arc::new(b.finish()) as ArrayRef));
    let [flag, status, instruct, mode, comment] = strings.each_mut().map(|b| Arc::new(b.finish()) as ArrayRef);
    columns.extend([flag, status]);
    columns.extend(dates.iter_mut().map(|b| Arc::new(b.finish()) as ArrayRef));
    columns.extend([instruct, mode, comment]);
    RecordBatch::try_new(Arc::clone(schema), columns).expect("columns fit the schema")
}

/// Converts decimals to doubles.
fn with_doubles(batch: &RecordBatch) -> RecordBatch {
    let mut fields: Vec<Field> = batch.schema().fields().iter().map(|field| field.as_ref().clone()).collect();
    let mut columns = batch.columns().to_vec();
    for at in DECIMALS {
        fields[at] = Field::new(fields[at].name(), DataType::Float64, false);
        let cents = columns[at].as_primitive::<Decimal128Type>();
        columns[at] =
            Arc::new(Float64Array::from_iter_values(cents.values().iter().map(|&cents| cents as f64 / 100.0)));
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).expect("columns fit the schema")
}

fn properties(variant: Variant, codec: Codec) -> WriterProperties {
    let schema = schema();
    let mut properties = WriterProperties::builder()
        .set_compression(codec.compression())
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_writer_version(WriterVersion::PARQUET_1_0);
    match variant {
        Variant::Plain => {}
        Variant::Delta | Variant::Prefix => {
            properties = properties.set_dictionary_enabled(false);
            for field in schema.fields() {
                let encoding = match field.data_type() {
                    DataType::Utf8 if variant == Variant::Prefix => Encoding::DELTA_BYTE_ARRAY,
                    DataType::Utf8 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
                    _ => Encoding::DELTA_BINARY_PACKED,
                };
                properties = properties.set_column_encoding(field.name().as_str().into(), encoding);
            }
        }
        Variant::Split => {
            for at in DECIMALS {
                let name = schema.field(at).name();
                properties = properties
                    .set_column_dictionary_enabled(name.as_str().into(), false)
                    .set_column_encoding(name.as_str().into(), Encoding::BYTE_STREAM_SPLIT);
            }
        }
    }
    properties.build()
}

/// Writes the files that are missing.
pub fn make() {
    let missing: Vec<_> = Variant::ALL
        .into_iter()
        .flat_map(|variant| Codec::ALL.map(|codec| (variant, codec)))
        .filter(|&(variant, codec)| !path(variant, codec).exists())
        .collect();
    if missing.is_empty() {
        return;
    }
    eprintln!("generating lineitem, scale factor 1");
    let batches: Vec<RecordBatch> = generate(1.0).collect();
    for (variant, codec) in missing {
        let path = path(variant, codec);
        eprintln!("writing {}", path.display());
        let doubles = variant == Variant::Split;
        let batches = batches.iter().map(|batch| if doubles { with_doubles(batch) } else { batch.clone() });
        write(&path, properties(variant, codec), batches);
    }
}

/// Writes the large files that are missing.
pub fn make_large() {
    for variant in LARGE {
        let path = large_path(variant);
        if !path.exists() {
            eprintln!("writing {}", path.display());
            write(&path, properties(variant, LARGE_CODEC), generate(10.0));
        }
    }
}
