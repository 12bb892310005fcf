//! Files that are added, changed and removed.

use std::fs;

use lath_catalog::{AddOptions, Catalog, Error};

use crate::files::{listed, options, rows, selected, write};

#[test]
fn a_catalog_without_files_is_not_searched() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = Catalog::create(folder.path().join("files.catalog")).unwrap();
    // The first addition failed.
    catalog.add([folder.path().join("absent")], &AddOptions::new()).unwrap_err();
    let error = catalog.dataset(&options()).unwrap_err().to_string();
    assert!(error.contains("has no files") && error.contains("lath catalog add"), "{error}");
    assert!(catalog.refresh().unwrap().is_empty());
}

#[test]
fn refresh_reads_what_is_new_or_changed_and_drops_what_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (name, first) in [("a.parquet", 0), ("b.parquet", 100), ("c/d.parquet", 200)] {
        write(&path(name), &rows(&(first..first + 50).collect::<Vec<_>>()), true, 1000);
    }
    let catalog = Catalog::create(path("files.catalog")).unwrap();
    catalog.add([folder.path()], &AddOptions::new()).unwrap();
    assert!(catalog.refresh().unwrap().is_empty());
    fs::remove_file(path("a.parquet")).unwrap();
    write(&path("b.parquet"), &rows(&[7, 8]), true, 1000);
    write(&path("e.parquet"), &rows(&[9]), true, 1000);
    let changes = catalog.refresh().unwrap();
    assert_eq!((changes.added, changes.updated, changes.removed, changes.unchanged), (1, 1, 1, 1));
    for predicate in ["id = 7", "id < 300", "id = 0", "id = 9"] {
        assert_eq!(selected(&catalog, predicate), listed(folder.path(), predicate), "{predicate}");
    }
    assert_eq!(catalog.file_count().unwrap(), 3);
    let stats = catalog.stats().unwrap();
    assert_eq!((stats.files, stats.rows, stats.unreadable_files), (3, 53, 0));
}

#[test]
fn a_file_that_cannot_be_read_is_kept_and_looked_into() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write(&path("a.parquet"), &rows(&[1, 2, 3]), true, 1000);
    write(&path("b.parquet"), &rows(&[4, 5, 6]), true, 1000);
    let whole = fs::read(path("b.parquet")).unwrap();
    fs::write(path("b.parquet"), &whole[..whole.len() / 2]).unwrap();
    let catalog = Catalog::create(path("files.catalog")).unwrap();
    let changes = catalog.add([folder.path()], &AddOptions::new()).unwrap();
    assert_eq!((changes.added, changes.unreadable.len()), (2, 1));
    assert!(changes.unreadable[0].contains("b.parquet"), "{:?}", changes.unreadable);
    assert_eq!(selected(&catalog, "id = 5"), listed(folder.path(), "id = 5"));
    assert!(selected(&catalog, "id = 5").is_err());
    fs::write(path("b.parquet"), whole).unwrap();
    assert_eq!(catalog.refresh().unwrap().updated, 1);
    assert_eq!(selected(&catalog, "id = 5").unwrap().len(), 1);
}

#[test]
fn stale_files_are_read_as_they_are_and_refreshed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write(&path("a.parquet"), &rows(&[1, 2, 3]), true, 1000);
    write(&path("b.parquet"), &rows(&[4, 5, 6]), true, 1000);
    write(&path("c.parquet"), &rows(&[7, 8, 9]), true, 1000);
    let catalog = Catalog::create(path("files.catalog")).unwrap();
    catalog.add([folder.path()], &AddOptions::new()).unwrap();
    write(&path("a.parquet"), &rows(&[2, 20, 200]), true, 1000);
    fs::remove_file(path("b.parquet")).unwrap();
    assert_eq!(selected(&catalog, "id BETWEEN 2 AND 8"), listed(folder.path(), "id BETWEEN 2 AND 8"));
    assert_eq!(catalog.stale_file_count(), 2);
    // The catalog rules out every file by its old metadata.
    assert_eq!(selected(&catalog, "id = 200").unwrap(), Vec::<String>::new());
    let changes = catalog.refresh_stale().unwrap();
    assert_eq!((changes.updated, changes.removed), (1, 1));
    assert_eq!(catalog.stale_file_count(), 0);
    assert_eq!(selected(&catalog, "id = 200").unwrap().len(), 1);
    assert_eq!(catalog.file_count().unwrap(), 2);
}

#[test]
fn locations_are_removed_with_their_files_and_a_file_of_two_belongs_to_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write(&path("x/a.parquet"), &rows(&[1]), true, 1000);
    write(&path("y/b.parquet"), &rows(&[2]), true, 1000);
    let catalog = Catalog::create(path("files.catalog")).unwrap();
    let changes = catalog.add([path("x"), path("x/a.parquet"), path("y")], &AddOptions::new()).unwrap();
    assert_eq!(changes.added, 2);
    assert_eq!(catalog.locations().unwrap().len(), 3);
    let y = path("y").to_str().unwrap().to_owned();
    assert_eq!(catalog.remove([&y]).unwrap().removed, 1);
    assert!(matches!(catalog.remove([&y]).unwrap_err(), Error::Invalid { .. }));
    assert_eq!(catalog.dataset(&options()).unwrap().files().len(), 1);
    assert_eq!(selected(&catalog, "id = 2").unwrap(), Vec::<String>::new());
    assert_eq!(catalog.add([path("y")], &AddOptions::new()).unwrap().added, 1);
    assert_eq!(selected(&catalog, "id = 2").unwrap().len(), 1);
}

#[test]
fn a_folder_moves_with_the_catalog_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write(&path("old/year=1/a.parquet"), &rows(&[1]), true, 1000);
    let catalog = Catalog::create(path("old").join(Catalog::FILE_NAME)).unwrap();
    catalog.add([path("old")], &AddOptions::new()).unwrap();
    drop(catalog);
    fs::rename(path("old"), path("new")).unwrap();
    let catalog = Catalog::open_read_only(path("new").join(Catalog::FILE_NAME)).unwrap();
    assert_eq!(selected(&catalog, "id = 1"), listed(&path("new"), "id = 1"));
    assert_eq!(catalog.files().unwrap()[0].location, path("new/year=1/a.parquet").to_str().unwrap());
}

#[test]
fn what_is_no_catalog_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other");
    assert!(matches!(Catalog::open(&path), Err(Error::NoCatalog { .. })));
    let store = lath_store::Store::open(&path).unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.tree("colours").unwrap().put(b"sky", b"blue").unwrap();
    transaction.commit().unwrap();
    drop(store);
    assert!(matches!(Catalog::open(&path), Err(Error::Invalid { .. })));
}
