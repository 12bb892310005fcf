//! Mishaps of copies elsewhere: restored and replaced sources, folders within each other, links, full disks, gaps.

use std::fs;
use std::path::Path;

use lath_table::{Database, Error, HistoryRetention, Replica, Table, TableOptions};

use super::contents::{assert_copied, batch, check, contents, open_store, options};

fn table(folder: &Path, rows: &[(i64, i64)]) -> Table {
    let table = Table::create(folder, &batch(&[]).schema(), &["id"], options()).unwrap();
    table.upsert(&batch(rows)).unwrap();
    table
}

fn catch_up(source: &Path, copy: &Path) -> lath_table::CatchUp {
    let result = Replica::open(source, copy, options()).unwrap().catch_up().unwrap();
    assert_copied(source, copy);
    result
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn source_that_was_restored_from_a_backup_is_copied_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy, backup) =
        (folder.path().join("source"), folder.path().join("copy"), folder.path().join("backup"));
    let orders = table(&source, &[(1, 1)]);
    orders.flush().unwrap();
    orders.backup(&backup).unwrap();
    for id in 2..20 {
        orders.upsert(&batch(&[(id, id)])).unwrap();
    }
    let mut replica = Replica::open(&source, &copy, options()).unwrap();
    replica.catch_up().unwrap();
    let reading = Table::open_read_only(&copy, options()).unwrap();
    let before = reading.snapshot().unwrap();
    drop(orders);
    fs::remove_dir_all(&source).unwrap();
    fs::rename(&backup, &source).unwrap();
    Table::open(&source, options()).unwrap().upsert(&batch(&[(100, 100)])).unwrap();
    let result = replica.catch_up().unwrap();
    assert!(result.whole_copy.unwrap().contains("another table"));
    drop(replica);
    assert_copied(&source, &copy);
    // A reader has the old rows, or is told that they are gone.
    assert_eq!(before.count().unwrap(), 19);
    assert!(matches!(reading.snapshot(), Err(Error::NoTable { .. })));
    assert_eq!(Table::open_read_only(&copy, options()).unwrap().count().unwrap(), 2);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing stays beside the copy");
}

#[test]
fn source_whose_files_were_put_back_is_copied_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy, old) = (folder.path().join("source"), folder.path().join("copy"), folder.path().join("old"));
    drop(table(&source, &[(1, 1)]));
    copy_folder(&source, &old);
    let orders = Table::open(&source, options()).unwrap();
    orders.upsert(&batch(&[(2, 2)])).unwrap();
    orders.upsert(&batch(&[(3, 3)])).unwrap();
    let mut replica = Replica::open(&source, &copy, options()).unwrap();
    replica.catch_up().unwrap();
    drop(orders);
    // While the follower has it open.
    fs::remove_dir_all(&source).unwrap();
    copy_folder(&old, &source);
    let result = replica.catch_up().unwrap();
    assert!(result.whole_copy.unwrap().contains("the copy has commit"));
    assert_copied(&source, &copy);
    // With more commits than the copy, it has the same identity and goes on: the two are compared.
    let orders = Table::open(&source, options()).unwrap();
    for id in 10..14 {
        orders.upsert(&batch(&[(id, id)])).unwrap();
    }
    drop(orders);
    assert_eq!(catch_up_with(&mut replica, &source, &copy).whole_copy, None);
    fs::remove_dir_all(&source).unwrap();
    copy_folder(&old, &source);
    let orders = Table::open(&source, options()).unwrap();
    for id in 20..40 {
        orders.upsert(&batch(&[(id, id)])).unwrap();
    }
    drop(orders);
    catch_up_with(&mut replica, &source, &copy);
    let copied = Table::open_read_only(&copy, options()).unwrap();
    assert_eq!((copied.count().unwrap(), copied.get(12).unwrap()), (21, None));
}

fn catch_up_with(replica: &mut Replica, source: &Path, copy: &Path) -> lath_table::CatchUp {
    let result = replica.catch_up().unwrap();
    assert_copied(source, copy);
    result
}

