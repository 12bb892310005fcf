//! Files whose columns differ.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringViewArray};
use lath_catalog::{AddOptions, Catalog};
use lath_parquet::{Dataset, Predicate};

use crate::files::{found, lines, options, write};

#[test]
fn columns_of_different_types_are_found_as_without_a_catalog() {
    let folder = tempfile::tempdir().unwrap();
    let column = |name: &str, array: ArrayRef| RecordBatch::try_from_iter([(name, array)]).unwrap();
    let path = |name: &str| folder.path().join(name);
    write(&path("a.parquet"), &column("id", Arc::new(Int32Array::from(vec![1, 2, 3]))), true, 10);
    write(&path("b.parquet"), &column("id", Arc::new(Int64Array::from(vec![3, 4, 1 << 40]))), true, 10);
    write(&path("c.parquet"), &column("name", Arc::new(StringViewArray::from(vec!["x", "y"]))), true, 10);
    let catalog = Catalog::create(path("files.catalog")).unwrap();
    catalog.add([folder.path()], &AddOptions::new().key(["id"])).unwrap();
    for unite in [true, false] {
        let options = || options().union_schemas(unite);
        let open = Dataset::open([folder.path()], options()).unwrap();
        assert_eq!(catalog.schema(&options()).unwrap(), *open.schema());
        let predicates: &[&str] = match unite {
            true => &["id = 3", "id = 1099511627776", "name = 'x'", "id IS NULL", "name IS NULL", "id < 2"],
            false => &["id = 1", "id = 3"],
        };
        for predicate in predicates {
            let selected = catalog.select(&Predicate::parse(predicate).unwrap(), &options()).unwrap();
            match found(&open, predicate) {
                Ok(rows) => assert_eq!(lines(selected.scan()).unwrap(), rows, "{predicate}"),
                // A scan of fewer files can succeed.
                Err(_) => drop(lines(selected.scan())),
            }
        }
    }
}

#[test]
fn floats_beside_doubles_are_found_as_without_a_catalog() {
    let floats: ArrayRef = Arc::new(Float32Array::from(vec![Some(0.1), Some(0.5), Some(f32::NAN), Some(-0.0), None]));
    let doubles: ArrayRef =
        Arc::new(Float64Array::from(vec![Some(0.1), Some(0.25), Some(f64::from(0.1_f32)), Some(0.0), Some(1e300)]));
    for (first, second) in [(&floats, &doubles), (&doubles, &floats)] {
        let folder = tempfile::tempdir().unwrap();
        for (name, array) in [("a.parquet", first), ("b.parquet", second)] {
            let batch = RecordBatch::try_from_iter_with_nullable([("f", Arc::clone(array), true)]).unwrap();
            write(&folder.path().join(name), &batch, true, 2);
        }
        let catalog = Catalog::create(folder.path().join("files.catalog")).unwrap();
        catalog.add([folder.path()], &AddOptions::new().key(["f"])).unwrap();
        let options = || options().union_schemas(true);
        let open = Dataset::open([folder.path()], options()).unwrap();
        assert_eq!(catalog.schema(&options()).unwrap(), *open.schema());
        for (predicate, count) in [
            ("f = 0.1", 1),
            ("f = 0.10000000149011612", 2),
            ("f <> 0.1", 8),
            ("f > 0.1", 6),
            ("f <= 0.1", 3),
            ("f < 0.2 AND f >= 0.1", 3),
            ("f IN (0.1, 0.5, 0.25)", 3),
            ("f = 0", 2),
            ("f = 1e300", 1),
            ("f IS NULL", 1),
        ] {
            let rows = found(&open, predicate).unwrap();
            let selected = catalog.select(&Predicate::parse(predicate).unwrap(), &options()).unwrap();
            assert_eq!(lines(selected.scan()).unwrap(), rows, "{predicate}");
            assert_eq!(rows.len(), count, "{predicate}");
        }
    }
}

#[test]
fn schemas_that_cannot_be_united_are_an_error_as_without_a_catalog() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let column = |array: ArrayRef| RecordBatch::try_from_iter([("id", array)]).unwrap();
    write(&path("a.parquet"), &column(Arc::new(Int32Array::from(vec![1]))), true, 10);
    write(&path("b.parquet"), &column(Arc::new(StringViewArray::from(vec!["x"]))), true, 10);
    let catalog = Catalog::create(path("files.catalog")).unwrap();
    catalog.add([folder.path()], &AddOptions::new()).unwrap();
    assert!(catalog.schema(&options().union_schemas(true)).is_err());
    assert_eq!(catalog.schema(&options()).unwrap(), *Dataset::open([folder.path()], options()).unwrap().schema());
}

#[test]
fn partition_columns_keep_the_types_that_all_files_give_them() {
    let folder = tempfile::tempdir().unwrap();
    for (directory, id) in [("kind=1", 1i64), ("kind=2", 2), ("kind=__HIVE_DEFAULT_PARTITION__", 3)] {
        let batch = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![id])) as ArrayRef)]).unwrap();
        write(&folder.path().join(directory).join("a.parquet"), &batch, false, 10);
    }
    let catalog = Catalog::create(folder.path().join("files.catalog")).unwrap();
    catalog.add([folder.path()], &AddOptions::new()).unwrap();
    let compare = |predicate: &str| {
        let open = Dataset::open([folder.path()], options()).unwrap();
        assert_eq!(catalog.schema(&options()).unwrap(), *open.schema());
        let selected = catalog.select(&Predicate::parse(predicate).unwrap(), &options()).unwrap();
        assert_eq!(lines(selected.scan()).unwrap(), found(&open, predicate).unwrap(), "{predicate}");
        selected.files().len()
    };
    assert_eq!(compare("kind = 1"), 1);
    assert_eq!(compare("kind >= 2"), 1);
    assert_eq!(compare("kind IS NULL"), 3);
    // The column is text from now on.
    let batch = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![4])) as ArrayRef)]).unwrap();
    write(&folder.path().join("kind=other/a.parquet"), &batch, false, 10);
    catalog.refresh().unwrap();
    assert_eq!(compare("kind = 'other'"), 1);
    assert_eq!(compare("kind = '1'"), 1);
    assert_eq!(compare("kind >= '2'"), 2);
}
