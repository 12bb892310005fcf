use super::parse::known_physical_type;
use crate::error::{Error, Result};
use crate::outline::DEEPEST_SCHEMA;
use crate::thrift::{ThriftError, ThriftReader, WireType};

/// Walks over the list of schema elements, which have to be one tree no deeper than `schema_depth`, and notes leaves whose
/// physical type is not known, with its number.
///
/// The outer result is that of the walk, which has to go on to the list's end whatever the inner one says.
pub(crate) fn check_schema(
    reader: &mut ThriftReader<'_>,
    schema_depth: usize,
    unknown_types: &mut Vec<(usize, i32)>,
) -> Result<Result<()>, ThriftError> {
    let deepest = schema_depth.min(DEEPEST_SCHEMA);
    let (element, count) = reader.list()?;
    if element != WireType::Struct {
        return Err(ThriftError::Malformed("schema"));
    }
    let mut verdict = Ok(());
    let mut leaves = 0;
    // Children that are still to come, for each group that is not complete: the way down from the root.
    let mut open: Vec<usize> = Vec::new();
    for index in 0..count {
        let [physical_type, children] = reader.skip_to_integers_1_and_5()?;
        let children = children.unwrap_or(0);
        if let Some(physical_type) = physical_type.filter(|_| children <= 0 && index > 0) {
            if known_physical_type(physical_type).is_none() {
                unknown_types.push((leaves, physical_type));
            }
            leaves += 1;
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
