//! Catalogs of tables of Delta Lake. The expected rows are the rows that the test put into the table.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../../../lake/tests/lake/delta_table.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod delta_table;

mod histories;

use std::fs;
use std::path::{Path, PathBuf};

use lath_catalog::{AddOptions, Catalog, CatalogProblem, Changes, InFolder};
use lath_lake::At;
use lath_parquet::{DatasetOptions, FooterCache, Predicate};
use serde_json::{Value, json};

use crate::delta_table::{
    Table, field, in_partition, mapped, metadata, protocol, remove, rows, vector_bytes, vector_file, with_vector,
};

/// Number of files of [`numbered`].
const FILES: i64 = 40;

/// The rows of a file. The ids of all files overlap, so that only filters tell files apart.
fn file_rows(file: i64) -> Vec<(i64, &'static str)> {
    (0..20).map(|row| (row * FILES + file, "x")).collect()
}

/// A table of 40 files at version 0, and the `add` of each file.
fn numbered() -> (Table, Vec<Value>) {
    let table = Table::new(&[]);
    let adds: Vec<Value> = (0..FILES).map(|file| table.file(&format!("{file:03}.parquet"), &file_rows(file))).collect();
    table.commit(1, &adds);
    (table, adds)
}

pub(crate) fn catalog_path(table: &Table) -> PathBuf {
    table.path().join(Catalog::FILE_NAME)
}

/// Adds the table to the catalog in its folder, with the key `id`.
fn add(table: &Table) -> Changes {
    let catalog = Catalog::create(catalog_path(table)).unwrap();
    catalog.add([table.path()], &AddOptions::new().key(["id"])).unwrap()
}

fn options() -> DatasetOptions {
    DatasetOptions::new().footer_cache(FooterCache::new(0))
}

/// The number of files that are not ruled out, and the rows.
pub(crate) fn find(catalog: &Path, condition: &str) -> lath_catalog::Result<(usize, Vec<String>)> {
    find_in(&Catalog::open_read_only(catalog)?, condition)
}

fn find_in(catalog: &Catalog, condition: &str) -> lath_catalog::Result<(usize, Vec<String>)> {
    let selection = catalog.select(&Predicate::parse(condition)?, &options())?;
    Ok((selection.files().len(), rows(selection.scan())?))
}

fn refresh(table: &Table) -> (u64, u64, u64, u64) {
    let changes = Catalog::open(catalog_path(table)).unwrap().refresh().unwrap();
    assert!(changes.unreadable.is_empty());
    (changes.added, changes.updated, changes.removed, changes.unchanged)
}

/// Deletes rows of a file by a new deletion vector.
pub(crate) fn delete(table: &Table, add: &Value, name: &str, rows: &[u64]) -> Value {
    let vector = vector_bytes(rows);
    let (bytes, offsets) = vector_file(std::slice::from_ref(&vector));
    fs::write(table.path().join(name), bytes).unwrap();
    let url = format!("file://{}", table.path().join(name).display());
    let descriptor = json!({
        "storageType": "p", "pathOrInlineDv": url, "offset": offsets[0], "sizeInBytes": vector.len(), "cardinality": rows.len()
    });
    with_vector(add.clone(), &descriptor)
}

#[test]
fn a_key_is_looked_up_in_the_only_file_that_has_it() {
    let (table, _) = numbered();
    assert_eq!(add(&table).added, FILES as u64);
    let path = catalog_path(&table);
    assert_eq!(find(&path, "id = 125").unwrap(), (1, vec!["125 x".to_owned()]));
    assert_eq!(find(&path, "id = 999999").unwrap(), (0, vec![]));
    assert_eq!(find(&path, "TRUE").unwrap().1.len(), 20 * FILES as usize);
    assert!(matches!(Catalog::in_folder(table.path()), InFolder::Current(_)));
    let stats = Catalog::open_read_only(&path).unwrap().stats().unwrap();
    assert_eq!((stats.files, stats.table.unwrap().version), (FILES as u64, 1));
    assert!(Catalog::open_read_only(&path).unwrap().check().unwrap().problems.is_empty());
}

