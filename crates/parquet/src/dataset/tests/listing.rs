use std::fs;
use std::path::Path;

use super::{directory, int64, options, write};
use crate::dataset::Dataset;
use crate::error::{Error, Result};

/// The files of `locations`, as paths below `directory`.
fn names(directory: &Path, locations: &[&str]) -> Result<Vec<String>> {
    let locations = locations.iter().map(|location| match location.strip_prefix('@') {
        Some(list) => format!("@{}", directory.join(list).display()),
        None => directory.join(location).display().to_string(),
    });
    let dataset = Dataset::open(locations, options())?;
    let prefix = format!("{}/", directory.display());
    Ok(dataset.files().iter().map(|file| file.location().strip_prefix(&prefix).unwrap().replace('\\', "/")).collect())
}

fn tree() -> (tempfile::TempDir, std::path::PathBuf) {
    let (guard, path) = directory();
    for name in
        ["b/2.parquet", "b/10.PARQUET", "a.parquet", "c/d/e.parquet", ".hidden/f.parquet", "_temporary/g.parquet"]
    {
        write(&path.join(name), vec![("x", int64(0..3))]);
    }
    for name in [".h.parquet", "_metadata.parquet", "other"] {
        write(&path.join(name), vec![("x", int64(0..3))]);
    }
    fs::write(path.join("b/readme.txt"), "no Parquet").unwrap();
    (guard, path)
}

#[test]
fn a_directory_stands_for_the_parquet_files_below_it_in_the_order_of_their_names() {
    let (_guard, path) = tree();
    assert_eq!(names(&path, &[""]).unwrap(), ["a.parquet", "b/10.PARQUET", "b/2.parquet", "c/d/e.parquet"]);
    assert_eq!(
        names(&path, &["c", "a.parquet", "b"]).unwrap(),
        ["c/d/e.parquet", "a.parquet", "b/10.PARQUET", "b/2.parquet"]
    );
}

#[test]
fn a_file_named_outright_is_taken_whatever_its_name() {
    let (_guard, path) = tree();
    let named = ["other", "_metadata.parquet", ".h.parquet", ".hidden/f.parquet"];
    assert_eq!(names(&path, &named).unwrap(), named);
}

#[test]
fn globs_stand_for_the_names_that_fit_and_not_for_hidden_ones() {
    let (_guard, path) = tree();
    assert_eq!(names(&path, &["?.parquet"]).unwrap(), ["a.parquet"]);
    assert_eq!(names(&path, &["*/[0-9].parquet"]).unwrap(), ["b/2.parquet"]);
    assert_eq!(names(&path, &["c*"]).unwrap(), ["c/d/e.parquet"]);
    let all = names(&path, &["**/*.parquet"]).unwrap();
    assert_eq!(all, ["_metadata.parquet", "a.parquet", "b/2.parquet", "c/d/e.parquet"]);
    // Folders of other programs are searched if the glob names them.
    assert_eq!(names(&path, &["_temporary/*.parquet"]).unwrap(), ["_temporary/g.parquet"]);
    assert_eq!(names(&path, &["_temp*/*.parquet"]).unwrap(), ["_temporary/g.parquet"]);
    assert_eq!(names(&path, &["*/*.parquet"]).unwrap(), ["b/2.parquet"]);
    assert_eq!(names(&path.join("_temporary"), &["../**/e.parquet"]).unwrap().len(), 1);
    write(&path.join("odd[1].parquet"), vec![("x", int64(0..3))]);
    assert_eq!(names(&path, &["odd[1].parquet"]).unwrap(), ["odd[1].parquet"]);
}

#[test]
fn a_list_has_a_location_on_each_line() {
    let (_guard, path) = tree();
    let line = |name: &str| path.join(name).display().to_string();
    let text = format!("# what counts\n{}\n\n  {}  \n{}\n", line("c"), line("a.parquet"), line("b/*.parquet"));
    fs::write(path.join("list.txt"), text).unwrap();
    assert_eq!(names(&path, &["@list.txt"]).unwrap(), ["c/d/e.parquet", "a.parquet", "b/2.parquet"]);
    fs::write(path.join("empty.txt"), "# nothing\n").unwrap();
    assert!(names(&path, &["@empty.txt"]).unwrap_err().to_string().contains("names no file"));
    assert!(names(&path, &["@missing.txt"]).is_err());
}

#[test]
fn what_stands_for_no_file_is_an_error_that_names_it() {
    let (_guard, path) = tree();
    fs::create_dir(path.join("empty")).unwrap();
    for (location, expected) in [
        ("empty", "no *.parquet file"),
        ("z*.parquet", "no file has a matching name"),
        ("missing.parquet", "No such file"),
    ] {
        let error = names(&path, &[location]).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error}");
        assert!(error.to_string().contains(expected) && error.to_string().contains(location), "{error}");
    }
    assert!(matches!(Dataset::open(["a[.parquet"], options()), Err(Error::Invalid { .. })));
    assert!(matches!(Dataset::open(["ftp://host/a.parquet"], options()), Err(Error::Invalid { .. })));
}

#[test]
fn a_file_url_is_a_path() {
    let (_guard, path) = tree();
    let url = format!("file://{}", path.join("a.parquet").display());
    let dataset = Dataset::open([url], options()).unwrap();
    assert_eq!(dataset.files()[0].path(), Some(path.join("a.parquet").as_path()));
}

#[test]
fn no_locations_give_no_files_and_no_columns() {
    let dataset = Dataset::open([""; 0], options()).unwrap();
    assert!(dataset.files().is_empty() && dataset.schema().fields().is_empty());
}

#[cfg(unix)]
#[test]
fn links_to_files_are_followed_and_those_to_directories_are_not() {
    let (_guard, path) = tree();
    std::os::unix::fs::symlink(path.join("a.parquet"), path.join("c/link.parquet")).unwrap();
    std::os::unix::fs::symlink(&path, path.join("c/loop")).unwrap();
    assert_eq!(names(&path, &["c"]).unwrap(), ["c/d/e.parquet", "c/link.parquet"]);
}

#[cfg(unix)]
#[test]
fn names_that_are_not_unicode_can_be_opened() {
    use std::os::unix::ffi::OsStrExt;
    let (_guard, path) = directory();
    let odd = path.join(std::ffi::OsStr::from_bytes(b"odd\xff.parquet"));
    write(&odd, vec![("x", int64(0..3))]);
    let dataset = Dataset::open([&path], options()).unwrap();
    assert_eq!(dataset.files()[0].path(), Some(odd.as_path()));
    assert_eq!(dataset.files()[0].open().unwrap().row_count(), 3);
}
