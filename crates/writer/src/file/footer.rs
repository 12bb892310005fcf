//! Writes the footer.
//!
//! ```text
//! | PAR1 | row groups | Bloom filters | column indexes | offset indexes | FileMetaData | length, u32 | PAR1 |
//! ```

use std::io::Write;
use std::sync::Arc;

use lath_format::write::{FooterMetaData, RowGroupMetaData};
use lath_format::{ColumnOrder, DEEPEST_SCHEMA, FileEncryptor, FileMetaData, Footer, SortingColumn};
use lath_parquet::{Error, Result};

use super::encrypt::invalid;
use super::output::{Output, signed, too_long};
use super::page_index;
use super::row_group::{RowGroup, RowGroups};
use crate::options::{PageVersion, WriteOptions};
use crate::schema::WriteSchema;

/// First and last bytes of every Parquet file.
pub(crate) const MAGIC: &[u8; 4] = b"PAR1";

/// First and last bytes of a file with an encrypted footer.
const ENCRYPTED_MAGIC: &[u8; 4] = b"PARE";

/// First and last bytes of a file.
pub(crate) fn magic(encryptor: Option<&FileEncryptor>) -> &'static [u8; 4] {
    match encryptor {
        Some(encryptor) if !encryptor.has_plaintext_footer() => ENCRYPTED_MAGIC,
        _ => MAGIC,
    }
}

/// Writes everything after the last row group.
pub(crate) fn write<W: Write>(
    row_groups: &mut RowGroups,
    schema: &WriteSchema,
    options: &WriteOptions,
    encryptor: Option<&FileEncryptor>,
    output: &mut Output<W>,
) -> Result<Arc<FileMetaData>> {
    row_groups.write_bloom_filters(output)?;
    page_index::write(row_groups, output)?;
    let footer = encode(row_groups.done(), schema, options, encryptor)?;
    output.write(&footer)?;
    output.write(&u32::try_from(footer.len()).map_err(|_| too_long())?.to_le_bytes())?;
    output.write(magic(encryptor))?;
    parse(footer, encryptor)
}

/// Parses the footer as a reader does.
fn parse(footer: Vec<u8>, encryptor: Option<&FileEncryptor>) -> Result<Arc<FileMetaData>> {
    let metadata = match encryptor {
        None => FileMetaData::from_bytes(footer),
        Some(encryptor) => {
            let (is_encrypted, keys) = (!encryptor.has_plaintext_footer(), encryptor.decryption_keys());
            Footer::find(footer.into(), is_encrypted, Some(&keys), DEEPEST_SCHEMA)
                .and_then(|footer| footer.parse_schema().map(|schema| (footer, schema)))
                .and_then(|(footer, schema)| footer.with_schema(schema))
        }
    };
    metadata.map(Arc::new).map_err(|error| Error::internal(format!("the footer cannot be read: {error}")))
}

/// The `FileMetaData`, encrypted or signed if there is an encryptor.
fn encode(
    row_groups: &[RowGroup],
    schema: &WriteSchema,
    options: &WriteOptions,
    encryptor: Option<&FileEncryptor>,
) -> Result<Vec<u8>> {
    let sorting = options.sorting().iter().map(|sorting| {
        let column_idx = i32::try_from(schema.leaf_index(&sorting.path)?).map_err(|_| too_long())?;
        let (descending, nulls_first) = (sorting.descending, sorting.nulls_first);
        Ok(SortingColumn { column_idx, descending, nulls_first })
    });
    let sorting = Some(sorting.collect::<Result<Vec<_>>>()?).filter(|sorting| !sorting.is_empty());
    // Ordinals have 16 bits. All row groups have one, or none.
    let has_ordinals = row_groups.len() <= i16::MAX as usize + 1;
    let row_groups = row_groups.iter().enumerate().map(|(index, row_group)| {
        Ok(RowGroupMetaData {
            columns: row_group.chunks.iter().map(|chunk| &chunk.metadata).collect(),
            num_rows: signed(row_group.rows as u64)?,
            sorting_columns: row_group.sorting.as_deref().or(sorting.as_deref()),
            file_offset: row_group.chunks.first().map(|chunk| signed(chunk.start)).transpose()?,
            ordinal: has_ordinals.then_some(index as i16),
        })
    });
    let has_new_pages = schema.leaves.iter().any(|leaf| leaf.options.page_version == PageVersion::V2);
    let order = |has_total_order| if has_total_order { ColumnOrder::Ieee754Total } else { ColumnOrder::TypeDefined };
    let footer = FooterMetaData {
        version: if has_new_pages { 2 } else { 1 },
        schema: schema.descr.root_schema(),
        row_groups: row_groups.collect::<Result<_>>()?,
        key_value_metadata: &schema.key_values(options),
        created_by: Some(options.creator()),
        column_orders: &schema.leaves.iter().map(|leaf| order(leaf.has_total_order())).collect::<Vec<_>>(),
    };
    let mut bytes = Vec::new();
    match encryptor {
        None => footer.write(&mut bytes),
        Some(encryptor) => footer.write_encrypted(encryptor, &mut bytes).map_err(invalid)?,
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array};
    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::chunk::tests::write_column;
    use crate::file::row_group::Chunk;

    #[test]
    fn row_groups_have_ordinals_unless_there_are_more_of_them_than_numbers() {
        let array: ArrayRef = Arc::new(Int32Array::from(vec![7]));
        let options = WriteOptions::default();
        let metadata = write_column(&array, &options).metadata;
        let schema = Arc::new(Schema::new(vec![Field::new("c", DataType::Int32, false)]));
        let schema = WriteSchema::new(&schema, &options).unwrap();
        let row_group = || {
            let (column_index, offset_index, bloom_filter, choice) = (None, None, None, None);
            let metadata = metadata.clone();
            let chunk = Chunk { start: 4, metadata, column_index, offset_index, bloom_filter, choice };
            RowGroup { rows: 1, chunks: vec![chunk], sorting: None }
        };
        for (count, first, last) in [(32_768, Some(0), Some(i16::MAX)), (32_769, None, None)] {
            let row_groups: Vec<_> = std::iter::repeat_with(row_group).take(count).collect();
            let bytes = encode(&row_groups, &schema, &options, None).unwrap();
            let footer = FileMetaData::from_bytes(bytes).unwrap();
            let ordinal = |index| footer.row_group(index).unwrap().ordinal();
            assert_eq!((ordinal(0), ordinal(count - 1)), (first, last));
        }
    }
}