/// A search of the version that the catalog has reads no file of the log, and no file that is ruled out.
#[test]
fn a_search_of_the_known_version_reads_no_log_and_no_other_file() {
    let (table, _) = numbered();
    add(&table);
    for file in (0..FILES).filter(|file| *file != 5) {
        fs::remove_file(table.path().join(format!("{file:03}.parquet"))).unwrap();
    }
    fs::remove_file(table.log("00000000000000000000.json")).unwrap();
    assert_eq!(find(&catalog_path(&table), "id = 125").unwrap(), (1, vec!["125 x".to_owned()]));
    // Without the catalog, the table cannot be read any more.
    assert!(table.error().contains("00000000000000000000.json"));
}

#[test]
fn results_are_of_the_newest_version_and_a_refresh_reads_only_new_files() {
    let (table, adds) = numbered();
    add(&table);
    let path = catalog_path(&table);
    let new = table.file("new.parquet", &[(5000, "new"), (125, "again")]);
    let deleted = delete(&table, &adds[7], "rows.bin", &[0, 3]);
    table.commit(2, &[protocol(3, Some(&["deletionVectors"])), remove(&adds[5]), new, remove(&adds[7]), deleted]);
    for _ in 0..2 {
        // File 5 had 125, and rows 0 and 3 of file 7 were 7 and 127.
        assert_eq!(find(&path, "id = 125").unwrap().1, ["125 again"]);
        assert_eq!(find(&path, "id = 5000").unwrap(), (1, vec!["5000 new".to_owned()]));
        assert_eq!(find(&path, "id IN (7, 47, 127)").unwrap().1, ["47 x"]);
        assert_eq!(find(&path, "TRUE").unwrap().1.len(), 20 * (FILES as usize - 1) - 2 + 2);
        // Files that the catalog has are not opened again.
        let (hidden, shown) = (table.path().join("hidden"), table.path().join("000.parquet"));
        fs::rename(&shown, &hidden).unwrap();
        refresh(&table);
        fs::rename(&hidden, &shown).unwrap();
    }
    table.commit(3, &[remove(&adds[0])]);
    let problems = Catalog::open_read_only(&path).unwrap().check().unwrap().problems;
    assert!(
        matches!(problems.as_slice(), [CatalogProblem::Dropped(file)] if file.ends_with("000.parquet")),
        "{problems:?}"
    );
    assert_eq!(refresh(&table), (0, 0, 1, FILES as u64 - 1));
    assert_eq!(refresh(&table), (0, 0, 0, FILES as u64 - 1));
}

/// The catalog has read `a` and `b` by names that then belong to the other column.
#[test]
fn columns_that_swap_their_names_are_not_mixed_up() {
    let table = Table::empty();
    let fields =
        |one: &str, other: &str| [mapped(one, json!("long"), "c1", 1), mapped(other, json!("string"), "c2", 2)];
    let mode = json!({ "delta.columnMapping.mode": "name" });
    let columns = |one: &str, other: &str| metadata(&fields(one, other), &[], mode.clone());
    table.commit(0, &[protocol(3, Some(&["columnMapping"])), columns("id", "text")]);
    let rows: Vec<arrow_array::RecordBatch> = [(1, "p"), (2, "q")]
        .map(|(number, text)| {
            let numbers: arrow_array::ArrayRef =
                std::sync::Arc::new(arrow_array::Int64Array::from(vec![number, number + 10]));
            let texts: arrow_array::ArrayRef = std::sync::Arc::new(arrow_array::StringArray::from(vec![text, "z"]));
            arrow_array::RecordBatch::try_from_iter([("c1", numbers), ("c2", texts)]).unwrap()
        })
        .into();
    let adds = [table.batch("1.parquet", &rows[0]), table.batch("2.parquet", &rows[1])];
    table.commit(1, &adds);
    let catalog = Catalog::create(catalog_path(&table)).unwrap();
    catalog.add([table.path()], &AddOptions::new().key(["id"]).key(["text"])).unwrap();
    drop(catalog);
    let path = catalog_path(&table);
    assert_eq!(find(&path, "id = 11").unwrap(), (1, vec!["11 z".to_owned()]));
    table.commit(2, &[columns("text", "id")]);
    let check = |files: usize| {
        assert_eq!(find(&path, "id = 'p'").unwrap(), (files, vec!["1 p".to_owned()]));
        assert_eq!(find(&path, "text = 12").unwrap().1, ["12 z"]);
        assert_eq!(find(&path, "id = 'none'").unwrap().1, [""; 0]);
    };
    check(2);
    // All files are read again.
    assert_eq!(refresh(&table), (0, 2, 0, 0));
    check(1);
    // A column that was added leaves the others as they are, and one that was dropped and added again is another one.
    let added = [
        mapped("text", json!("long"), "c1", 1),
        mapped("more", json!("long"), "c3", 3),
        mapped("id", json!("string"), "c4", 4),
    ];
    table.commit(3, &[metadata(&added, &[], mode.clone())]);
    for _ in 0..2 {
        assert_eq!(find(&path, "id = 'p'").unwrap().1, [""; 0]);
        assert_eq!(find(&path, "id IS NULL AND text = 12").unwrap().1, ["12 - -"]);
        refresh(&table);
    }
}

