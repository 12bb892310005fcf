//! `catalog`, and searches by a catalog.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::files::{numbered, write};
use crate::invocation::{command, lath};

/// Ten files of 100 ids each.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in 0..10 {
        write(&folder.path().join(format!("{file}.parquet")), &numbered(file * 100..file * 100 + 100), 50);
    }
    folder
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The number of files that a search opens, from its report.
#[track_caller]
fn files_opened(args: &[&str]) -> u64 {
    let report = lath(args.iter().chain(&["--explain", "--format", "json"])).json_lines(0);
    report[0]["files"]["opened"].as_u64().unwrap()
}

#[test]
fn a_folder_is_searched_by_the_catalog_in_it() {
    let folder = folder();
    let data = text(folder.path());
    let added = lath(["catalog", "add", data]);
    assert_eq!(added.text(0), format!("{data}/_lath_catalog: 10 added, 0 updated, 0 removed, 0 unchanged\n"));
    let find = lath(["find", data, "--where", "id = 342", "--file-name", "file"]).json_lines(0);
    assert_eq!(find.len(), 1);
    assert_eq!(find[0]["file"], format!("{data}/3.parquet"));
    assert_eq!(lath(["find", data, "--where", "id = 5000"]).text(1), "");
    assert_eq!(lath(["count", data, "--where", "id < 150"]).text(0), "150\n");
    // A new file that is not in the catalog yet is still found.
    write(&folder.path().join("new.parquet"), &numbered(5000..5010), 50);
    let find = lath(["find", data, "--where", "id = 5000"]);
    assert_eq!(find.json_lines(0).len(), 1);
    assert!(find.stderr.contains("lath catalog refresh"), "{}", find.stderr);
    assert_eq!(lath(["catalog", "refresh", data]).text(0).matches("1 added, 0 updated, 0 removed, 10 unch").count(), 1);
    let find = lath(["find", data, "--where", "id = 5000"]);
    assert_eq!((find.json_lines(0).len(), find.stderr.as_str()), (1, ""));
}

#[test]
fn a_catalog_is_searched_without_its_files_being_listed() {
    let folder = folder();
    let catalog = folder.path().join("all.catalog");
    let catalog = text(&catalog);
    let pattern = format!("{}/*.parquet", text(folder.path()));
    lath(["catalog", "add", &pattern, "--catalog", catalog, "--key", "id", "--key", "id,name"]).text(0);
    let search = ["find", "--catalog", catalog, "--where", "id IN (342, 777)"];
    let expected = lath(["find", &pattern, "--where", "id IN (342, 777)"]).text(0).to_owned();
    assert_eq!(lath(search).text(0), expected);
    assert_eq!(files_opened(&search), 2);
    assert_eq!(files_opened(&["find", "--catalog", catalog, "--where", "id IN (342, 777)", "--no-prune"]), 10);
    assert_eq!(lath(["count", "--catalog", catalog]).text(0), "1000\n");
    assert_eq!(lath(["count", "--catalog", catalog, "--where", "id >= 900"]).text(0), "100\n");
    assert_eq!(lath(["count", "--catalog", catalog, "--where", "colour = 1"]).code, 2);
    assert_eq!(lath(["find", "--catalog", catalog, "--where", "id = 1", "--row-groups", "0"]).code, 2);
    assert_eq!(lath(["find", &pattern, "--catalog", catalog, "--where", "id = 1"]).code, 2);
    assert_eq!(lath(["find", "--catalog", "no.catalog", "--where", "id = 1"]).code, 4);
    assert_eq!(lath(["find", "--where", "id = 1"]).code, 2);
    // A changed file is read in its present state, and the catalog is updated.
    write(&folder.path().join("3.parquet"), &numbered(342..343), 50);
    assert_eq!(lath(["find", "--catalog", catalog, "--where", "id IN (342, 343)"]).json_lines(0).len(), 1);
    assert!(lath(["catalog", "refresh", catalog]).text(0).contains("0 added, 0 updated, 0 removed, 10 unchanged"));
    #[cfg(feature = "sql")]
    for search in
        [&["count", "--by", "id", "--where", "id = 500"][..], &["find", "--order-by", "id", "--where", "id = 500"]]
    {
        write(&folder.path().join("5.parquet"), &numbered(500..501), 50);
        assert_eq!(lath([search, &["--catalog", catalog]].concat()).json_lines(0).len(), 1);
        assert!(lath(["catalog", "refresh", catalog]).text(0).contains("0 updated"), "{search:?}");
    }
}

