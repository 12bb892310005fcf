//! Several names of one store.

use std::fs;
use std::os::unix::fs::symlink;

use lath_store::{Durability, Error, Options, Store};

use super::processes::Process;

fn reader() -> Options {
    Options::new().capacity_bytes(1 << 30).read_only(true)
}

fn put(store: &Store, key: &[u8]) {
    let mut transaction = store.begin().unwrap();
    transaction.tree("data").unwrap().put(key, b"").unwrap();
    transaction.commit_with(Durability::Deferred).unwrap();
}

#[test]
fn store_with_second_hard_link_is_not_written_and_only_read_with_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("store"), folder.path().join("link"));
    put(&Store::open(&path).unwrap(), b"closed");
    fs::hard_link(&path, &link).unwrap();
    for name in [&path, &link] {
        let Err(Error::Invalid(why)) = Store::open(name) else { panic!("it is opened for writing") };
        assert!(why.contains("hard link") && why.contains(name.to_str().unwrap()), "{why}");
    }
    assert_eq!(reader().open(&path).unwrap().snapshot().unwrap().sequence(), 1);
    assert!(matches!(reader().open(&link), Err(Error::Invalid(_))));
    fs::remove_file(&link).unwrap();
    let mut process = Process::start(&path, "fill 30");
    process.expect("filled");
    fs::hard_link(&path, &link).unwrap();
    process.kill();
    // The log of the killed process is under the first name.
    assert!(matches!(reader().open(&link), Err(Error::Invalid(_))));
    assert!(matches!(Store::open(&link), Err(Error::Invalid(_))));
    assert_eq!(reader().open(&path).unwrap().snapshot().unwrap().sequence(), 31);
    fs::remove_file(&link).unwrap();
    assert_eq!(Store::open(&path).unwrap().snapshot().unwrap().sequence(), 31);
}

#[test]
fn link_that_leads_nowhere_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    symlink(folder.path().join("nowhere"), &link).unwrap();
    for options in [Options::new(), Options::new().create(false), reader()] {
        let Err(Error::Invalid(why)) = options.open(&link) else { panic!("it opens") };
        assert!(why.contains("symbolic link") && why.contains("nowhere"), "{why}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is created");
}