#[test]
fn earlier_versions_are_read_through_the_catalog() {
    let (table, adds) = numbered();
    add(&table);
    let path = catalog_path(&table);
    table.commit(2, &[remove(&adds[5])]);
    refresh(&table);
    let at = |version: i64| Catalog::open_read_only(&path).unwrap().at(At::Version(version)).unwrap();
    // Files that are no longer in the catalog are not ruled out.
    assert_eq!(find_in(&at(1), "id = 125").unwrap(), (1, vec!["125 x".to_owned()]));
    assert_eq!(find_in(&at(2), "id = 125").unwrap(), (0, vec![]));
    assert_eq!(find_in(&at(0), "id = 125").unwrap(), (0, vec![]));
    assert!(find_in(&at(3), "id = 125").unwrap_err().to_string().contains("the latest version is 2"));
    let plain = tempfile::tempdir().unwrap();
    fs::copy(table.path().join("000.parquet"), plain.path().join("a.parquet")).unwrap();
    let catalog = Catalog::create(plain.path().join("catalog")).unwrap();
    catalog.add([plain.path()], &AddOptions::new()).unwrap();
    assert!(catalog.at(At::Version(0)).unwrap_err().to_string().contains("no versions"));
}

#[test]
fn a_missing_file_is_an_error_and_not_fewer_rows() {
    let (table, _) = numbered();
    add(&table);
    fs::remove_file(table.path().join("005.parquet")).unwrap();
    let path = catalog_path(&table);
    let error = find(&path, "id = 125").unwrap_err().to_string();
    assert!(error.contains("005.parquet"), "{error}");
    assert!(find(&path, "id >= 0").is_err());
    assert_eq!(find(&path, "id = 126").unwrap().1, ["126 x"]);
    let new = table.file("new.parquet", &[(5000, "new")]);
    fs::remove_file(table.path().join("new.parquet")).unwrap();
    table.commit(2, &[new]);
    let error = Catalog::open(&path).unwrap().refresh().unwrap_err().to_string();
    assert!(error.contains("new.parquet") && error.contains("does not exist"), "{error}");
    assert!(find(&path, "id = 5000").is_err());
}

#[test]
fn a_table_moves_with_its_catalog() {
    let (table, adds) = numbered();
    add(&table);
    let other = tempfile::tempdir().unwrap();
    let moved = other.path().join("moved");
    fs::rename(table.path(), &moved).unwrap();
    let path = moved.join(Catalog::FILE_NAME);
    assert_eq!(find(&path, "id = 125").unwrap(), (1, vec!["125 x".to_owned()]));
    // A copy has files of other inodes: the catalog reads them again.
    let copied = other.path().join("copied");
    fs::create_dir_all(copied.join("_delta_log")).unwrap();
    for name in ["_delta_log/00000000000000000000.json", "_delta_log/00000000000000000001.json"] {
        fs::copy(moved.join(name), copied.join(name)).unwrap();
    }
    for entry in fs::read_dir(&moved).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), copied.join(entry.file_name())).unwrap();
        }
    }
    let path = copied.join(Catalog::FILE_NAME);
    assert_eq!(find(&path, "id = 125").unwrap(), (1, vec!["125 x".to_owned()]));
    drop(adds);
}

