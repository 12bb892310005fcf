//! Writes the sample files in `examples/data`: three months of fictitious bicycle hire, and the stations.
//!
//! `cargo run -p lath --example make-sample-data` writes the same rows every time. Together the files use most
//! encodings, four codecs, both page versions, nested columns, a Bloom filter and the page index.

use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder, UInt16Builder};
use arrow_array::{
    ArrayRef, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array, Float64Array, RecordBatch, StringArray,
    StructArray, TimestampMicrosecondArray, UInt8Array, UInt16Array,
};
use arrow_schema::extension::Uuid;
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::schema::types::ColumnPath;

const STATIONS: [&str; 12] = [
    "Old Mill",
    "Harbour",
    "Market Square",
    "North Gate",
    "University",
    "Linden Park",
    "Opera",
    "Tram Depot",
    "Lighthouse",
    "City Hall",
    "Brewery",
    "Östra Bron",
];
const NOTES: [&str; 6] = [
    "bell does not ring",
    "bell is too loud",
    "brakes squeal in the rain",
    "brakes squeal",
    "saddle slips",
    "basket is missing, found it at \"Opera\"",
];
const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// 2025-01-01T00:00:00Z.
const NEW_YEAR: i64 = 20_089 * DAY;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data");
    let trips = folder.join("trips");
    fs::create_dir_all(&trips)?;
    let mut random = Random(2025);
    let months = [(0, 31, "2025-01", dictionary()), (31, 28, "2025-02", delta()), (59, 31, "2025-03", split())];
    for (first_day, days, month, properties) in months {
        let rows = trip_rows(&mut random, NEW_YEAR + first_day * DAY, days * DAY)?;
        write(trips.join(format!("{month}.parquet")), &rows, properties)?;
    }
    let stations = WriterProperties::builder().set_compression(Compression::BROTLI(BrotliLevel::default()));
    write(folder.join("stations.parquet"), &station_rows(&mut random)?, stations)
}

/// Dictionaries and PLAIN, Snappy, pages of version 1.
fn dictionary() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_compression(Compression::SNAPPY)
}