#[test]
fn catalogs_are_listed_and_locations_removed() {
    let folder = folder();
    let catalog = folder.path().join("all.catalog");
    let (catalog, one, all) = (text(&catalog), folder.path().join("0.parquet"), text(folder.path()));
    lath(["catalog", "add", text(&one), all, "--catalog", catalog, "--key", "id"]).text(0);
    let list = lath(["catalog", "list", catalog]).text(0).to_owned();
    assert_eq!(list.lines().count(), 10);
    assert!(list.starts_with("100\t") && list.contains("/9.parquet\n"), "{list}");
    let stats = lath(["catalog", "stats", catalog]).text(0).to_owned();
    assert!(stats.contains("files                 10\n") && stats.contains("key                   id\n"), "{stats}");
    assert!(lath(["catalog", "remove", catalog, all]).text(0).contains("9 removed"));
    assert_eq!(lath(["catalog", "remove", catalog, all]).code, 2);
    assert_eq!(lath(["catalog", "list", catalog]).text(0).lines().count(), 1);
    assert_eq!(lath(["catalog", "list", "no.catalog"]).code, 4);
    // As add and find take it.
    let listed = lath(["catalog", "list", catalog]);
    assert_eq!(lath(["catalog", "list", "--catalog", catalog]).text(0), listed.text(0));
    for command in ["refresh", "stats", "check"] {
        assert_eq!(
            lath(["catalog", command, "--catalog", catalog]).text(0),
            lath(["catalog", command, catalog]).text(0)
        );
        for wrong in [&["catalog", command, catalog, "--catalog", catalog][..], &["catalog", command]] {
            assert_eq!(lath(wrong).code, 2, "{wrong:?}");
        }
    }
    assert_eq!(lath(["catalog", "remove", catalog]).code, 2);
    assert!(lath(["catalog", "remove", "--catalog", catalog, text(&one)]).text(0).contains("1 removed"));
    assert!(lath(["catalog", "add", text(&one), "--catalog", catalog]).text(0).contains("1 added"));
    assert_eq!(lath(["catalog", "add", text(&one), all]).code, 2);
}

#[test]
fn a_file_that_cannot_be_read_is_reported() {
    let folder = folder();
    fs::write(folder.path().join("3.parquet"), "PAR1, and no more").unwrap();
    let added = lath(["catalog", "add", text(folder.path())]);
    assert!(added.text(3).contains("10 added"));
    assert!(added.stderr.contains("3.parquet"), "{}", added.stderr);
}

#[test]
fn a_watched_catalog_follows_its_folder() {
    let folder = folder();
    let data = text(folder.path());
    lath(["catalog", "add", data]).text(0);
    let mut watch = command(["catalog", "watch", data, "--every", "1"]).stdout(Stdio::piped()).spawn().unwrap();
    write(&folder.path().join("new.parquet"), &numbered(5000..5010), 50);
    let lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let (sender, said) = mpsc::channel();
    let reader = thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
    let started = Instant::now();
    loop {
        let left = Duration::from_secs(60).saturating_sub(started.elapsed());
        if said.recv_timeout(left).expect("the catalog follows").contains("1 added") {
            break;
        }
    }
    // The reported error is stored in the catalog.
    let list = lath(["catalog", "list", data]).text(0).to_owned();
    watch.kill().unwrap();
    watch.wait().unwrap();
    drop(said);
    let _ = reader.join().unwrap();
    assert!(list.contains("new.parquet"), "{list}");
}

#[cfg(feature = "sql")]
#[test]
fn sql_reads_the_files_of_a_catalog() {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("files");
    fs::create_dir(&files).unwrap();
    for file in 0..3 {
        write(&files.join(format!("{file}.parquet")), &numbered(file * 100..file * 100 + 100), 50);
    }
    let (catalog, files) = (folder.path().join("lake.catalog"), files.to_str().unwrap().to_owned());
    let catalog = catalog.to_str().unwrap();
    lath(["catalog", "add", &files, "--catalog", catalog, "--key", "id"]).text(0);
    fs::write(folder.path().join("files/0.parquet"), "no Parquet").unwrap();
    let query = "SELECT id FROM files WHERE id = 142";
    assert_eq!(lath(["sql", "--catalog", catalog, query]).json_lines(0).len(), 1);
    let missing = lath(["sql", "--catalog", "nowhere", query]);
    missing.text(2);
    assert!(missing.stderr.contains("nowhere"), "{}", missing.stderr);
}
