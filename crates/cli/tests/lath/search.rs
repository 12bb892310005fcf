//! Pruning and reports of `find` and `count --where`, and the origin of rows.

use std::collections::BTreeSet;
use std::path::Path;

use crate::files::{numbered, write};
use crate::invocation::lath;

/// Three files of 1,000 rows each in row groups of 100, in a folder for each.
fn folders(root: &Path) {
    for (index, name) in ["kind=a", "kind=b", "kind=c"].iter().enumerate() {
        let folder = root.join(name);
        std::fs::create_dir(&folder).unwrap();
        let start = index as i64 * 1000;
        write(&folder.join("part.parquet"), &numbered(start..start + 1000), 100);
    }
}

#[test]
fn what_was_ruled_out_is_explained_for_people_and_programs() {
    let root = tempfile::tempdir().unwrap();
    folders(root.path());
    let root = root.path().to_str().unwrap();
    let find = ["find", root, "--where", "kind <> 'c' AND id BETWEEN 250 AND 259", "--explain"];
    let text = lath(find);
    let text = text.text(0);
    for part in
        ["pruned by partition", "pruned by statistics", "pruned by Bloom filters", "pruned by page index", "read in"]
    {
        assert!(text.contains(part), "{text}");
    }
    let report = lath(find.iter().copied().chain(["--format", "json"])).json_lines(0).remove(0);
    let files = &report["files"];
    assert_eq!((&files["all"], &files["pruned_by_partition"], &files["opened"]), (&3.into(), &1.into(), &2.into()));
    assert_eq!(report["row_groups"]["all"], 20);
    assert_eq!(report["row_groups"]["left"], 1);
    assert_eq!(report["pruned"]["statistics"]["row_groups"], 19);
    assert_eq!(report["rows"]["found"], 10);
    assert!(report["rows"]["tested"].as_u64().unwrap() < 100, "{report}");
    assert!(report["bytes_read"].as_u64().unwrap() > 0 && report["requests"].as_u64().unwrap() > 0);
    assert!(report["seconds"]["elapsed"].as_f64().unwrap() > 0.0);

    let count = ["count", root, "--where", "id BETWEEN 250 AND 259", "--explain", "--json"];
    assert_eq!(lath(count).json_lines(0)[0]["rows"]["found"], 10);
    let unpruned = lath(count.iter().copied().chain(["--no-prune"])).json_lines(0).remove(0);
    assert_eq!((&unpruned["rows"]["found"], &unpruned["rows"]["tested"]), (&10.into(), &3000.into()));
    let partly = lath(count.iter().copied().chain(["--no-prune=page-index,bloom"])).json_lines(0).remove(0);
    assert_eq!((&partly["rows"]["found"], &partly["rows"]["tested"]), (&10.into(), &100.into()));
    assert_eq!(lath(["count", root, "--where", "id > 1", "--no-prune=magic"]).code, 2);
}

#[test]
fn rows_say_where_they_are_from() {
    let root = tempfile::tempdir().unwrap();
    folders(root.path());
    let root = root.path().to_str().unwrap();
    let find = ["find", root, "--where", "id % 1 = 0"];
    assert_eq!(lath(find).code, 2);
    let find = ["find", root, "--where", "id IN (5, 1005, 2999)", "--file-name", "file", "--row-number", "row"];
    let rows = lath(find.iter().copied().chain(["--select", "file,id,row,kind"])).json_lines(0);
    let keys: Vec<&String> = rows[0].as_object().unwrap().keys().collect();
    assert_eq!(keys.into_iter().collect::<BTreeSet<_>>().len(), 4);
    let found: Vec<(i64, i64, &str)> = rows
        .iter()
        .map(|row| (row["id"].as_i64().unwrap(), row["row"].as_i64().unwrap(), row["kind"].as_str().unwrap()))
        .collect();
    assert_eq!(found, [(5, 5, "a"), (1005, 5, "b"), (2999, 999, "c")]);
    assert!(rows[2]["file"].as_str().unwrap().ends_with("kind=c/part.parquet"));
    let unordered = lath(find.iter().copied().chain(["--unordered", "--threads", "3"])).json_lines(0);
    assert_eq!(unordered.len(), 3);
}

#[test]
fn schemas_are_those_of_the_first_file_or_united() {
    let folder = tempfile::tempdir().unwrap();
    let one = write(&folder.path().join("one.parquet"), &numbered(0..10), 100);
    let other = write(&folder.path().join("other.parquet"), &numbered(10..20).project(&[0]).unwrap(), 100);
    let (one, other) = (one.to_str().unwrap(), other.to_str().unwrap());
    assert_eq!(lath(["find", one, other, "--where", "id >= 9"]).code, 2);
    let united = lath(["find", one, other, "--where", "id >= 9", "--schema", "union"]).json_lines(0);
    assert_eq!(united.len(), 11);
    assert!(united[1]["name"].is_null() && united[0]["name"] == "name 9");
    assert_eq!(lath(["count", one, other, "--where", "name IS NULL", "--schema", "union"]).text(0), "11\n");
}