#[test]
fn history_of_a_source_that_lost_commits_is_no_mixture() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy, old) = (folder.path().join("source"), folder.path().join("copy"), folder.path().join("old"));
    let database = Database::create(&source, options()).unwrap();
    database.keep_history(HistoryRetention::new()).unwrap();
    database.create_table("t", &batch(&[]).schema(), &["id"]).unwrap();
    database.table("t").unwrap().upsert(&batch(&[(1, 1)])).unwrap();
    drop(database);
    copy_folder(&source, &old);
    let put = |ids: std::ops::Range<i64>| {
        let database = Database::open(&source, options()).unwrap();
        for id in ids {
            database.table("t").unwrap().upsert(&batch(&[(id, id)])).unwrap();
        }
    };
    put(10..14);
    catch_up(&source, &copy);
    // The commits after the copied files are lost, and others have their numbers.
    fs::remove_dir_all(&source).unwrap();
    copy_folder(&old, &source);
    put(20..29);
    let result = catch_up(&source, &copy);
    assert!(result.whole_copy.unwrap().contains("differs from the copy's"));
    assert_eq!(contents(&source), contents(&copy));
}

#[test]
fn source_that_was_dropped_and_created_again_or_renamed_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
    let orders = table(&source, &[(1, 1)]);
    let mut replica = Replica::open(&source, &copy, options()).unwrap();
    replica.catch_up().unwrap();
    drop(orders);
    let renamed = folder.path().join("renamed");
    fs::rename(&source, &renamed).unwrap();
    assert!(matches!(replica.catch_up(), Err(Error::Io { .. } | Error::NoTable { .. })), "it is not there");
    let other = table(&source, &[(5, 5), (6, 6)]);
    assert!(replica.catch_up().unwrap().whole_copy.is_some());
    assert_copied(&source, &copy);
    drop((other, replica));

    // The renamed source is another one than what the copy follows now.
    let error = Replica::open(&renamed, &copy, options()).unwrap().catch_up().unwrap_err();
    assert!(error.to_string().contains("is another table"), "{error}");
    assert_copied(&source, &copy);
    // A source that has only another name is the same.
    let again = folder.path().join("again");
    fs::rename(&source, &again).unwrap();
    assert_eq!(catch_up(&again, &copy).whole_copy, None);
}

#[test]
fn source_and_copy_are_apart() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    drop(table(&source, &[(1, 1)]));
    let refused = |from: &Path, to: &Path| Replica::open(from, to, options()).unwrap_err().to_string();
    assert!(refused(&source, &source).contains("both the source and the copy"));
    assert!(refused(&source, &source.join("copy")).contains("is within the source"));
    assert!(refused(&source, &source.join("missing/../copy")).contains("the source"));
    assert!(refused(&source, folder.path()).contains("has the source within it"));
    #[cfg(unix)]
    {
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&source, &link).unwrap();
        assert!(refused(&source, &link).contains("both the source and the copy"));
        assert!(refused(&link, &source.join("copy")).contains("is within the source"));
    }
    let full = folder.path().join("full");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("notes.txt"), "mine").unwrap();
    assert!(refused(&source, &full).contains("no follower"));
    assert_eq!(fs::read_to_string(full.join("notes.txt")).unwrap(), "mine");
    let other = folder.path().join("other");
    drop(table(&other, &[(2, 2)]));
    assert!(refused(&source, &other).contains("no follower"), "a table is not overwritten");
    assert!(matches!(
        Replica::open(folder.path().join("none"), full, options()),
        Err(Error::NoTable { .. } | Error::Io { .. })
    ));
    assert!(refused(Path::new("s3://a/b"), Path::new("s3://a/c")).contains("on this machine"));
}

#[cfg(unix)]
#[test]
fn copy_behind_a_link_is_replaced_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (source, real, link) = (folder.path().join("source"), folder.path().join("real"), folder.path().join("link"));
    drop(table(&source, &[(1, 1)]));
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    catch_up(&source, &link);
    fs::remove_dir_all(&source).unwrap();
    drop(table(&source, &[(2, 2)]));
    assert!(catch_up(&source, &link).whole_copy.is_some());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_copied(&source, &real);
}

#[test]
fn interrupted_first_copy_is_no_table_and_is_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
    let orders = table(&source, &[(1, 1)]);
    orders.flush().unwrap();
    // As a process that was killed leaves them.
    let work = folder.path().join(".copy.lath-follow/new");
    fs::create_dir_all(work.join("_data")).unwrap();
    fs::write(work.join("_follower"), "{").unwrap();
    fs::write(work.join("_data/0000000001-0000000000000001.pq"), "half").unwrap();
    assert!(Table::open_read_only(&copy, options()).is_err());
    catch_up(&source, &copy);
    // A half of a file that a later round was copying.
    orders.upsert(&batch(&[(2, 2)])).unwrap();
    orders.flush().unwrap();
    let file = fs::read_dir(source.join("_data")).unwrap().map(|entry| entry.unwrap().file_name()).max().unwrap();
    fs::write(copy.join("_data").join(&file), "half").unwrap();
    fs::write(copy.join("_data").join(format!(".{}.lath-0.partial", file.to_str().unwrap())), "half").unwrap();
    catch_up(&source, &copy);
    assert!(!folder.path().join(".copy.lath-follow").exists());
}