/// The DELTA encodings, Zstandard, pages of version 2.
fn delta() -> WriterPropertiesBuilder {
    let plain = ["trip", "rider.plan", "from"].map(ColumnPath::from);
    let builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_column_encoding("started".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_dictionary_enabled("started".into(), false)
        .set_column_encoding("minutes".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_dictionary_enabled("minutes".into(), false)
        .set_column_encoding("to".into(), Encoding::DELTA_LENGTH_BYTE_ARRAY)
        .set_column_dictionary_enabled("to".into(), false)
        .set_column_encoding("note".into(), Encoding::DELTA_BYTE_ARRAY)
        .set_column_dictionary_enabled("note".into(), false);
    plain
        .into_iter()
        .fold(builder, |builder, path| builder.set_column_statistics_enabled(path, EnabledStatistics::Page))
}

/// BYTE_STREAM_SPLIT, uncompressed.
fn split() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_column_encoding("kilometres".into(), Encoding::BYTE_STREAM_SPLIT)
        .set_column_dictionary_enabled("kilometres".into(), false)
        .set_column_encoding("price".into(), Encoding::BYTE_STREAM_SPLIT)
        .set_column_dictionary_enabled("price".into(), false)
}

fn write(path: PathBuf, rows: &RecordBatch, properties: WriterPropertiesBuilder) -> Result<(), Box<dyn Error>> {
    let properties = properties
        .set_created_by("Lath's sample data".to_owned())
        .set_max_row_group_row_count(Some(4_000))
        .set_data_page_row_count_limit(1_000)
        .set_write_batch_size(500)
        .set_column_bloom_filter_enabled("trip".into(), true)
        .set_column_bloom_filter_max_ndv("trip".into(), 4_000)
        .set_column_dictionary_enabled("trip".into(), false)
        .build();
    let mut writer = ArrowWriter::try_new(File::create(&path)?, rows.schema(), Some(properties))?;
    writer.write(rows)?;
    let row_count = writer.close()?.file_metadata().num_rows();
    println!("{}: {row_count} rows, {} bytes", path.display(), fs::metadata(&path)?.len());
    Ok(())
}

fn trip_rows(random: &mut Random, start: i64, span: i64) -> Result<RecordBatch, Box<dyn Error>> {
    const ROWS: usize = 10_000;
    let mut started: Vec<i64> = (0..ROWS).map(|_| start + random.below(span / SECOND) * SECOND).collect();
    started.sort_unstable();
    let ids: Vec<[u8; 16]> = (0..ROWS).map(|_| random.uuid()).collect();
    let minutes: Vec<u16> = (0..ROWS).map(|_| (2 + random.below(25) + random.below(25)) as u16).collect();
    let kilometres = minutes.iter().map(|&minutes| {
        (random.below(20) > 0).then(|| (i64::from(minutes) * (150 + random.below(100))) as f32 / 1000.0)
    });
    let kilometres: Float32Array = kilometres.collect();
    let day_pass: Vec<bool> = (0..ROWS).map(|_| random.below(4) == 0).collect();
    let prices = minutes.iter().zip(&day_pass).map(|(&minutes, &pass)| {
        let cents = 100 + 25 * i128::from(minutes);
        if pass { 0 } else { cents }
    });
    let prices = Decimal128Array::from_iter_values(prices).with_precision_and_scale(7, 2)?;
    let from: StringArray = (0..ROWS).map(|_| Some(STATIONS[random.skewed(STATIONS.len())])).collect();
    let to: StringArray =
        (0..ROWS).map(|_| (random.below(50) > 0).then(|| STATIONS[random.skewed(STATIONS.len())])).collect();
    let plans: StringArray = day_pass.iter().map(|&pass| Some(if pass { "day pass" } else { "by minute" })).collect();
    let ages: UInt8Array = (0..ROWS).map(|_| (random.below(3) > 0).then(|| (16 + random.below(60)) as u8)).collect();
    let notes: StringArray =
        (0..ROWS).map(|_| (random.below(40) == 0).then(|| NOTES[random.skewed(NOTES.len())])).collect();
    let mut tags = ListBuilder::new(StringBuilder::new());
    for _ in 0..ROWS {
        for tag in ["electric", "rain", "night"] {
            if random.below(5) == 0 {
                tags.values().append_value(tag);
            }
        }
        tags.append(true);
    }
    let rider_fields =
        vec![Arc::new(Field::new("plan", DataType::Utf8, false)), Arc::new(Field::new("age", DataType::UInt8, true))];
    let rider = StructArray::new(rider_fields.into(), vec![Arc::new(plans), Arc::new(ages)], None);
    let columns: Vec<(Field, ArrayRef)> = vec![
        (
            Field::new("trip", DataType::FixedSizeBinary(16), false).with_extension_type(Uuid),
            Arc::new(FixedSizeBinaryArray::try_from_iter(ids.into_iter())?),
        ),
        column("started", TimestampMicrosecondArray::from(started).with_timezone("UTC"), false),
        column("minutes", UInt16Array::from(minutes), false),
        column("from", from, false),
        column("to", to, true),
        column("rider", rider, false),
        column("price", prices, false),
        column("kilometres", kilometres, true),
        column("tags", tags.finish(), false),
        column("note", notes, true),
    ];
    batch(columns)
}

fn station_rows(random: &mut Random) -> Result<RecordBatch, Box<dyn Error>> {
    let count = STATIONS.len();
    let opened: Date32Array = (0..count).map(|_| Some((17_000 + random.below(2_500)) as i32)).collect();
    let latitudes: Float64Array = (0..count).map(|_| Some(57.0 + random.below(90_000) as f64 / 1e6)).collect();
    let longitudes: Float64Array = (0..count).map(|_| Some(11.0 + random.below(90_000) as f64 / 1e6)).collect();
    let location_fields = vec![
        Arc::new(Field::new("latitude", DataType::Float64, false)),
        Arc::new(Field::new("longitude", DataType::Float64, false)),
    ];
    let location = StructArray::new(location_fields.into(), vec![Arc::new(latitudes), Arc::new(longitudes)], None);
    let mut docks = MapBuilder::new(None, StringBuilder::new(), UInt16Builder::new());
    for _ in 0..count {
        for kind in ["standard", "electric"] {
            docks.keys().append_value(kind);
            docks.values().append_value((4 + random.below(20)) as u16);
        }
        docks.append(true)?;
    }
    batch(vec![
        column("name", StringArray::from(STATIONS.to_vec()), false),
        column("opened", opened, false),
        column("location", location, false),
        column("docks", docks.finish(), false),
    ])
}

fn column(name: &str, array: impl arrow_array::Array + 'static, nullable: bool) -> (Field, ArrayRef) {
    (Field::new(name, array.data_type().clone(), nullable), Arc::new(array))
}

fn batch(columns: Vec<(Field, ArrayRef)>) -> Result<RecordBatch, Box<dyn Error>> {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}

/// A small generator of random numbers (SplitMix64), so that the files are the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: i64) -> i64 {
        (self.next() >> 1) as i64 % bound
    }

    /// An index below `len`; small ones are more likely.
    fn skewed(&mut self, len: usize) -> usize {
        let len = len as i64;
        self.below(len).min(self.below(len)) as usize
    }

    /// A UUID of version 4.
    fn uuid(&mut self) -> [u8; 16] {
        let mut bytes = (u128::from(self.next()) << 64 | u128::from(self.next())).to_be_bytes();
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        bytes
    }
}
