//! Followers: copies that stay behind their source by a moment.

#[cfg(feature = "object-store")]
mod bucket;
mod contents;
#[cfg(target_os = "linux")]
mod full_disk;
#[cfg(unix)]
mod kill;
mod mishaps;
mod model;

use std::fs;
use std::time::{Duration, SystemTime};

use lath_table::{ChangeRetention, ConsumerOptions, Database, Error, HistoryRetention, PublishOptions, Replica, Table};

use contents::{assert_copied, assert_no_surplus, batch, contents, numbers, options};

#[test]
fn table_and_its_files_are_copied_commit_by_commit() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("orders"), folder.path().join("copy"));
    let table = Table::create(&source, &batch(&[]).schema(), &["id"], options()).unwrap();
    table.upsert(&batch(&[(1, 1), (2, 2)])).unwrap();
    table.flush().unwrap();
    let mut replica = Replica::open(&source, &copy, options()).unwrap();
    let first = replica.catch_up().unwrap();
    assert!(first.whole_copy.is_some(), "{first:?}");
    assert_eq!((first.files, first.links), (1, 1));
    assert_copied(&source, &copy);

    let nothing = replica.catch_up().unwrap();
    assert_eq!((nothing.commits, nothing.files, nothing.whole_copy), (0, 0, None));

    table.upsert(&batch(&[(3, 3)])).unwrap();
    table.delete([1]).unwrap();
    let second = replica.catch_up().unwrap();
    assert_eq!((second.commits, second.files, second.whole_copy), (1, 0, None));
    assert_copied(&source, &copy);

    table.flush().unwrap();
    table.compact().unwrap();
    table.vacuum().unwrap();
    let third = replica.catch_up().unwrap();
    assert_eq!((third.files, third.whole_copy), (1, None));
    assert_copied(&source, &copy);
    // The follower no longer reads the commit before.
    table.vacuum().unwrap();
    replica.catch_up().unwrap();
    assert_copied(&source, &copy);
    assert_no_surplus(&source, &copy);
    // The files that were merged are gone from the copy, too.
    assert_eq!(fs::read_dir(copy.join("_data")).unwrap().count(), 1);
}

#[test]
fn all_that_belongs_to_a_database_is_copied() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("shop"), folder.path().join("copy"));
    let database = Database::create(&source, options()).unwrap();
    let mut replica = Replica::open(&source, &copy, options()).unwrap();
    replica.catch_up().unwrap();
    assert_copied(&source, &copy);

    database.keep_history(HistoryRetention::new().commits(20)).unwrap();
    let orders = database.create_table("orders", &batch(&[]).schema(), &["id"]).unwrap();
    orders.keep_changes(ChangeRetention::new()).unwrap();
    orders.create_index("by_value", &["value"], false).unwrap();
    orders.insert(&batch(&[(1, 10), (2, 20)])).unwrap();
    orders.add_consumer("mail", ConsumerOptions::new()).unwrap();
    database.keep_snapshot("monday").unwrap();
    let monday = database.snapshot().unwrap().at_time(SystemTime::now()).unwrap().table("orders").unwrap().version();
    database.put_view("all_orders", "SELECT * FROM orders").unwrap();
    database.create_sequence("numbers", &numbers()).unwrap();
    assert_eq!(database.next_numbers("numbers", 3).unwrap(), [1, 2, 3]);
    orders.flush().unwrap();
    orders.delete([1]).unwrap();
    let other = database.create_table("other", &batch(&[]).schema(), &["id"]).unwrap();
    other.insert(&batch(&[(7, 70)])).unwrap();
    other.flush().unwrap();
    database.drop_table("other").unwrap();
    let result = replica.catch_up().unwrap();
    assert!(
        result.commits > 5 && result.whole_copy.is_none(),
        "each commit of the history is one of the copy: {result:?}"
    );
    assert_copied(&source, &copy);

    let copied = Database::open_read_only(&copy, options()).unwrap();
    let now = copied.snapshot().unwrap();
    assert_eq!(now.view("all_orders").unwrap().as_deref(), Some("SELECT * FROM orders"));
    assert_eq!(now.snapshot_names().unwrap(), ["monday"]);
    let here = copied.table("orders").unwrap().snapshot().unwrap();
    assert_eq!(here.at_version(monday).unwrap().count().unwrap(), 2);
    assert_eq!(here.count().unwrap(), 1);
    assert_eq!(here.history().unwrap(), orders.snapshot().unwrap().history().unwrap());
    let dropped = now.history().unwrap().into_iter().rev().nth(1).unwrap().version;
    let before = now.at_version(dropped).unwrap();
    if before.table_names().unwrap().contains(&"other".to_owned()) {
        assert_eq!(before.table("other").unwrap().count().unwrap(), 1);
    }

    orders.acknowledge("mail", orders.snapshot().unwrap().version()).unwrap();
    replica.catch_up().unwrap();
    assert_copied(&source, &copy);
    let consumers = |table: &Table| table.consumers().unwrap().first().map(|consumer| consumer.sequence);
    assert_eq!(consumers(&copied.table("orders").unwrap()), consumers(&orders));
    orders.drop_consumer("mail").unwrap();
    database.drop_snapshot("monday").unwrap();
    database.drop_history().unwrap();
    database.drop_sequence("numbers").unwrap();
    replica.catch_up().unwrap();
    assert_copied(&source, &copy);
}

