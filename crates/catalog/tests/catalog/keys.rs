//! Filters that a catalog makes.

use lath_catalog::{AddOptions, Catalog, Error};

use crate::files::{listed, rows, selected, selected_files, write};

/// Twenty files without filters, over which all ids are spread.
fn mixed() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in 0..20i64 {
        let ids: Vec<i64> = (0..200).map(|row| (row * 20 + file) % 4000).collect();
        write(&folder.path().join(format!("{file:02}.parquet")), &rows(&ids), false, 60);
    }
    folder
}

#[test]
fn keys_are_looked_up_in_made_filters() {
    let folder = mixed();
    let catalog = Catalog::create(folder.path().join("files.catalog")).unwrap();
    catalog.add([folder.path()], &AddOptions::new()).unwrap();
    assert_eq!(selected_files(&catalog, "id = 1234"), 20);
    let changes = catalog.add([folder.path()], &AddOptions::new().key(["id"]).key(["name"])).unwrap();
    assert_eq!((changes.added, changes.updated), (0, 20));
    for predicate in ["id = 1234", "name = 'customer number 1234'", "id = 1235", "id = -1", "id IN (5, 6)"] {
        assert!(selected_files(&catalog, predicate) <= 5, "{predicate}");
        assert_eq!(selected(&catalog, predicate), listed(folder.path(), predicate), "{predicate}");
    }
    // Filters of existing keys are not made again.
    let changes = catalog.add([folder.path()], &AddOptions::new().key(["id"])).unwrap();
    assert_eq!((changes.updated, changes.unchanged), (0, 20));
    assert_eq!(catalog.stats().unwrap().keys, [["id"], ["name"]]);
}

/// With filters of 1 % false positives, one lookup of fifty would open a file in vain.
#[test]
fn filters_are_made_where_those_of_files_are_weak() {
    let folder = tempfile::tempdir().unwrap();
    for file in 0..20i64 {
        let ids: Vec<i64> = (0..1660).map(|row| row * 20 + file).collect();
        write(&folder.path().join(format!("{file:02}.parquet")), &rows(&ids), true, 830);
    }
    let named = |options: &AddOptions| -> usize {
        let catalog = Catalog::create(folder.path().join(format!("{}.catalog", fastrand::u64(..)))).unwrap();
        catalog.add([folder.path()], options).unwrap();
        let ids = (0..200).map(|id| id * 83);
        for id in [83, 16_600, 16_601, 30_000] {
            let predicate = format!("id = {id}");
            assert_eq!(selected(&catalog, &predicate), listed(folder.path(), &predicate));
        }
        ids.map(|id| selected_files(&catalog, &format!("id = {id}")) - 1).sum()
    };
    // There are 19 other files for each of 200 ids.
    let (stored, made) = (named(&AddOptions::new()), named(&AddOptions::new().key(["id"])));
    assert!(stored >= 20 && made <= 5, "{stored} and {made}");
}

#[test]
fn several_columns_are_looked_up_together() {
    let folder = mixed();
    let catalog = Catalog::create(folder.path().join("files.catalog")).unwrap();
    catalog.add([folder.path()], &AddOptions::new().key(["id", "name", "price"])).unwrap();
    for (predicate, most) in [
        ("id = 1234 AND name = 'customer number 1234' AND price = 308.5", 4),
        ("price = 308.5 AND (id IN (1234, 1236)) AND name = 'customer number 1234'", 4),
        // Both values exist, but not in one row.
        ("id = 1234 AND name = 'customer number 1236' AND price = 308.5", 4),
        ("id = 1234 AND name = 'customer number 1234'", 20),
        // Rows with null have no key: the name of 1235 is null.
        ("id = 1235 AND price = 308.75", 20),
        ("id = 0 AND price = 0.0 AND name = 'customer number 0'", 4),
        ("id = 1234 AND name = 'customer number 1234' OR price = 308.5", 20),
    ] {
        let files = selected_files(&catalog, predicate);
        assert!(files <= most, "{predicate}: {files}");
        assert_eq!(selected(&catalog, predicate), listed(folder.path(), predicate), "{predicate}");
    }
}

#[test]
fn filters_stay_within_the_budget() {
    let folder = mixed();
    let with_budget = |bytes: usize| {
        let catalog = Catalog::create(folder.path().join(format!("{bytes}.catalog"))).unwrap();
        catalog.add([folder.path()], &AddOptions::new().key(["id"]).filter_budget_bytes(bytes)).unwrap();
        assert_eq!(selected(&catalog, "id = 1234"), listed(folder.path(), "id = 1234"));
        selected_files(&catalog, "id = 1234")
    };
    assert!(with_budget(256) <= 8);
    // A filter with one bit a key is useless.
    assert_eq!(with_budget(32), 20);
}

#[test]
fn keys_that_cannot_be_are_refused_and_nothing_is_changed() {
    let folder = mixed();
    let catalog = Catalog::create(folder.path().join("files.catalog")).unwrap();
    for key in [vec![], vec!["id", "id"], vec!["a", "b", "c", "d", "e"]] {
        let error = catalog.add([folder.path()], &AddOptions::new().key(key)).unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
    }
    assert_eq!(catalog.file_count().unwrap(), 0);
    assert!(catalog.locations().unwrap().is_empty());
}
