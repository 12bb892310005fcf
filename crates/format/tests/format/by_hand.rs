//! Footers built field by field.

use lath_format::thrift::ThriftWriter;
use lath_format::{Error, FileMetaData, Footer};

/// A file of two required columns, `a` and `b`, and one row group.
struct File {
    /// The physical type of `a`.
    physical_type: i32,
    /// The codec of the chunk of `a`.
    codec: Option<i32>,
}

impl File {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = ThriftWriter::new(&mut bytes);
        writer.i32(1, 1);
        let elements = [("root", None), ("a", Some(self.physical_type)), ("b", Some(1))];
        writer.structures(2, elements.into_iter(), |writer, (name, physical_type)| {
            if let Some(id) = physical_type {
                writer.i32(1, id);
                writer.i32(3, 0);
            }
            writer.binary(4, name.as_bytes());
            if physical_type.is_none() {
                writer.i32(5, 2);
            }
        });
        writer.i64(3, 10);
        writer.structures(4, 0..1, |writer, _| {
            writer.structures(1, [self.codec, Some(1)].into_iter(), |writer, codec| {
                writer.i64(2, 0);
                writer.structure(3, |writer| {
                    writer.i32(1, 1);
                    writer.i32s(2, [0].into_iter());
                    writer.byte_strings(3, ["x".as_bytes()].into_iter());
                    if let Some(codec) = codec {
                        writer.i32(4, codec);
                    }
                    for (id, number) in [(5, 10), (6, 60), (7, 50), (9, 4)] {
                        writer.i64(id, number);
                    }
                });
            });
            writer.i64(2, 100);
            writer.i64(3, 10);
        });
        writer.end();
        bytes
    }

    fn read(&self) -> FileMetaData {
        FileMetaData::from_bytes(self.bytes()).expect("a footer")
    }
}

#[test]
fn a_chunk_without_a_codec_is_an_error_and_the_others_are_read() {
    let file = File { physical_type: 1, codec: None }.read();
    let error = file.chunk(0, 0).expect_err("there is no codec");
    assert_eq!(error, Error::CorruptChunk { what: "the codec is missing".to_owned(), row_group: 0, column: 0 });
    assert_eq!(file.chunk(0, 1).map(|chunk| chunk.num_values()), Ok(10));
    // Unknown numbers are no error before pages are read.
    let file = File { physical_type: 1, codec: Some(99) }.read();
    assert_eq!(file.chunk(0, 0).map(|chunk| chunk.codec().id()), Ok(99));
}

#[test]
fn a_physical_type_that_is_not_known_costs_its_column_alone() {
    for id in [8, 1_000, -1, i32::MAX, i32::MIN] {
        let file = File { physical_type: id, codec: Some(1) }.read();
        assert_eq!(file.column_count(), 2);
        assert_eq!(file.schema_descr().columns()[0].name(), "a");
        let error = file.chunk(0, 0).expect_err("the type is not known");
        assert_eq!(error, Error::Unsupported { what: format!("physical type {id} of column a") });
        assert_eq!(file.chunk(0, 1).map(|chunk| chunk.compressed_size()), Ok(50));
        // The schema of another file with the same bytes gives the same result.
        let footer = Footer::find(File { physical_type: id, codec: Some(1) }.bytes().into(), false, None, 8);
        let again = footer.expect("a footer").with_schema(file.schema_descr().clone()).expect("the same schema");
        assert!(again.chunk(0, 0).is_err());
    }
}

/// A footer of 40 row groups with one column of 32-bit integers, whose statistics say `exact` of both bounds. This many similar
/// chunks are read by their layout.
fn footer_with_bounds(physical_type: i32, exact: Option<[bool; 2]>) -> FileMetaData {
    let mut bytes = Vec::new();
    let mut writer = ThriftWriter::new(&mut bytes);
    writer.i32(1, 1);
    writer.structures(2, [("root", None), ("a", Some(physical_type))].into_iter(), |writer, (name, physical_type)| {
        if let Some(id) = physical_type {
            writer.i32(1, id);
            writer.i32(3, 0);
        }
        writer.binary(4, name.as_bytes());
        if physical_type.is_none() {
            writer.i32(5, 1);
        }
    });
    writer.i64(3, 400);
    writer.structures(4, 0..40, |writer, _| {
        writer.structures(1, 0..1, |writer, _| {
            writer.i64(2, 0);
            writer.structure(3, |writer| {
                writer.i32(1, physical_type);
                writer.i32s(2, [0].into_iter());
                writer.byte_strings(3, ["a".as_bytes()].into_iter());
                writer.i32(4, 0);
                for (id, number) in [(5, 10), (6, 60), (7, 50), (9, 4)] {
                    writer.i64(id, number);
                }
                writer.structure(12, |writer| {
                    writer.binary(5, [9, 0, 0, 0]);
                    writer.binary(6, [1, 0, 0, 0]);
                    if let Some([max, min]) = exact {
                        writer.bool(7, max);
                        writer.bool(8, min);
                    }
                });
            });
        });
        writer.i64(2, 100);
        writer.i64(3, 10);
    });
    writer.end();
    FileMetaData::from_bytes(bytes).expect("a footer")
}

#[test]
fn bounds_are_exact_where_the_writer_says_so_or_says_nothing_of_numbers() {
    let (int32, byte_array) = (1, 6);
    for (physical_type, exact, expected) in [
        (int32, None, [true, true]),
        (byte_array, None, [false, false]),
        (int32, Some([false, false]), [false, false]),
        (int32, Some([true, false]), [true, false]),
        (byte_array, Some([true, true]), [true, true]),
        (byte_array, Some([false, true]), [false, true]),
    ] {
        let footer = footer_with_bounds(physical_type, exact);
        for row_group in [0, 39] {
            let statistics = footer.chunk(row_group, 0).expect("a chunk").statistics().expect("statistics");
            assert_eq!(
                [statistics.max_is_exact, statistics.min_is_exact],
                expected,
                "{physical_type} {exact:?} {row_group}"
            );
        }
    }
}
