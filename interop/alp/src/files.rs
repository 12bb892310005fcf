//! Whole files, written and read by Lath and by the `parquet` crate.

use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use lath_interop_alp::Outcome;
use lath_interop_alp::columns::Value;
use lath_parquet::ParquetFile;
use lath_writer::{Codec, ColumnOptions, PageVersion, ParquetWriter, ValueEncoding, WriteOptions};
use parquet::basic::{Compression, Encoding};
use parquet::column::reader::get_typed_column_reader;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::table::{Leaf, SCHEMA, Table};

/// The parameters that vary from file to file.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub is_v2: bool,
    pub is_compressed: bool,
    pub dictionary: bool,
    pub page_rows: usize,
    pub row_group_rows: usize,
}

impl Layout {
    pub fn random(random: &mut fastrand::Rng) -> Self {
        Self {
            is_v2: random.bool(),
            is_compressed: random.bool(),
            dictionary: random.u8(..4) == 0,
            page_rows: random.usize(1..5_000),
            row_group_rows: random.usize(2_000..6_000),
        }
    }
}

/// Writes the table with Lath, and checks that the `parquet` crate reads the same levels and bits.
pub fn lath_to_peer(table: &Table, layout: Layout) -> Outcome<()> {
    let options = WriteOptions::default()
        .encoding(ValueEncoding::Alp)
        .codec(if layout.is_compressed { Codec::Snappy } else { Codec::Uncompressed })
        .dictionary(layout.dictionary)
        .page_version(if layout.is_v2 { PageVersion::V2 } else { PageVersion::V1 })
        .all_columns(ColumnOptions::new().page_rows(layout.page_rows).dictionary_bytes(10_000))
        .row_group_rows(layout.row_group_rows);
    let batch = table.to_batch();
    let mut writer = ParquetWriter::new(Vec::new(), &batch.schema(), options)?;
    writer.write(&batch)?;
    let file = SerializedFileReader::new(Bytes::from(writer.finish_into()?.0))?;
    let (floats, doubles) = table.leaves();
    floats.iter().try_for_each(|(at, leaf)| read(&file, *at, leaf, layout))?;
    doubles.iter().try_for_each(|(at, leaf)| read(&file, *at, leaf, layout))
}

fn read<T: Value>(file: &SerializedFileReader<Bytes>, leaf: usize, expected: &Leaf<T>, layout: Layout) -> Outcome<()> {
    let mut all = Leaf {
        values: Vec::new(),
        def_levels: expected.def_levels.as_ref().map(|_| Vec::new()),
        rep_levels: expected.rep_levels.as_ref().map(|_| Vec::new()),
    };
    for index in 0..file.num_row_groups() {
        let group = file.get_row_group(index)?;
        let chunk = group.metadata().column(leaf);
        assert!(layout.dictionary || chunk.encodings().any(|encoding| encoding == Encoding::ALP), "{chunk:?}");
        let mut column = get_typed_column_reader::<T::Physical>(group.get_column_reader(leaf)?);
        let rows = group.metadata().num_rows() as usize;
        let (read, ..) =
            column.read_records(rows, all.def_levels.as_mut(), all.rep_levels.as_mut(), &mut all.values)?;
        assert_eq!(read, rows);
    }
    all.assert_same(expected, &format!("leaf {leaf} of Lath's file, read by the crate, {layout:?}"));
    Ok(())
}

/// Writes the row groups with the `parquet` crate, and checks that Lath reads the same rows.
pub fn peer_to_lath(row_groups: Vec<Table>, layout: Layout) -> Outcome<()> {
    let properties = WriterProperties::builder()
        .set_encoding(Encoding::ALP)
        .set_compression(if layout.is_compressed { Compression::SNAPPY } else { Compression::UNCOMPRESSED })
        .set_dictionary_enabled(layout.dictionary)
        .set_dictionary_page_size_limit(10_000)
        .set_writer_version(if layout.is_v2 { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 })
        .set_data_page_row_count_limit(layout.page_rows)
        .set_write_batch_size(1_000)
        .build();
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties))?;
    let mut table = Table::default();
    for rows in row_groups {
        let mut group = writer.next_row_group()?;
        let (floats, doubles) = rows.leaves();
        let (mut floats, mut doubles) = (floats.into_iter().peekable(), doubles.into_iter());
        // In the order of the schema.
        while floats.peek().is_some() || doubles.len() > 0 {
            let next = 6 - floats.len() - doubles.len();
            match floats.next_if(|(at, _)| *at == next) {
                Some((_, leaf)) => write(&mut group, &leaf)?,
                None => write(&mut group, &doubles.next().ok_or("a leaf")?.1)?,
            }
        }
        group.close()?;
        table.append(rows);
    }
    writer.close()?;

    let file = ParquetFile::from_bytes(bytes.into())?;
    let mut got = Table::default();
    for batch in file.scan().build()? {
        let batch: RecordBatch = batch?;
        got.append(Table::from_batch(&batch));
    }
    assert_eq!(got.row_count(), table.row_count());
    let ((floats, doubles), (expected_floats, expected_doubles)) = (got.leaves(), table.leaves());
    let what = |leaf: usize| format!("leaf {leaf} of the crate's file, read by Lath, {layout:?}");
    for ((at, got), (_, expected)) in floats.iter().zip(&expected_floats) {
        got.assert_same(expected, &what(*at));
    }
    for ((at, got), (_, expected)) in doubles.iter().zip(&expected_doubles) {
        got.assert_same(expected, &what(*at));
    }
    Ok(())
}

fn write<T: Value>(group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>, leaf: &Leaf<T>) -> Outcome<()> {
    let mut column = group.next_column()?.ok_or("a column of the schema")?;
    let (def_levels, rep_levels) = (leaf.def_levels.as_deref(), leaf.rep_levels.as_deref());
    column.typed::<T::Physical>().write_batch(&leaf.values, def_levels, rep_levels)?;
    Ok(column.close()?)
}