#[test]
fn empty_sources_and_large_transactions_are_copied() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
    let database = Database::create(&source, options().bulk_rows(1 << 40)).unwrap();
    catch_up(&source, &copy);
    let large = database.create_table("large", &batch(&[]).schema(), &["id"]).unwrap();
    catch_up(&source, &copy);
    let rows: Vec<(i64, i64)> = (0..200_000).map(|id| (id, id * 7)).collect();
    large.upsert(&batch(&rows)).unwrap();
    catch_up(&source, &copy);
    large.delete((0..150_000).collect::<Vec<i64>>()).unwrap();
    catch_up(&source, &copy);
    database.drop_table("large").unwrap();
    catch_up(&source, &copy);
}

#[cfg(unix)]
#[test]
fn source_that_cannot_be_written_to_is_followed() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (parent, copy) = (folder.path().join("readonly"), folder.path().join("copy"));
    let source = parent.join("source");
    fs::create_dir(&parent).unwrap();
    drop(table(&source, &[(1, 1)]));
    let set = |mode: u32| {
        for path in [&source, &parent] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o555);
    let result = Replica::open(&source, &copy, options()).and_then(|mut replica| replica.catch_up());
    set(0o755);
    result.unwrap();
    assert_copied(&source, &copy);
}

#[test]
fn backup_of_a_copy_is_no_follower() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy, backup) =
        (folder.path().join("source"), folder.path().join("copy"), folder.path().join("backup"));
    drop(table(&source, &[(1, 1)]));
    catch_up(&source, &copy);
    Table::open_read_only(&copy, options()).unwrap().backup(&backup).unwrap();
    Table::open(&backup, options()).unwrap().upsert(&batch(&[(2, 2)])).unwrap();
    check(&backup);
    // A copy can be followed in turn.
    let third = folder.path().join("third");
    catch_up(&copy, &third);
    Table::open(&source, options()).unwrap().upsert(&batch(&[(3, 3)])).unwrap();
    catch_up(&source, &copy);
    assert_eq!(catch_up(&copy, &third).whole_copy, None);
    assert_eq!(Table::open_read_only(&third, options()).unwrap().count().unwrap(), 2);
}

#[test]
fn unreadable_marker_is_an_error_and_never_an_ordinary_table() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
    drop(table(&source, &[(1, 1)]));
    catch_up(&source, &copy);
    for text in ["", "{", "{\"format\": 9}"] {
        fs::write(copy.join("_follower"), text).unwrap();
        assert!(matches!(Table::open(&copy, options()), Err(Error::Corrupt { .. })), "{text}");
        assert!(matches!(Replica::open(&source, &copy, options()), Err(Error::Corrupt { .. })));
    }
    drop(open_store(&copy));
}

#[test]
fn options_of_the_source_do_not_matter_to_the_copy() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
    let orders = Table::create(&source, &batch(&[]).schema(), &["id"], TableOptions::new().flush_rows(50)).unwrap();
    let mut replica = Replica::open(&source, &copy, TableOptions::new()).unwrap();
    for id in 0..300 {
        orders.upsert(&batch(&[(id, id)])).unwrap();
        if id % 10 == 0 {
            replica.catch_up().unwrap();
        }
    }
    drop(orders);
    replica.catch_up().unwrap();
    assert_copied(&source, &copy);
}

#[test]
fn encrypted_table_is_followed_into_folders_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
    let key = lath_store::EncryptionKey::new([7; 32]);
    let encrypted = || options().store_options(lath_store::Options::new().encryption_key(key.clone()));
    drop(Table::create(&source, &batch(&[]).schema(), &["id"], encrypted()).unwrap());
    // A process that writes to an encrypted store excludes readers.
    let catch_up = || Replica::open(&source, &copy, encrypted()).unwrap().catch_up().unwrap();
    catch_up();
    Table::open(&source, encrypted()).unwrap().upsert(&batch(&[(1, 1)])).unwrap();
    assert_eq!(catch_up().whole_copy, None);
    assert_eq!(Table::open_read_only(&copy, encrypted()).unwrap().count().unwrap(), 1);
    assert!(Table::open_read_only(&copy, options()).is_err(), "the copy is encrypted, too");
    #[cfg(feature = "object-store")]
    {
        let error = Replica::open(&source, "s3://lath/encrypted", encrypted()).unwrap().catch_up().unwrap_err();
        assert!(error.to_string().contains("would not be encrypted"), "{error}");
    }
}
