//! Files of one column each, uncompressed: measures one encoding of one type alone.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch};
use arrow_schema::{Field, Schema};
use parquet::basic::Encoding;
use parquet::file::properties::WriterProperties;

use super::{Codec, ROW_GROUP_ROWS, Random, folder, write};

const BATCH_ROWS: usize = 1 << 16;

/// One file. `values` counts leaf slots, the unit of the figures.
pub struct Column {
    pub name: &'static str,
    pub what: &'static str,
    rows: usize,
    encoding: Option<Encoding>,
    fill: fn(&mut Filler) -> ArrayRef,
}

/// Generates one batch after another, each from the end of the last.
struct Filler {
    random: Random,
    last: u64,
}

impl Filler {
    fn each(&mut self, mut value: impl FnMut(&mut Self) -> i64) -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..BATCH_ROWS).map(|_| value(self))))
    }

    fn strings(&mut self, mut value: impl FnMut(&mut Self, &mut String)) -> ArrayRef {
        let mut builder = StringBuilder::new();
        let mut text = String::new();
        for _ in 0..BATCH_ROWS {
            text.clear();
            value(self, &mut text);
            builder.append_value(&text);
        }
        Arc::new(builder.finish())
    }

    fn lowercase(&mut self, text: &mut String, len: u64) {
        for _ in 0..len {
            text.push(char::from(b'a' + self.random.below(26) as u8));
        }
    }
}

const PLAIN: Option<Encoding> = Some(Encoding::PLAIN);
const DICTIONARY: Option<Encoding> = None;

pub const ALL: [Column; 15] = [
    Column {
        name: "int64-delta-sorted",
        what: "int64 DELTA_BINARY_PACKED, sorted, steps below 1,000",
        rows: 16 << 20,
        encoding: Some(Encoding::DELTA_BINARY_PACKED),
        fill: |f| {
            f.each(|f| {
                f.last += f.random.below(1_000);
                f.last as i64
            })
        },
    },
    Column {
        name: "int64-delta-random",
        what: "int64 DELTA_BINARY_PACKED, random 40-bit",
        rows: 16 << 20,
        encoding: Some(Encoding::DELTA_BINARY_PACKED),
        fill: |f| f.each(|f| f.random.below(1 << 40) as i64),
    },
    Column {
        name: "int64-plain",
        what: "int64 PLAIN",
        rows: 16 << 20,
        encoding: PLAIN,
        fill: |f| f.each(|f| f.random.next() as i64),
    },
    Column { name: "double-plain", what: "double PLAIN", rows: 16 << 20, encoding: PLAIN, fill: |f| doubles(f) },
    Column {
        name: "int32-dictionary",
        what: "int32 dictionary of 5,000",
        rows: 16 << 20,
        encoding: DICTIONARY,
        fill: |f| Arc::new(Int32Array::from_iter_values((0..BATCH_ROWS).map(|_| f.random.below(5_000) as i32 * 7_919))),
    },
    Column {
        name: "string-dictionary",
        what: "string dictionary of 5,000, 5 to 24 bytes",
        rows: 10 << 20,
        encoding: DICTIONARY,
        fill: |f| {
            f.strings(|f, text| {
                let mut word = Random(f.random.below(5_000));
                for _ in 0..5 + word.below(20) {
                    text.push(char::from(b'a' + word.below(26) as u8));
                }
            })
        },
    },
    Column {
        name: "string-delta-prefix",
        what: "string DELTA_BYTE_ARRAY, sorted URLs",
        rows: 10 << 20,
        encoding: Some(Encoding::DELTA_BYTE_ARRAY),
        fill: |f| f.strings(url),
    },
    Column {
        name: "string-delta-length",
        what: "string DELTA_LENGTH_BYTE_ARRAY, 5 to 39 bytes",
        rows: 10 << 20,
        encoding: Some(Encoding::DELTA_LENGTH_BYTE_ARRAY),
        fill: |f| texts(f),
    },
    Column {
        name: "string-plain",
        what: "string PLAIN, 5 to 39 bytes",
        rows: 10 << 20,
        encoding: PLAIN,
        fill: |f| texts(f),
    },
    Column {
        name: "double-split",
        what: "double BYTE_STREAM_SPLIT",
        rows: 16 << 20,
        encoding: Some(Encoding::BYTE_STREAM_SPLIT),
        fill: |f| doubles(f),
    },
    Column {
        name: "float-split",
        what: "float BYTE_STREAM_SPLIT",
        rows: 16 << 20,
        encoding: Some(Encoding::BYTE_STREAM_SPLIT),
        fill: |f| {
            let values = (0..BATCH_ROWS).map(|_| f.random.below(1 << 24) as f32 / 64.0);
            Arc::new(arrow_array::Float32Array::from_iter_values(values))
        },
    },
    Column {
        name: "list-int32",
        what: "list<int32> PLAIN, 0 to 7 elements, lists and elements optional",
        rows: 4 << 20,
        encoding: PLAIN,
        fill: |f| {
            let mut builder = ListBuilder::new(Int32Builder::new());
            for _ in 0..BATCH_ROWS {
                for _ in 0..f.random.below(8) {
                    builder.values().append_value(f.random.next() as i32);
                }
                builder.append(true);
            }
            Arc::new(builder.finish())
        },
    },
    Column {
        name: "int64-plain-null",
        what: "int64 PLAIN, half null",
        rows: 16 << 20,
        encoding: PLAIN,
        fill: |f| {
            let values = (0..BATCH_ROWS).map(|_| (f.random.below(2) == 0).then(|| f.random.next() as i64));
            Arc::new(Int64Array::from_iter(values.collect::<Vec<_>>()))
        },
    },
    Column {
        name: "int32-dictionary-null",
        what: "int32 dictionary of 5,000, half null",
        rows: 16 << 20,
        encoding: DICTIONARY,
        fill: |f| {
            let values =
                (0..BATCH_ROWS).map(|_| (f.random.below(2) == 0).then(|| f.random.below(5_000) as i32 * 7_919));
            Arc::new(Int32Array::from_iter(values.collect::<Vec<_>>()))
        },
    },
    Column {
        name: "int32-delta",
        what: "int32 DELTA_BINARY_PACKED, random 20-bit",
        rows: 16 << 20,
        encoding: Some(Encoding::DELTA_BINARY_PACKED),
        fill: |f| Arc::new(Int32Array::from_iter_values((0..BATCH_ROWS).map(|_| f.random.below(1 << 20) as i32))),
    },
];

