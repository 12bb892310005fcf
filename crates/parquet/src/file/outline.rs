//! A look at a footer before it is parsed: what the parser believes unchecked, it could be killed by.
//!
//! The `parquet` crate reserves memory for as many row groups and children as a footer claims, and walks the schema
//! recursively. A claim that is out of proportion ends the process, or its stack, where no error can be returned.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::options::Limits;
use crate::schema::DEEPEST_SCHEMA;
use lath_format::thrift::{ThriftError, ThriftReader, WireType};

/// The `parquet` crate numbers row groups by signed 16-bit integers.
const MOST_ROW_GROUPS: usize = i16::MAX as usize + 1;

/// Fields of `FileMetaData` and `SchemaElement`, by number.
const SCHEMA: i16 = 2;
const ROW_GROUPS: i16 = 4;
const KEY_VALUES: i16 = 5;
const CHILD_COUNT: i16 = 5;

/// Where in a footer the parts are that decide its schema.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outline {
    pub(crate) schema: Range<usize>,
    pub(crate) key_values: Range<usize>,
}

/// Checks that the Thrift structures of a `FileMetaData` are whole, that it has no more row groups than can be read, and
/// that its schema is one tree that is not too deep.
pub(crate) fn check_outline(footer: &[u8], limits: &Limits) -> Result<Outline> {
    let mut reader = ThriftReader::new(footer);
    let mut refusal = None;
    let mut outline = Outline::default();
    let walk = reader.each_field(|reader, field| {
        let start = reader.position();
        match (field.id, field.wire_type) {
            (SCHEMA, WireType::List) => {
                if let Err(error) = check_schema(reader, limits)? {
                    refusal.get_or_insert(error);
                }
                outline.schema = start..reader.position();
            }
            (KEY_VALUES, WireType::List) => {
                reader.skip(field)?;
                outline.key_values = start..reader.position();
            }
            (ROW_GROUPS, WireType::List) => {
                let (element, count) = reader.list()?;
                if count > MOST_ROW_GROUPS {
                    let error = Error::unsupported(format!("a file of {count} row groups, over {MOST_ROW_GROUPS}"));
                    refusal.get_or_insert(error);
                }
                for _ in 0..count {
                    reader.skip_element(element)?;
                }
            }
            _ => reader.skip(field)?,
        }
        Ok(())
    });
    walk.map_err(|error| match error {
        ThriftError::Incomplete(_) => Error::corrupt("the footer ends within a structure"),
        ThriftError::Malformed(what) => Error::corrupt(format!("malformed footer: {what}")),
    })?;
    refusal.map_or(Ok(outline), Err)
}

/// The outer result is that of the walk, which has to go on to the list's end whatever the inner one says.
fn check_schema(reader: &mut ThriftReader<'_>, limits: &Limits) -> Result<Result<()>, ThriftError> {
    let deepest = limits.schema_depth.min(DEEPEST_SCHEMA);
    let (element, count) = reader.list()?;
    if element != WireType::Struct {
        return Err(ThriftError::Malformed("schema"));
    }
    let mut verdict = Ok(());
    // Children that are still to come, for each group that is not complete: the way down from the root.
    let mut open: Vec<usize> = Vec::new();
    for index in 0..count {
        let mut children = 0;
        reader.each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (CHILD_COUNT, WireType::I32) => children = reader.i32()?,
                _ => reader.skip(field)?,
            }
            Ok(())
        })?;
        if verdict.is_err() {
            continue;
        }
        let remaining = count - index - 1;
        let Some(children) = usize::try_from(children).ok().filter(|&children| children <= remaining) else {
            verdict = Err(Error::corrupt(format!("schema element {index} claims {children} children")));
            continue;
        };
        if let Some(siblings) = open.last_mut() {
            *siblings -= 1;
        } else if index > 0 {
            verdict = Err(Error::corrupt("the schema has more than one root"));
        }
        open.push(children);
        if open.len() > deepest + 1 {
            verdict = Err(Error::limit("depth of the schema (schema_depth)", deepest as u64, open.len() as u64 - 1));
        }
        while open.last() == Some(&0) {
            open.pop();
        }
    }
    if verdict.is_ok() && !open.is_empty() {
        verdict = Err(Error::corrupt("the schema ends before its last element"));
    }
    Ok(verdict)
}
