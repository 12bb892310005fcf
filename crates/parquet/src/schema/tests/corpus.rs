use std::fs;
use std::path::{Path, PathBuf};

use parquet::arrow::{ProjectionMask, parquet_to_arrow_schema, parquet_to_arrow_schema_by_columns};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};

use super::{NodeKind, as_of_crate, build, leaves, offsets};
use crate::options::Strings;
use crate::schema::{Projection, SchemaOptions};

/// Metadata of every file of the collection that the crate can open without keys.
fn metadata_of_corpus() -> Vec<(PathBuf, ParquetMetaData)> {
    fn visit(folder: &Path, found: &mut Vec<(PathBuf, ParquetMetaData)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                visit(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "parquet") {
                let file = fs::File::open(&path).unwrap();
                if let Ok(metadata) = ParquetMetaDataReader::new().parse_and_finish(&file) {
                    found.push((path, metadata));
                }
            }
        }
    }
    let mut found = Vec::new();
    if let Some(folder) = lath_testkit::parquet_test_data() {
        visit(&folder, &mut found);
        assert!(found.len() > 150, "only {} files could be opened", found.len());
    }
    found
}

#[test]
fn arrow_types_are_those_of_the_parquet_crate_for_every_file_of_the_collection() {
    for (path, metadata) in metadata_of_corpus() {
        let file = metadata.file_metadata();
        let descr = file.schema_descr();
        let key_value = file.key_value_metadata();
        let expected = parquet_to_arrow_schema(descr, key_value);
        let built = build(descr, key_value.map(Vec::as_slice), &offsets(), None);
        let (schema, nodes) = built.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        match expected {
            Ok(expected) => assert_eq!(as_of_crate(&schema), expected, "{}", path.display()),
            Err(error) => eprintln!("{} is read as {schema:?}, where the crate says {error}", path.display()),
        }
        let columns: Vec<usize> = leaves(&nodes)
            .iter()
            .map(|node| match &node.kind {
                NodeKind::Leaf(leaf) => leaf.column,
                _ => unreachable!(),
            })
            .collect();
        assert_eq!(columns, (0..descr.num_columns()).collect::<Vec<_>>(), "{}", path.display());
    }
}

#[test]
fn views_differ_from_offsets_in_nothing_but_strings() {
    for (path, metadata) in metadata_of_corpus() {
        let file = metadata.file_metadata();
        let key_value = file.key_value_metadata().map(Vec::as_slice);
        let (_, nodes) = build(file.schema_descr(), key_value, &offsets(), None).unwrap();
        let (_, view_nodes) = build(file.schema_descr(), key_value, &SchemaOptions::default(), None).unwrap();
        for (node, view_node) in leaves(&nodes).iter().zip(leaves(&view_nodes)) {
            use arrow_schema::DataType::{Binary, BinaryView, LargeBinary, LargeUtf8, Utf8, Utf8View};
            let expected = match node.field.data_type() {
                Utf8 | LargeUtf8 => Utf8View,
                Binary | LargeBinary => BinaryView,
                other => other.clone(),
            };
            assert_eq!(*view_node.field.data_type(), expected, "{}", path.display());
        }
    }
}

#[test]
fn each_root_column_of_every_file_can_be_chosen_alone() {
    for (path, metadata) in metadata_of_corpus() {
        let file = metadata.file_metadata();
        let descr = file.schema_descr();
        let options = SchemaOptions { strings: Strings::Offsets, ..SchemaOptions::default() };
        for root in descr.root_schema().get_fields() {
            let projection = Projection::from_paths([root.name()]);
            let key_value = file.key_value_metadata();
            let (schema, _) = build(descr, key_value.map(Vec::as_slice), &options, Some(&projection)).unwrap();
            let mask = ProjectionMask::columns(descr, [root.name()]);
            if let Ok(expected) = parquet_to_arrow_schema_by_columns(descr, mask, key_value) {
                assert_eq!(as_of_crate(&schema), expected, "{}: {}", path.display(), root.name());
            }
        }
    }
}
