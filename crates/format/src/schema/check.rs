use parquet::basic::Type as PhysicalType;

use super::parse::known_physical_type;
use crate::error::{Error, Result};
use crate::thrift::{ThriftError, ThriftReader, WireType};

/// The maximum depth of a schema, whatever a caller allows: schemas are walked recursively, and threads have stacks of 2 MiB.
pub const DEEPEST_SCHEMA: usize = 512;

/// Properties of the leaf columns, in their order.
#[derive(Debug, Default)]
pub(crate) struct Leaves {
    /// Whether values have fixed width. In the schema this is three pointers away from each column.
    pub(crate) has_fixed_width: Vec<bool>,
    /// The columns with an unknown physical type, with its number.
    pub(crate) unknown_types: Vec<(usize, i32)>,
}

impl Leaves {
    pub(crate) fn memory_bytes(&self) -> usize {
        self.has_fixed_width.capacity() + self.unknown_types.capacity() * size_of::<(usize, i32)>()
    }
}

/// Walks over the list of schema elements, which must be one tree of at most `schema_depth` levels, and collects properties of the leaves.
///
/// The outer result is an error of the walk. An inner error does not stop the walk, which has to reach the list's end.
pub(crate) fn check_schema(
    reader: &mut ThriftReader<'_>,
    schema_depth: usize,
    leaves: &mut Leaves,
) -> Result<Result<()>, ThriftError> {
    let deepest = schema_depth.min(DEEPEST_SCHEMA);
    let (element, count) = reader.list()?;
    if element != WireType::Struct {
        return Err(ThriftError::Malformed("schema"));
    }
    let mut verdict = Ok(());
    // The number of missing children of each incomplete group, from the root down.
    let mut open: Vec<usize> = Vec::new();
    for index in 0..count {
        let [physical_type, children] = reader.skip_to_integers_1_and_5()?;
        let children = children.unwrap_or(0);
        if let Some(physical_type) = physical_type.filter(|_| children <= 0 && index > 0) {
            let known = known_physical_type(physical_type);
            if known.is_none() {
                leaves.unknown_types.push((leaves.has_fixed_width.len(), physical_type));
            }
            let is_string = |known| matches!(known, PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY);
            leaves.has_fixed_width.push(known.is_some_and(|known| !is_string(known)));
        }
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
            verdict = Err(Error::Limit {
                what: "depth of the schema (schema_depth)",
                limit: deepest as u64,
                actual: open.len() as u64 - 1,
            });
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