fn doubles(f: &mut Filler) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values((0..BATCH_ROWS).map(|_| f.random.below(1 << 40) as f64 / 100.0)))
}

fn texts(f: &mut Filler) -> ArrayRef {
    f.strings(|f, text| {
        let len = 5 + f.random.below(35);
        f.lowercase(text, len);
    })
}

/// URLs in order: a host, a path whose number grows, a short random tail.
fn url(f: &mut Filler, text: &mut String) {
    f.last += 1 + f.random.below(9);
    let (host, page) = (f.last / 100_000, f.last % 100_000);
    write!(text, "https://www.site{host:05}.example/articles/{page:05}/").expect("a string takes it");
    let len = 4 + f.random.below(12);
    f.lowercase(text, len);
}

impl Column {
    pub fn path(&self) -> PathBuf {
        folder().join(format!("column-{}.parquet", self.name))
    }

    /// Writes the file if it is missing.
    pub fn make(&self) {
        let path = self.path();
        if path.exists() {
            return;
        }
        eprintln!("writing {}", path.display());
        let mut properties = WriterProperties::builder()
            .set_compression(Codec::None.compression())
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS));
        if let Some(encoding) = self.encoding {
            properties = properties.set_dictionary_enabled(false).set_encoding(encoding);
        }
        let mut filler = Filler { random: Random(42), last: 0 };
        let nullable = self.name.ends_with("-null") || self.name.starts_with("list");
        let batches = (0..self.rows / BATCH_ROWS).map(|_| {
            let array = (self.fill)(&mut filler);
            let field = Field::new("value", array.data_type().clone(), nullable);
            RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).expect("column fits the schema")
        });
        write(&path, properties.build(), batches);
    }
}

pub fn make() {
    for column in &ALL {
        column.make();
    }
}
