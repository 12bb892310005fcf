//! The background thread that flushes, compacts and removes files.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use lath_table::{Durability, Table, TableOptions};

#[test]
fn hot_rows_are_flushed_and_old_files_removed_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let batch = |rows: std::ops::Range<i64>, value: i64| {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.clone()));
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.map(|_| value)));
        RecordBatch::try_from_iter([("id", ids), ("value", values)]).unwrap()
    };
    let options = TableOptions::new().durability(Durability::Off).flush_rows(500).merge_files(2);
    let table = Table::create(&path, &batch(0..0, 0).schema(), &["id"], options.clone()).unwrap();
    let files = || {
        let names = std::fs::read_dir(path.join("_data")).into_iter().flatten().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_str().unwrap().ends_with(".pq")).count()
    };
    for round in 0..20 {
        table.upsert(&batch(round * 100..round * 100 + 700, round)).unwrap();
        assert_eq!(table.count().unwrap(), round as u64 * 100 + 700);
    }
    let start = Instant::now();
    // Merges take files of one size class; up to 2,600 rows have six classes.
    let is_settled = || (1..=6).contains(&files());
    while !is_settled() && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
        // Wakes the thread, which may have found a file that a snapshot of this loop held.
        table.upsert(&batch(0..1, 20)).unwrap();
    }
    assert!(is_settled(), "{} files after {:?}", files(), start.elapsed());
    assert!(table.background_error().is_none(), "{:?}", table.background_error());
    let report = table.check().unwrap();
    assert!(report.is_intact() && report.rows == 2600, "{report:?}");
    // Whatever the thread is doing, closing waits for it and leaves an intact table.
    table.upsert(&batch(0..700, 21)).unwrap();
    drop(table);
    let table = Table::open(&path, options.background(false)).unwrap();
    assert_eq!(table.count().unwrap(), 2600);
    let report = table.check().unwrap();
    assert!(report.is_intact() && report.files > 0, "{report:?}");
}
