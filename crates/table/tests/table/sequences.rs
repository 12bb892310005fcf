//! Numbers of sequences are given once: by handles, after the database was closed or copied, and after its process was killed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lath_table::{Database, Error, SequenceOptions, TableOptions};
use lath_testkit::{lines_until_killed, say};

const FOLDER: &str = "LATH_TEST_SEQUENCES";

fn open(folder: &Path) -> Database {
    Database::open_or_create(folder, TableOptions::new().background(false)).unwrap()
}

#[test]
fn numbers_are_given_once_by_one_process_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    database.create_sequence("s", &SequenceOptions::default()).unwrap();
    assert_eq!(database.next_numbers("s", 3).unwrap(), [1, 2, 3]);
    assert_eq!(database.clone().next_numbers("s", 100).unwrap(), (4..104).collect::<Vec<_>>());
    drop(database);
    let database = open(folder.path());
    assert_eq!(database.next_numbers("s", 1).unwrap(), [104]);
    assert_eq!(database.sequences().unwrap().into_keys().collect::<Vec<_>>(), ["s"]);
    let reader = Database::open_read_only(folder.path(), TableOptions::new()).unwrap();
    assert!(reader.sequences().unwrap().contains_key("s"));
    assert!(matches!(reader.next_numbers("s", 1), Err(Error::Sequence { .. })));
}

#[test]
fn a_backup_gives_no_number_again_that_its_source_has_given() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&folder.path().join("database"));
    database.create_sequence("s", &SequenceOptions::default()).unwrap();
    database.next_numbers("s", 5).unwrap();
    database.backup(folder.path().join("backup")).unwrap();
    std::fs::create_dir(folder.path().join("scratch")).unwrap();
    let names = database.backup_files(folder.path().join("scratch"), |files| {
        files.iter().map(|file| file.name.clone()).collect::<Vec<_>>()
    });
    assert!(names.unwrap().contains(&"sequences.json".to_owned()));
    assert!(open(&folder.path().join("backup")).next_numbers("s", 1).unwrap()[0] > 5);
}

/// The names of the sequences, as a reader sees them.
fn names(folder: &Path) -> Vec<String> {
    let reader = Database::open_read_only(folder, TableOptions::new()).unwrap();
    reader.sequences().unwrap().into_keys().collect()
}

#[test]
fn sequences_of_a_transaction_are_there_after_its_commit() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    let plain = SequenceOptions::default();
    database.create_sequence("old", &plain).unwrap();
    database.next_numbers("old", 3).unwrap();

    let mut transaction = database.begin().unwrap();
    assert!(matches!(transaction.create_sequence("old", &plain), Err(Error::Sequence { .. })));
    transaction.create_sequence("new", &plain).unwrap();
    let changes = transaction.sequence_changes();
    assert_eq!(changes.next_numbers("new", 2).unwrap(), Some(vec![1, 2]));
    assert_eq!(changes.next_numbers("old", 1).unwrap(), None);
    let savepoint = transaction.savepoint().unwrap();
    assert!(transaction.drop_sequence("old").unwrap());
    assert!(!transaction.drop_sequence("old").unwrap());
    assert!(changes.next_numbers("old", 1).is_err());
    transaction.create_sequence("old", &SequenceOptions { start: 50, ..plain }).unwrap();
    assert_eq!(changes.next_numbers("old", 1).unwrap(), Some(vec![50]));
    assert_eq!(changes.next_numbers("new", 1).unwrap(), Some(vec![3]));
    assert!(transaction.drop_sequence("new").unwrap());
    assert_eq!(names(folder.path()), ["old"]);
    transaction.rollback(&savepoint).unwrap();
    // The number that it gave after the savepoint stays given.
    assert_eq!(changes.next_numbers("new", 1).unwrap(), Some(vec![4]));
    assert_eq!(changes.next_numbers("old", 1).unwrap(), None);
    assert!(transaction.drop_sequence("old").unwrap());
    transaction.commit().unwrap();
    assert_eq!(names(folder.path()), ["new"]);
    assert_eq!(database.next_numbers("new", 1).unwrap(), [5]);
    assert!(database.next_numbers("old", 1).is_err());

    let mut transaction = database.begin().unwrap();
    transaction.create_sequence("undone", &plain).unwrap();
    transaction.drop_sequence("new").unwrap();
    drop(transaction);
    assert_eq!(names(folder.path()), ["new"]);
    drop(database);
    assert_eq!(open(folder.path()).next_numbers("new", 1).unwrap(), [6]);
}

