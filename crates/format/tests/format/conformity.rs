//! Checks that a footer follows the specification, with a reader that implements nothing else.
//!
//! Encrypted parts count as unknown. The tables are [parquet.thrift], and the reader is a transliteration of the compact protocol's description.
//!
//! [parquet.thrift]: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift

/// The content of a field.
#[derive(Clone, Copy)]
enum Kind {
    Bool,
    I8,
    I16,
    I32,
    I64,
    Double,
    Bytes,
    Text,
    /// A number that has a name if it is below the limit.
    Enumerator(i64),
    List(&'static Kind),
    Struct(&'static Structure),
    /// A structure with one field of several.
    Union(&'static Structure),
}

struct Structure {
    name: &'static str,
    fields: &'static [(i64, bool, Kind)],
}

const REQUIRED: bool = true;
const OPTIONAL: bool = false;

use Kind::{Bool, Bytes, Double, Enumerator, I8, I16, I32, I64, List, Struct, Text, Union};

const EMPTY: Kind = Struct(&Structure { name: "type without parameters", fields: &[] });
const COLUMN_ORDER: Structure =
    Structure { name: "ColumnOrder", fields: &[(1, OPTIONAL, EMPTY), (2, OPTIONAL, EMPTY)] };
const TIME_UNIT: Structure =
    Structure { name: "TimeUnit", fields: &[(1, OPTIONAL, EMPTY), (2, OPTIONAL, EMPTY), (3, OPTIONAL, EMPTY)] };
const DECIMAL: Structure = Structure { name: "DecimalType", fields: &[(1, REQUIRED, I32), (2, REQUIRED, I32)] };
const TIME: Structure =
    Structure { name: "TimeType", fields: &[(1, REQUIRED, Bool), (2, REQUIRED, Union(&TIME_UNIT))] };
const INTEGER: Structure = Structure { name: "IntType", fields: &[(1, REQUIRED, I8), (2, REQUIRED, Bool)] };
const LOGICAL_TYPE: Structure = Structure {
    name: "LogicalType",
    fields: &[
        (1, OPTIONAL, EMPTY),
        (2, OPTIONAL, EMPTY),
        (3, OPTIONAL, EMPTY),
        (4, OPTIONAL, EMPTY),
        (5, OPTIONAL, Struct(&DECIMAL)),
        (6, OPTIONAL, EMPTY),
        (7, OPTIONAL, Struct(&TIME)),
        (8, OPTIONAL, Struct(&TIME)),
        (10, OPTIONAL, Struct(&INTEGER)),
        (11, OPTIONAL, EMPTY),
        (12, OPTIONAL, EMPTY),
        (13, OPTIONAL, EMPTY),
        (14, OPTIONAL, EMPTY),
        (15, OPTIONAL, EMPTY),
        (16, OPTIONAL, Struct(&Structure { name: "VariantType", fields: &[(1, OPTIONAL, I8)] })),
        (17, OPTIONAL, Struct(&Structure { name: "GeometryType", fields: &[(1, OPTIONAL, Text)] })),
        (
            18,
            OPTIONAL,
            Struct(&Structure { name: "GeographyType", fields: &[(1, OPTIONAL, Text), (2, OPTIONAL, Enumerator(5))] }),
        ),
    ],
};
const BOUNDING_BOX: Structure = Structure {
    name: "BoundingBox",
    fields: &[
        (1, REQUIRED, Double),
        (2, REQUIRED, Double),
        (3, REQUIRED, Double),
        (4, REQUIRED, Double),
        (5, OPTIONAL, Double),
        (6, OPTIONAL, Double),
        (7, OPTIONAL, Double),
        (8, OPTIONAL, Double),
    ],
};
const GEOSPATIAL_STATISTICS: Structure = Structure {
    name: "GeospatialStatistics",
    fields: &[(1, OPTIONAL, Struct(&BOUNDING_BOX)), (2, OPTIONAL, List(&I32))],
};
const KEY_VALUE: Structure = Structure { name: "KeyValue", fields: &[(1, REQUIRED, Text), (2, OPTIONAL, Text)] };
const STATISTICS: Structure = Structure {
    name: "Statistics",
    fields: &[
        (1, OPTIONAL, Bytes),
        (2, OPTIONAL, Bytes),
        (3, OPTIONAL, I64),
        (4, OPTIONAL, I64),
        (5, OPTIONAL, Bytes),
        (6, OPTIONAL, Bytes),
        (7, OPTIONAL, Bool),
        (8, OPTIONAL, Bool),
        (9, OPTIONAL, I64),
    ],
};
const PAGE_ENCODING_STATS: Structure = Structure {
    name: "PageEncodingStats",
    fields: &[(1, REQUIRED, Enumerator(4)), (2, REQUIRED, Enumerator(10)), (3, REQUIRED, I32)],
};
const SIZE_STATISTICS: Structure = Structure {
    name: "SizeStatistics",
    fields: &[(1, OPTIONAL, I64), (2, OPTIONAL, List(&I64)), (3, OPTIONAL, List(&I64))],
};
const COLUMN_META_DATA: Structure = Structure {
    name: "ColumnMetaData",
    fields: &[
        (1, REQUIRED, Enumerator(8)),
        (2, REQUIRED, List(&Enumerator(10))),
        (3, REQUIRED, List(&Text)),
        (4, REQUIRED, Enumerator(8)),
        (5, REQUIRED, I64),
        (6, REQUIRED, I64),
        (7, REQUIRED, I64),
        (8, OPTIONAL, List(&Struct(&KEY_VALUE))),
        (9, REQUIRED, I64),
        (10, OPTIONAL, I64),
        (11, OPTIONAL, I64),
        (12, OPTIONAL, Struct(&STATISTICS)),
        (13, OPTIONAL, List(&Struct(&PAGE_ENCODING_STATS))),
        (14, OPTIONAL, I64),
        (15, OPTIONAL, I32),
        (16, OPTIONAL, Struct(&SIZE_STATISTICS)),
        (17, OPTIONAL, Struct(&GEOSPATIAL_STATISTICS)),
    ],
};
const COLUMN_CHUNK: Structure = Structure {
    name: "ColumnChunk",
    fields: &[
        (1, OPTIONAL, Text),
        (2, REQUIRED, I64),
        (3, REQUIRED, Struct(&COLUMN_META_DATA)),
        (4, OPTIONAL, I64),
        (5, OPTIONAL, I32),
        (6, OPTIONAL, I64),
        (7, OPTIONAL, I32),
    ],
};
const SORTING_COLUMN: Structure =
    Structure { name: "SortingColumn", fields: &[(1, REQUIRED, I32), (2, REQUIRED, Bool), (3, REQUIRED, Bool)] };
const ROW_GROUP: Structure = Structure {
    name: "RowGroup",
    fields: &[
        (1, REQUIRED, List(&Struct(&COLUMN_CHUNK))),
        (2, REQUIRED, I64),
        (3, REQUIRED, I64),
        (4, OPTIONAL, List(&Struct(&SORTING_COLUMN))),
        (5, OPTIONAL, I64),
        (6, OPTIONAL, I64),
        (7, OPTIONAL, I16),
    ],
};
const SCHEMA_ELEMENT: Structure = Structure {
    name: "SchemaElement",
    fields: &[
        (1, OPTIONAL, Enumerator(8)),
        (2, OPTIONAL, I32),
        (3, OPTIONAL, Enumerator(3)),
        (4, REQUIRED, Text),
        (5, OPTIONAL, I32),
        (6, OPTIONAL, Enumerator(22)),
        (7, OPTIONAL, I32),
        (8, OPTIONAL, I32),
        (9, OPTIONAL, I32),
        (10, OPTIONAL, Union(&LOGICAL_TYPE)),
    ],
};
const FILE_META_DATA: Structure = Structure {
    name: "FileMetaData",
    fields: &[
        (1, REQUIRED, I32),
        (2, REQUIRED, List(&Struct(&SCHEMA_ELEMENT))),
        (3, REQUIRED, I64),
        (4, REQUIRED, List(&Struct(&ROW_GROUP))),
        (5, OPTIONAL, List(&Struct(&KEY_VALUE))),
        (6, OPTIONAL, Text),
        (7, OPTIONAL, List(&Union(&COLUMN_ORDER))),
    ],
};

/// The first violation of the specification in a footer, or the first value that it leaves to readers.
pub(crate) fn first_breach(footer: &[u8]) -> Result<(), String> {
    Reader { bytes: footer }.structure(&FILE_META_DATA).map(|_| ())
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.bytes.split_at_checked(len).ok_or("it is cut short")?;
        self.bytes = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0u128;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            value |= u128::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                if byte == 0 && shift > 0 {
                    return Err("an integer has more bytes than it needs".to_owned());
                }
                return u64::try_from(value).map_err(|_| "an integer has more than 64 bits".to_owned());
            }
        }
        Err("an integer has more than ten bytes".to_owned())
    }