#[test]
fn a_search_of_a_table_that_is_gone_says_what_to_do() {
    let (table, _) = numbered();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.catalog");
    Catalog::create(&path).unwrap().add([table.path()], &AddOptions::new()).unwrap();
    fs::rename(table.path().join("_delta_log"), table.path().join("log")).unwrap();
    let catalog = Catalog::open(&path).unwrap();
    let location = table.path().to_str().unwrap();
    let errors = [
        find_in(&catalog, "TRUE").unwrap_err(),
        catalog.schema(&options()).unwrap_err(),
        catalog.refresh().unwrap_err(),
        catalog.check().unwrap_err(),
    ];
    for error in errors.map(|error| error.to_string()) {
        assert!(error.contains("no table") && error.contains(&format!("other.catalog {location})")), "{error}");
    }
}

/// A catalog has read the files of a folder, which then becomes a table with a deleted row.
#[test]
fn plain_files_of_a_folder_that_became_a_table_are_not_searched() {
    let table = Table::empty();
    fs::remove_dir(table.path().join("_delta_log")).unwrap();
    let adds = [table.file("a.parquet", &[(1, "x"), (2, "x")]), table.file("b.parquet", &[(3, "x")])];
    let path = catalog_path(&table);
    let catalog = Catalog::create(&path).unwrap();
    catalog.add([table.path()], &AddOptions::new().key(["id"])).unwrap();
    assert_eq!(find_in(&catalog, "id = 1").unwrap().1, ["1 x"]);
    fs::create_dir(table.path().join("_delta_log")).unwrap();
    let fields = [field("id", json!("long")), field("text", json!("string"))];
    table.commit(0, &[protocol(3, Some(&["deletionVectors"])), metadata(&fields, &[], json!({}))]);
    table.commit(1, &[delete(&table, &adds[0], "rows.bin", &[0]), adds[1].clone()]);
    let location = table.path().to_str().unwrap();
    let errors = [
        find_in(&catalog, "id = 1").unwrap_err(),
        catalog.dataset(&options()).unwrap_err(),
        catalog.schema(&options()).unwrap_err(),
        catalog.refresh().unwrap_err(),
        catalog.check().unwrap_err(),
    ];
    for error in errors.map(|error| error.to_string()) {
        assert!(error.contains("is a table of Delta Lake now") && error.contains("lath catalog remove"), "{error}");
    }
    // As the error says.
    catalog.remove([location]).unwrap();
    catalog.add([table.path()], &AddOptions::new().key(["id"])).unwrap();
    assert_eq!(find_in(&catalog, "id < 4").unwrap().1, ["2 x", "3 x"]);
}

/// The new table has files of the same names and lengths, with other rows.
#[test]
fn a_table_that_is_made_again_in_the_same_place_is_another_one() {
    let table = Table::new(&[]);
    table.commit(1, &[table.file("a.parquet", &[(1, "x")]), table.file("b.parquet", &[(2, "x")])]);
    add(&table);
    let path = catalog_path(&table);
    assert_eq!(find(&path, "id = 1").unwrap(), (1, vec!["1 x".to_owned()]));
    let mut columns = metadata(&[field("id", json!("long")), field("text", json!("string"))], &[], json!({}));
    columns["metaData"]["id"] = json!("other");
    table.commit(0, &[protocol(1, None), columns]);
    table.commit(1, &[table.file("a.parquet", &[(2, "x")]), table.file("b.parquet", &[(1, "x")])]);
    assert_eq!(find(&path, "id = 1").unwrap().1, ["1 x"]);
    assert_eq!(refresh(&table), (0, 2, 0, 0));
    assert_eq!(find(&path, "id = 1").unwrap(), (1, vec!["1 x".to_owned()]));
}