/// A process that dies between the steps of a commit leaves its changes in the file, which count if the store has them.
#[test]
fn changes_in_the_file_count_if_their_transaction_was_committed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sequences.json");
    let database = open(folder.path());
    let create = |name: &str| {
        let mut transaction = database.begin().unwrap();
        transaction.create_sequence(name, &SequenceOptions::default()).unwrap();
        transaction.commit().unwrap();
    };
    create("a");
    create("b");
    drop(database);
    let mut file: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let c = serde_json::json!({"c": file["sequences"]["a"].clone()});
    for (number, expected) in [(2, vec!["b", "c"]), (1, vec!["b", "c"]), (3, vec!["a", "b"])] {
        file["change"] = serde_json::json!({"number": number, "create": c, "drop": ["a"]});
        std::fs::write(&path, file.to_string()).unwrap();
        assert_eq!(names(folder.path()), expected, "{number}");
        assert_eq!(open(folder.path()).sequences().unwrap().into_keys().collect::<Vec<_>>(), expected, "{number}");
    }
    // The next change of sequences replaces what was not committed.
    let database = open(folder.path());
    let mut transaction = database.begin().unwrap();
    transaction.drop_sequence("b").unwrap();
    transaction.commit().unwrap();
    assert_eq!(names(folder.path()), ["a"]);
    assert!(!std::fs::read_to_string(&path).unwrap().contains("change"));
}

#[test]
fn a_sequence_ends_or_begins_again() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    let ends = SequenceOptions { start: i64::MAX - 1, ..SequenceOptions::default() };
    database.create_sequence("ends", &ends).unwrap();
    assert_eq!(database.next_numbers("ends", 2).unwrap(), [i64::MAX - 1, i64::MAX]);
    assert!(matches!(database.next_numbers("ends", 1), Err(Error::Sequence { .. })));
    let down = SequenceOptions { start: 2, increment: -1, min: 1, max: 3, cycle: true };
    database.create_sequence("down", &down).unwrap();
    assert_eq!(database.next_numbers("down", 5).unwrap(), [2, 1, 3, 2, 1]);
    drop(database);
    let database = open(folder.path());
    assert_eq!(database.next_numbers("down", 1).unwrap(), [3]);
    assert!(matches!(database.next_numbers("ends", 1), Err(Error::Sequence { .. })));
    database.restart_sequence("down", 2).unwrap();
    assert_eq!(database.next_numbers("down", 2).unwrap(), [2, 1]);
    assert!(matches!(database.restart_sequence("down", 4), Err(Error::Sequence { .. })));
    assert!(matches!(database.restart_sequence("missing", 4), Err(Error::Sequence { .. })));
    assert!(database.drop_sequence("down").unwrap());
    assert!(!database.drop_sequence("down").unwrap());
    for wrong in [
        SequenceOptions { increment: 0, ..ends },
        SequenceOptions { min: 5, max: 4, ..ends },
        SequenceOptions { start: 0, ..ends },
    ] {
        assert!(matches!(database.create_sequence("wrong", &wrong), Err(Error::Sequence { .. })), "{wrong:?}");
    }
}

/// Not a test: the program of the children.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let database = open(&folder);
    for round in 0_usize.. {
        for number in database.next_numbers("s", round % 50).unwrap() {
            say(&format!("number {number}"));
        }
    }
}

#[test]
fn a_killed_process_has_given_no_number_that_is_given_again() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).create_sequence("s", &SequenceOptions::default()).unwrap();
    let mut given = BTreeSet::new();
    for round in 0..10 {
        let environment = [(FOLDER, folder.path().as_os_str())];
        let lines = lines_until_killed("sequences::child", &environment, Duration::from_millis(50 + round * 7));
        for number in lines.iter().filter_map(|line| line.strip_prefix("number ")) {
            assert!(given.insert(number.parse::<i64>().unwrap()), "{number} was given twice");
        }
        for number in open(folder.path()).next_numbers("s", 1).unwrap() {
            assert!(given.insert(number), "{number} was given twice");
        }
    }
}