    fn zigzag(&mut self) -> Result<i64, String> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Returns the number of its fields.
    fn structure(&mut self, structure: &Structure) -> Result<usize, String> {
        let (mut id, mut seen) = (0, Vec::new());
        loop {
            let header = self.byte()?;
            if header == 0 {
                break;
            }
            id = if header >> 4 == 0 { self.zigzag()? } else { id + i64::from(header >> 4) };
            let wire_type = header & 0x0f;
            let at = format!("{}.{id}", structure.name);
            let Some((_, _, kind)) = structure.fields.iter().find(|(field, ..)| *field == id) else {
                return Err(format!("{at} is not known"));
            };
            if seen.contains(&id) {
                return Err(format!("{at} is there twice"));
            }
            seen.push(id);
            match kind {
                Bool if wire_type == 1 || wire_type == 2 => {}
                kind if wire_type != kind.wire_type() => return Err(format!("{at} has another type")),
                kind => self.value(*kind, &at)?,
            }
        }
        match structure.fields.iter().find(|(id, required, _)| *required && !seen.contains(id)) {
            Some((id, ..)) => Err(format!("{}.{id} is missing", structure.name)),
            None => Ok(seen.len()),
        }
    }

    fn value(&mut self, kind: Kind, at: &str) -> Result<(), String> {
        let in_range = |number: i64, limit: i64| match (-limit..limit).contains(&number) {
            true => Ok(()),
            false => Err(format!("{at} has no such value")),
        };
        match kind {
            Bool => match self.byte()? {
                1 | 2 => Ok(()),
                _ => Err(format!("{at} has no such value")),
            },
            I8 => self.byte().map(|_| ()),
            Double => self.take(8).map(|_| ()),
            I16 => in_range(self.zigzag()?, 1 << 15),
            I32 => in_range(self.zigzag()?, 1 << 31),
            I64 => self.zigzag().map(|_| ()),
            Enumerator(limit) => match self.zigzag()? {
                number if (0..limit).contains(&number) => Ok(()),
                _ => Err(format!("{at} has no such value")),
            },
            Bytes | Text => {
                let len = self.varint()?;
                let bytes = self.take(usize::try_from(len).map_err(|_| "a length of 64 bits")?)?;
                match matches!(kind, Text) && std::str::from_utf8(bytes).is_err() {
                    true => Err(format!("{at} is no UTF-8")),
                    false => Ok(()),
                }
            }
            List(element) => {
                let header = self.byte()?;
                let len = if header >> 4 == 15 { self.varint()? } else { (header >> 4).into() };
                if header & 0x0f != element.wire_type() {
                    return Err(format!("{at} has elements of another type"));
                }
                (0..len).try_for_each(|_| self.value(*element, at))
            }
            Struct(structure) => self.structure(structure).map(|_| ()),
            Union(structure) => match self.structure(structure)? {
                1 => Ok(()),
                _ => Err(format!("{at} has not one of several fields")),
            },
        }
    }
}

impl Kind {
    /// The wire type; for booleans, the type of list elements.
    fn wire_type(self) -> u8 {
        match self {
            Bool => 1,
            I8 => 3,
            I16 => 4,
            I32 | Enumerator(_) => 5,
            I64 => 6,
            Double => 7,
            Bytes | Text => 8,
            List(_) => 9,
            Struct(_) | Union(_) => 12,
        }
    }
}