#[test]
fn nothing_but_its_follower_changes_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("shop"), folder.path().join("copy"));
    let database = Database::create(&source, options()).unwrap();
    let orders = database.create_table("orders", &batch(&[]).schema(), &["id"]).unwrap();
    orders.keep_changes(ChangeRetention::new()).unwrap();
    orders.add_consumer("mail", ConsumerOptions::new()).unwrap();
    let mut replica = Replica::open(&source, &copy, options()).unwrap();
    replica.catch_up().unwrap();
    for is_working in [true, false] {
        let error = Database::open(&copy, options()).unwrap_err();
        assert!(matches!(error, Error::Follower { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("lath table follow --promote") && text.contains("shop"), "{text}");
        assert!(matches!(Database::create(&copy, options()), Err(Error::Follower { .. })));
        assert!(matches!(Table::create(&copy, &batch(&[]).schema(), &["id"], options()), Err(Error::Follower { .. })));
        let reading = Database::open_read_only(&copy, options()).unwrap();
        let table = reading.table("orders").unwrap();
        assert!(table.upsert(&batch(&[(1, 1)])).is_err());
        for changed in [
            table.add_consumer("other", ConsumerOptions::new()),
            table.drop_consumer("mail"),
            table.keep_snapshot("monday"),
            reading.put_view("view", "SELECT 1"),
            reading.create_sequence("numbers", &numbers()),
        ] {
            assert!(changed.is_err());
        }
        drop((table, reading));
        if is_working {
            let error = Replica::open(&source, &copy, options()).unwrap_err();
            assert!(error.to_string().contains("another process follows"), "{error}");
            let error = Replica::promote(&copy, options()).unwrap_err();
            assert!(error.to_string().contains("another process follows"), "{error}");
            drop(std::mem::replace(
                &mut replica,
                Replica::open(&source, folder.path().join("other"), options()).unwrap(),
            ));
        }
    }
    assert_copied(&source, &copy);
}

#[test]
fn promoted_copy_goes_on_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("shop"), folder.path().join("copy"));
    let database = Database::create(&source, options()).unwrap();
    database.keep_history(HistoryRetention::new()).unwrap();
    let orders = database.create_table("orders", &batch(&[]).schema(), &["id"]).unwrap();
    orders.insert(&batch(&[(1, 1), (2, 2)])).unwrap();
    orders.flush().unwrap();
    orders.insert(&batch(&[(3, 3)])).unwrap();
    let version = orders.snapshot().unwrap().version();
    let mut replica = Replica::open(&source, &copy, options()).unwrap();
    let commit = replica.catch_up().unwrap().commit;
    drop(replica);
    assert_eq!(Replica::promote(&copy, options()).unwrap(), commit);
    assert!(Replica::status(&copy, options()).unwrap().is_none());
    let again = Replica::promote(&copy, options()).unwrap_err();
    assert!(again.to_string().contains("no follower"), "{again}");

    let promoted = Database::open(&copy, options()).unwrap();
    let table = promoted.table("orders").unwrap();
    table.delete([1]).unwrap();
    table.flush().unwrap();
    table.compact().unwrap();
    promoted.vacuum().unwrap();
    assert_eq!(table.count().unwrap(), 2);
    assert_eq!(table.snapshot().unwrap().at_version(version).unwrap().count().unwrap(), 3);
    assert_eq!(orders.count().unwrap(), 3, "the source has its own rows");
    drop((table, promoted));
    contents::check(&copy);

    // The command that has followed the source is run again by mistake.
    let error = Replica::open(&source, &copy, options()).unwrap_err();
    assert!(error.to_string().contains("promoted"), "{error}");
    // The promoted database has another identity, and can be followed.
    let third = folder.path().join("third");
    Replica::open(&copy, &third, options()).unwrap().catch_up().unwrap();
    assert_copied(&copy, &third);
}