#[test]
fn partition_values_of_the_log_rule_files_out() {
    let table = Table::new(&["text"]);
    let file = |name: &str, ids: &[i64]| {
        let ids: arrow_array::ArrayRef = std::sync::Arc::new(arrow_array::Int64Array::from(ids.to_vec()));
        table.batch(name, &arrow_array::RecordBatch::try_from_iter([("id", ids)]).unwrap())
    };
    // The names of folders have no meaning.
    let one = in_partition(file("text=b/1.parquet", &[1, 2]), json!({ "text": "a" }));
    let two = in_partition(file("text=a/2.parquet", &[1, 2]), json!({ "text": "b" }));
    let none = in_partition(file("text=c/3.parquet", &[1, 2]), json!({ "text": null }));
    table.commit(1, &[one, two, none.clone()]);
    add(&table);
    let path = catalog_path(&table);
    for refreshed in [true, false] {
        assert_eq!(find(&path, "text = 'a' AND id = 2").unwrap().1, ["2 a"]);
        assert_eq!(find(&path, "text IS NULL AND id = 1").unwrap().1, ["1 -"]);
        assert_eq!(find(&path, "text > '' AND text < 'd'").unwrap().1, ["1 a", "1 b", "2 a", "2 b"]);
        if refreshed {
            assert_eq!(find(&path, "text = 'b'").unwrap().0, 1);
            table.commit(2, &[in_partition(file("4.parquet", &[9]), json!({ "text": "d" }))]);
        }
    }
    assert_eq!(find(&path, "text = 'd'").unwrap().1, ["9 d"]);
    refresh(&table);
    assert_eq!(find(&path, "text = 'd'").unwrap(), (1, vec!["9 d".to_owned()]));
    table.commit(3, &[remove(&none)]);
    assert_eq!(find(&path, "text IS NULL").unwrap().1, [""; 0]);
}

#[test]
fn a_table_has_a_catalog_without_other_files() {
    let (table, _) = numbered();
    let (other, _) = numbered();
    let folder = tempfile::tempdir().unwrap();
    fs::copy(table.path().join("000.parquet"), folder.path().join("a.parquet")).unwrap();
    let path = folder.path().join("catalog");
    let add = |locations: &[&Path]| {
        let catalog = Catalog::create(&path).unwrap();
        catalog.add(locations, &AddOptions::new()).map_err(|error| error.to_string())
    };
    for mixed in [[table.path(), folder.path()], [folder.path(), table.path()], [table.path(), other.path()]] {
        assert!(add(&mixed).unwrap_err().contains("is a table"));
    }
    assert_eq!(add(&[folder.path()]).unwrap().added, 1);
    assert!(add(&[table.path()]).unwrap_err().contains("is a table"));
    Catalog::open(&path).unwrap().remove([folder.path().to_str().unwrap()]).unwrap();
    assert_eq!(add(&[table.path()]).unwrap().added, FILES as u64);
    for other in [folder.path(), other.path()] {
        assert!(add(&[other]).unwrap_err().contains("make another catalog"));
    }
    assert_eq!(add(&[table.path()]).unwrap().unchanged, FILES as u64);
    // A new key reads all files again.
    let catalog = Catalog::open(&path).unwrap();
    assert_eq!(catalog.add([table.path()], &AddOptions::new().key(["id"])).unwrap().updated, FILES as u64);
    let removed = catalog.remove([table.path().to_str().unwrap()]).unwrap();
    assert_eq!((removed.removed, catalog.stats().unwrap().table), (FILES as u64, None));
    drop(catalog);
    assert_eq!(add(&[folder.path()]).unwrap().added, 1);
    assert_eq!(find(&path, "id = 0").unwrap().1, ["0 x"]);
}

#[test]
fn a_table_without_files_has_a_catalog() {
    let table = Table::new(&[]);
    assert_eq!(add(&table).added, 0);
    assert_eq!(find(&catalog_path(&table), "id = 1").unwrap(), (0, vec![]));
    table.commit(1, &[table.file("a.parquet", &[(1, "x")])]);
    assert_eq!(find(&catalog_path(&table), "id = 1").unwrap().1, ["1 x"]);
    assert_eq!(refresh(&table), (1, 0, 0, 0));
}
