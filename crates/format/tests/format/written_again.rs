use lath_format::write::{ColumnChunkMetaData, FooterMetaData, RowGroupMetaData};
use lath_format::{ColumnOrder, FileMetaData};

use crate::against_crate::{by_crate, compare, footers};

/// The footer, written again from its metadata; `None` if a chunk cannot be read.
fn written(file: &FileMetaData) -> Option<Vec<u8>> {
    let chunks = file.row_groups().map(|row_group| {
        row_group.columns().map(|chunk| Some(ColumnChunkMetaData::from(&chunk.ok()?))).collect::<Option<Vec<_>>>()
    });
    let chunks = chunks.collect::<Option<Vec<_>>>()?;
    let sorting: Vec<_> = file.row_groups().map(|row_group| row_group.sorting_columns()).collect();
    let row_groups = file.row_groups().zip(&chunks).zip(&sorting).map(|((row_group, chunks), sorting)| {
        let (columns, num_rows) = (chunks.iter().collect(), row_group.num_rows().cast_signed());
        let (file_offset, ordinal) = (row_group.file_offset(), row_group.ordinal());
        RowGroupMetaData { columns, num_rows, sorting_columns: sorting.as_deref(), file_offset, ordinal }
    });
    let column_orders: Vec<_> = (0..file.column_count()).map(|leaf| file.column_order(leaf)).collect();
    let footer = FooterMetaData {
        version: file.version(),
        schema: file.schema_descr().root_schema(),
        row_groups: row_groups.collect(),
        key_value_metadata: &file.key_value_metadata(),
        created_by: file.created_by(),
        column_orders: &column_orders,
    };
    let mut bytes = Vec::new();
    footer.write(&mut bytes);
    Some(bytes)
}

#[test]
fn every_footer_of_the_collection_says_the_same_when_it_is_written_again() {
    let mut count = 0;
    for (path, footer) in footers() {
        let at = path.display().to_string();
        let Ok(file) = FileMetaData::from_bytes(footer) else { continue };
        let Some(bytes) = written(&file) else { continue };
        let again = FileMetaData::from_bytes(bytes).unwrap_or_else(|error| panic!("{at}: {error}"));
        assert_eq!(again.version(), file.version(), "{at}");
        assert_eq!(again.created_by(), file.created_by(), "{at}");
        assert_eq!(again.key_value_metadata(), file.key_value_metadata(), "{at}");
        assert_eq!(again.schema_descr().root_schema(), file.schema_descr().root_schema(), "{at}");
        assert_eq!(again.row_counts(), file.row_counts(), "{at}");
        for leaf in 0..file.column_count() {
            match file.column_order(leaf) {
                ColumnOrder::Unknown => assert_eq!(again.column_order(leaf), ColumnOrder::Undefined, "{at}"),
                order => assert_eq!(again.column_order(leaf), order, "{at}"),
            }
        }
        for (old, new) in file.row_groups().zip(again.row_groups()) {
            assert_eq!(new.sorting_columns(), old.sorting_columns(), "{at}");
            assert_eq!((new.file_offset(), new.ordinal()), (old.file_offset(), old.ordinal()), "{at}");
            for (old, new) in old.columns().zip(new.columns()) {
                let [old, new] = [old, new].map(|chunk| ColumnChunkMetaData::from(&chunk.expect("a chunk")));
                assert_eq!(new, old, "{at}");
            }
        }
        // The crate could not read the original either.
        if let Some(theirs) = by_crate(&written(&file).expect("written before").into()) {
            compare(&again, &theirs, &at);
        }
        count += 1;
    }
    println!("{count} footers");
}