#[test]
fn status_says_how_far_a_copy_is() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("orders"), folder.path().join("copy"));
    let table = Table::create(&source, &batch(&[]).schema(), &["id"], options()).unwrap();
    let mut replica = Replica::open(&source, &copy, options()).unwrap();
    replica.catch_up().unwrap();
    let status = Replica::status(&copy, options()).unwrap().unwrap();
    assert_eq!((status.commits_behind(), status.time_behind()), (Some(0), Some(Duration::ZERO)));
    assert!(status.source.ends_with("orders"), "{status:?}");
    table.upsert(&batch(&[(1, 1)])).unwrap();
    table.upsert(&batch(&[(2, 2)])).unwrap();
    let status = Replica::status(&copy, options()).unwrap().unwrap();
    assert_eq!((status.commits_behind(), status.up_to_date_at.is_some()), (Some(2), true));
    replica.catch_up().unwrap();
    drop((table, replica));
    fs::remove_dir_all(&source).unwrap();
    let status = Replica::status(&copy, options()).unwrap().unwrap();
    assert_eq!((status.source_commit, status.up_to_date_at.is_some()), (None, true));
    assert!(matches!(Replica::status(folder.path(), options()), Err(Error::NoTable { .. })));
}

#[test]
fn published_table_is_not_published_by_its_copy_before_it_is_promoted() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("orders"), folder.path().join("copy"));
    let table = Table::create(&source, &batch(&[]).schema(), &["id"], options()).unwrap();
    table.upsert(&batch(&[(1, 1)])).unwrap();
    table.publish(PublishOptions::new()).unwrap();
    let mut replica = Replica::open(&source, &copy, options()).unwrap();
    replica.catch_up().unwrap();
    assert_copied(&source, &copy);
    assert!(!copy.join("metadata").exists());
    drop(replica);
    Replica::promote(&copy, options()).unwrap();
    let promoted = Table::open(&copy, options()).unwrap();
    promoted.upsert(&batch(&[(2, 2)])).unwrap();
    promoted.flush().unwrap();
    assert!(copy.join("metadata").exists(), "it is published in its folder");
}

#[test]
fn reader_of_a_copy_keeps_its_files_while_the_follower_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("orders"), folder.path().join("copy"));
    let table = Table::create(&source, &batch(&[]).schema(), &["id"], options()).unwrap();
    table.upsert(&batch(&[(1, 1), (2, 2)])).unwrap();
    table.flush().unwrap();
    let mut replica = Replica::open(&source, &copy, options()).unwrap();
    replica.catch_up().unwrap();
    let reading = Table::open_read_only(&copy, options()).unwrap();
    let before = reading.snapshot().unwrap();
    table.upsert(&batch(&[(1, 100), (3, 3)])).unwrap();
    table.flush().unwrap();
    table.compact().unwrap();
    table.vacuum().unwrap();
    for _ in 0..3 {
        replica.catch_up().unwrap();
    }
    // Read from the files for the first time.
    assert_eq!(before.count().unwrap(), 2);
    assert_eq!(before.get(1).unwrap().unwrap().columns(), batch(&[(1, 1)]).columns());
    assert_eq!(reading.get(1).unwrap().unwrap().columns(), batch(&[(1, 100)]).columns());
    drop((before, reading));
    replica.catch_up().unwrap();
    assert_copied(&source, &copy);
    assert_eq!(contents(&copy), contents(&source));
}
