//! `head`, `tail`, `sample`, `cat` and `count`.

use serde_json::Value;

use crate::files::{numbered, write};
use crate::invocation::{lath, sample};

fn ids(lines: &[Value]) -> Vec<i64> {
    lines.iter().map(|line| line["id"].as_i64().unwrap()).collect()
}

#[test]
fn head_and_tail_cross_row_groups_and_files() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.parquet"), &numbered(0..1000), 300);
    write(&folder.path().join("b.parquet"), &numbered(1000..1500), 300);
    let path = folder.path().to_str().unwrap();
    let head = lath(["head", "-n", "1100", path]).json_lines(0);
    assert_eq!(ids(&head), (0..1100).collect::<Vec<_>>());
    let tail = lath(["tail", "-n", "700", path]).json_lines(0);
    assert_eq!(ids(&tail), (800..1500).collect::<Vec<_>>());
    assert_eq!(lath(["head", path]).json_lines(0).len(), 10);
    assert_eq!(lath(["tail", "-n", "0", path]).json_lines(0).len(), 0);
    assert_eq!(ids(&lath(["cat", path]).json_lines(0)), (0..1500).collect::<Vec<_>>());
    assert_eq!(lath(["count", path]).text(0), "1500\n");
}

#[test]
fn row_groups_can_be_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder.path().join("a.parquet"), &numbered(0..1000), 300);
    let path = path.to_str().unwrap();
    let rows = lath(["cat", path, "--row-groups", "1,3"]).json_lines(0);
    assert_eq!(ids(&rows), (300..600).chain(900..1000).collect::<Vec<_>>());
    let rows = lath(["tail", "-n", "150", path, "--row-groups", "1,3"]).json_lines(0);
    assert_eq!(ids(&rows), (550..600).chain(900..1000).collect::<Vec<_>>());
    let wrong = lath(["cat", path, "--row-groups", "4"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("there is no row group 4; the file has 4, counted from 0"), "{}", wrong.stderr);
}

#[test]
fn columns_come_in_the_order_asked_for() {
    let trips = sample("trips/2025-01.parquet");
    let csv = lath(["head", "-n", "1", &trips, "--columns", "price,rider.age,from", "--format", "csv"]);
    assert_eq!(csv.text(0).lines().next(), Some("price,rider,from"));
    let json = lath(["head", "-n", "1", &trips, "--columns", "rider.age"]).json_lines(0);
    assert_eq!(json[0]["rider"].as_object().unwrap().keys().collect::<Vec<_>>(), ["age"]);
    let wrong = lath(["head", &trips, "--columns", "prize"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("prize"), "{}", wrong.stderr);
}

#[test]
fn a_sample_is_drawn_without_repetition_and_again_by_its_seed() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.parquet"), &numbered(0..1000), 300);
    write(&folder.path().join("b.parquet"), &numbered(1000..1500), 300);
    let path = folder.path().to_str().unwrap();
    let draw = |seed: &str| ids(&lath(["sample", "-n", "200", "--seed", seed, path]).json_lines(0));
    let first = draw("7");
    assert_eq!(first.len(), 200);
    assert!(first.windows(2).all(|pair| pair[0] < pair[1]), "rows come in file order, none twice");
    assert_eq!(first, draw("7"));
    assert_ne!(first, draw("8"));
    let second_file = first.iter().filter(|&&id| id >= 1000).count();
    assert!(
        (30..110).contains(&second_file),
        "a third of the rows is in the second file, {second_file} of 200 drawn there"
    );
    assert_eq!(lath(["sample", "-n", "9999", path]).json_lines(0).len(), 1500);
}

#[test]
fn files_with_other_columns_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.parquet"), &numbered(0..10), 10);
    let renamed = numbered(0..10);
    let columns = vec![("id", renamed.column(0).clone()), ("title", renamed.column(1).clone())];
    write(&folder.path().join("b.parquet"), &arrow_array::RecordBatch::try_from_iter(columns).unwrap(), 10);
    let path = folder.path().to_str().unwrap();
    let run = lath(["cat", path]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("b.parquet") && run.stderr.contains("\"title\""), "{}", run.stderr);
    assert_eq!(lath(["cat", path, "--columns", "id"]).json_lines(0).len(), 20);
    assert_eq!(lath(["count", path]).text(0), "20\n");
}

#[test]
fn files_with_columns_in_another_order_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.parquet"), &numbered(0..3), 10);
    let rows = numbered(3..6).project(&[1, 0]).unwrap();
    write(&folder.path().join("b.parquet"), &rows, 10);
    let csv = lath(["cat", folder.path().to_str().unwrap(), "--format", "csv"]);
    assert_eq!(csv.text(0), "id,name\n0,name 0\n1,name 1\n2,name 2\n3,\n4,name 4\n5,name 5\n");
}
