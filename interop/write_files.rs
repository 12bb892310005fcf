//! Writes the files for other projects' readers: each table twice, as `CASE.lath.parquet` by Lath with random options
//! and as `CASE.reference.parquet` by the `parquet` crate with the same codecs, encodings and page version, so that a
//! gap of a reader can be told from a fault of Lath.
//!
//! ```text
//! cargo run --example write-interop-files -- FOLDER CASES
//! ```

use std::error::Error;
use std::fs::{self, File};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use lath_testkit::random::{SchemaShape, leaf_columns, record_batch, schema};
use lath_writer::{
    BloomFilter, Codec, ColumnOptions, PageVersion, ParquetWriter, Profile, ValueEncoding, WriteOptions,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, cases] = &arguments[..] else { return Err("usage: write-interop-files FOLDER CASES".into()) };
    let folder = Path::new(folder);
    fs::create_dir_all(folder)?;
    for case in 0..cases.parse()? {
        write_case(folder, case)?;
    }
    Ok(())
}

/// Each table has its own seed, so that a case stays the same for any number of cases.
fn write_case(folder: &Path, case: u64) -> Result<(), Box<dyn Error>> {
    let mut random = fastrand::Rng::with_seed(case);
    // Flat tables first: some readers support every type but not every nesting.
    let depth = if case.is_multiple_of(2) { 0 } else { 1 + case as usize % 4 };
    let schema = schema(&mut random, SchemaShape { fields: 4, depth });
    let batches: Vec<RecordBatch> =
        (0..random.usize(1..4)).map(|_| record_batch(&mut random, &schema, 1 + case as usize * 37 % 1_500)).collect();

    let options = options(&mut random, &schema);
    let written = folder.join(format!("{case:03}.lath.parquet"));
    let mut writer = ParquetWriter::create(&written, &schema, options)?;
    for batch in &batches {
        writer.write(batch)?;
    }
    writer.finish()?;

    let metadata = SerializedFileReader::new(File::open(&written)?)?.metadata().clone();
    let reference = File::create(folder.join(format!("{case:03}.reference.parquet")))?;
    let mut writer = ArrowWriter::try_new(reference, SchemaRef::clone(&schema), Some(like(&metadata)))?;
    for batch in &batches {
        writer.write(batch)?;
    }
    writer.close()?;
    Ok(())
}

/// Properties with which the `parquet` crate writes a file like this one.
fn like(metadata: &ParquetMetaData) -> WriterProperties {
    let mut builder = WriterProperties::builder();
    for chunk in metadata.row_groups().first().into_iter().flat_map(RowGroupMetaData::columns) {
        let path = chunk.column_path().clone();
        let is_dictionary =
            |encoding: &Encoding| matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
        let encodings: Vec<Encoding> = chunk.encodings().collect();
        builder = builder
            .set_column_compression(path.clone(), chunk.compression())
            .set_column_dictionary_enabled(path.clone(), encodings.iter().any(is_dictionary));
        // Levels are RLE, and dictionaries PLAIN: any other encoding belongs to the values.
        let levels = [Encoding::RLE, Encoding::PLAIN];
        if chunk.column_type() == PhysicalType::BOOLEAN && !encodings.contains(&Encoding::PLAIN) {
            builder = builder.set_column_encoding(path.clone(), Encoding::RLE);
        }
        let of_values = encodings.iter().find(|&encoding| !is_dictionary(encoding) && !levels.contains(encoding));
        if let Some(&encoding) = of_values {
            // Used after a dictionary that was abandoned, as here.
            builder =
                builder.set_column_encoding(path.clone(), encoding).set_column_dictionary_page_size_limit(path, 100);
        }
    }
    builder.build()
}

fn options(random: &mut fastrand::Rng, schema: &SchemaRef) -> WriteOptions {
    let mut options = match random.u8(..8) {
        0 => return WriteOptions::profile(Profile::Compatible),
        1 => return WriteOptions::profile(Profile::Compact),
        2 => WriteOptions::profile(Profile::Lookup),
        _ => WriteOptions::default(),
    };
    options = options.row_group_rows(*random.choice(&[100, 1_000, 1 << 20]).expect("three choices"));
    for column in leaf_columns(schema, false) {
        let mut column_options = ColumnOptions::new()
            .codec(codec(random))
            .dictionary(random.bool())
            .dictionary_bytes(*random.choice(&[100, 1 << 20]).expect("two choices"))
            .encoding(encoding(random, column.physical_type()))
            .page_version(if random.bool() { PageVersion::V1 } else { PageVersion::V2 })
            .page_rows(*random.choice(&[1, 50, 20_000]).expect("three choices"));
        if random.bool() && column.physical_type() != PhysicalType::BOOLEAN {
            column_options = column_options.bloom_filter(BloomFilter::DEFAULT);
        }
        options = options.column(column.path().string(), column_options);
    }
    options
}

fn codec(random: &mut fastrand::Rng) -> Codec {
    let codecs = [
        Codec::Uncompressed,
        Codec::Snappy,
        Codec::Zstd { level: 3 },
        Codec::Gzip { level: 6 },
        Codec::Brotli { level: 5 },
        Codec::Lz4Raw,
    ];
    codecs[random.usize(..codecs.len())]
}

fn encoding(random: &mut fastrand::Rng, physical_type: PhysicalType) -> ValueEncoding {
    let encodings: &[ValueEncoding] = match physical_type {
        PhysicalType::BOOLEAN => &[ValueEncoding::Plain, ValueEncoding::Rle],
        PhysicalType::INT32 | PhysicalType::INT64 => {
            &[ValueEncoding::Plain, ValueEncoding::DeltaBinaryPacked, ValueEncoding::ByteStreamSplit]
        }
        PhysicalType::FLOAT | PhysicalType::DOUBLE => &[ValueEncoding::Plain, ValueEncoding::ByteStreamSplit],
        PhysicalType::BYTE_ARRAY => {
            &[ValueEncoding::Plain, ValueEncoding::DeltaLengthByteArray, ValueEncoding::DeltaByteArray]
        }
        PhysicalType::FIXED_LEN_BYTE_ARRAY => {
            &[ValueEncoding::Plain, ValueEncoding::ByteStreamSplit, ValueEncoding::DeltaByteArray]
        }
        PhysicalType::INT96 => &[ValueEncoding::Plain],
    };
    encodings[random.usize(..encodings.len())]
}
