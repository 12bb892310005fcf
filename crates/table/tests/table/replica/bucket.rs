//! Followers through a bucket of moto's S3, if the variable LATH_MOTO_SERVER names its program.
//!
//! Each test below runs in a separate process, which finds the server in its environment.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use lath_table::{CatchUp, ChangeRetention, ConsumerOptions, Database, Error, HistoryRetention, Replica, Table};
use lath_testkit::s3::{Bucket, S3Server};

use super::contents::{assert_copied, batch, check, contents, numbers, options};

/// The variable that tells a process the server's port.
const PORT: &str = "LATH_TEST_S3_PORT";
const SOURCE: &str = "LATH_TEST_BUCKET_SOURCE";
const COPY: &str = "LATH_TEST_BUCKET_COPY";

fn run(bucket: Bucket, test: &str) {
    let status = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", &format!("replica::bucket::{test}"), "--nocapture"])
        .envs(bucket.environment())
        .env(PORT, bucket.port().to_string())
        .status()
        .unwrap();
    assert!(status.success(), "{test}: {status}");
}

fn bucket() -> Bucket {
    Bucket::at(env::var(PORT).expect("the process that started this one sets it").parse().unwrap())
}

/// The keys below a prefix.
fn keys(prefix: &str) -> BTreeSet<String> {
    let (status, body) = bucket().send("GET", &format!("lath?list-type=2&prefix={prefix}/"), b"");
    assert_eq!(status, 200);
    let body = String::from_utf8(body).unwrap();
    body.split("<Key>").skip(1).map(|rest| rest.split("</Key>").next().unwrap().to_owned()).collect()
}

fn keys_with(prefix: &str, part: &str) -> Vec<String> {
    keys(prefix).into_iter().filter(|key| key.contains(part)).collect()
}

fn round(source: &Path, url: &str, copy: &Path) -> (CatchUp, CatchUp) {
    let shipped = Replica::open(source, url, options()).unwrap().catch_up().unwrap();
    let received = Replica::open(url, copy, options()).unwrap().catch_up().unwrap();
    assert_copied(source, copy);
    (shipped, received)
}

#[test]
fn followers_through_a_bucket_do_as_local_ones() {
    let Some(moto) = S3Server::start() else { return };
    for test in [
        "copies_equal_their_sources",
        "copy_that_was_away_for_long_begins_with_the_newest_image",
        "replaced_source_begins_a_new_stream",
        "damaged_objects_are_errors",
        "place_belongs_to_one_source_and_one_follower",
        "killed_followers_go_on",
    ] {
        run(moto.bucket(), test);
    }
    assert_eq!(moto.bucket().unfinished_uploads(), 0);
}

#[test]
#[ignore = "run by followers_through_a_bucket_do_as_local_ones"]
fn copies_equal_their_sources() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy, url) = (folder.path().join("shop"), folder.path().join("copy"), "s3://lath/equal/");
    let database = Database::create(&source, options()).unwrap();
    let nothing = Replica::open(url, &copy, options()).unwrap().catch_up().unwrap_err();
    assert!(nothing.to_string().contains("nothing was shipped there yet"), "{nothing}");
    let (shipped, received) = round(&source, url, &copy);
    assert!(shipped.whole_copy.is_some() && received.whole_copy.is_some());
    database.keep_history(HistoryRetention::new().commits(30)).unwrap();
    let orders = database.create_table("orders", &batch(&[]).schema(), &["id"]).unwrap();
    let mut shipper = Replica::open(&source, url, options()).unwrap();
    let mut receiver = Replica::open(url, &copy, options()).unwrap();
    let mut random = fastrand::Rng::with_seed(lath_testkit::seed());
    for step in 0..12 {
        let rows: Vec<(i64, i64)> = (0..random.i64(1..300)).map(|_| (random.i64(0..5000), step)).collect();
        orders.upsert(&batch(&rows)).unwrap();
        orders.delete([random.i64(0..5000)]).unwrap();
        match step {
            2 | 5 | 9 => drop(orders.flush().unwrap()),
            3 => database.keep_snapshot("monday").unwrap(),
            4 => database.put_view("v", "SELECT 1").unwrap(),
            6 => {
                orders.compact().unwrap();
                database.create_sequence("numbers", &numbers()).unwrap();
                orders.keep_changes(ChangeRetention::new()).unwrap();
                orders.add_consumer("mail", ConsumerOptions::new()).unwrap();
            }
            7 => database.drop_snapshot("monday").unwrap(),
            10 => drop(database.vacuum().unwrap()),
            _ => {}
        }
        if step % 4 == 1 {
            // Both begin again.
            drop((shipper, receiver));
            shipper = Replica::open(&source, url, options()).unwrap();
            receiver = Replica::open(url, &copy, options()).unwrap();
        }
        let shipped = shipper.catch_up().unwrap();
        assert!(shipped.whole_copy.is_none() && shipped.commits > 0, "{shipped:?}");
        if random.bool() || step == 11 {
            let received = receiver.catch_up().unwrap();
            assert!(received.whole_copy.is_none() && received.commit == shipped.commit, "{received:?}");
            assert_copied(&source, &copy);
        }
    }
    assert_eq!(receiver.catch_up().unwrap().commits, 0);
    assert_eq!(keys_with("equal", ".store").len(), 1, "one image");
    drop((shipper, receiver));

    // Through no bucket, the same copy goes on, and then through the bucket again.
    orders.upsert(&batch(&[(1, 1)])).unwrap();
    assert_eq!(Replica::open(&source, &copy, options()).unwrap().catch_up().unwrap().whole_copy, None);
    assert_copied(&source, &copy);
    let (_, received) = round(&source, url, &copy);
    assert_eq!(received.whole_copy, None);
    orders.upsert(&batch(&[(2, 2)])).unwrap();
    assert_eq!(round(&source, url, &copy).1.whole_copy, None);
    Replica::promote(&copy, options()).unwrap();
    Database::open(&copy, options()).unwrap().table("orders").unwrap().upsert(&batch(&[(3, 3)])).unwrap();
    let refused = Replica::open(url, &copy, options()).unwrap_err();
    assert!(refused.to_string().contains("promoted"), "{refused}");
}

#[test]
#[ignore = "run by followers_through_a_bucket_do_as_local_ones"]
fn copy_that_was_away_for_long_begins_with_the_newest_image() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy, url) = (folder.path().join("t"), folder.path().join("copy"), "s3://lath/away");
    let table = Table::create(&source, &batch(&[]).schema(), &["id"], options().bulk_rows(1 << 40)).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let mut fill = |rows: usize| {
        let rows: Vec<(i64, i64)> = (0..rows).map(|_| (random.i64(..), random.i64(..))).collect();
        table.upsert(&batch(&rows)).unwrap();
    };
    fill(1000);
    table.flush().unwrap();
    round(&source, url, &copy);
    let first = keys_with("away", ".store");
    let mut shipper = Replica::open(&source, url, options()).unwrap();
    let mut images = BTreeSet::new();
    for _ in 0..8 {
        fill(150_000);
        table.flush().unwrap();
        table.compact().unwrap();
        shipper.catch_up().unwrap();
        table.vacuum().unwrap();
        fill(150_000);
        shipper.catch_up().unwrap();
        images.extend(keys_with("away", ".store"));
    }
    drop(shipper);
    assert!(images.len() > 2, "increments became longer than an image: {images:?}");
    let left = keys_with("away", ".store");
    assert!(left.len() <= 2 && !left.contains(&first[0]), "older images are removed: {left:?}");
    let oldest = keys_with("away", "image-").into_iter().min().unwrap();
    let number = |key: &str| key.rsplit('-').next().unwrap().split('.').next().unwrap().parse::<u64>().unwrap();
    assert!(keys_with("away", "increment-").iter().all(|key| number(key) >= number(&oldest)), "and their increments");
    let files = keys_with("away", ".pq").len();
    assert!(files <= 6, "files that no image or increment needs are removed: {files}");
    let received = Replica::open(url, &copy, options()).unwrap().catch_up().unwrap();
    assert_eq!(received.whole_copy, None, "the copy is changed to the image");
    assert_copied(&source, &copy);
    // A new copy begins with it, too.
    let (_, received) = round(&source, url, &folder.path().join("new"));
    assert!(received.whole_copy.is_some());
}

#[test]
#[ignore = "run by followers_through_a_bucket_do_as_local_ones"]
fn replaced_source_begins_a_new_stream() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy, url) = (folder.path().join("t"), folder.path().join("copy"), "s3://lath/replaced");
    let table = Table::create(&source, &batch(&[]).schema(), &["id"], options()).unwrap();
    table.upsert(&batch(&[(1, 1), (2, 2)])).unwrap();
    table.flush().unwrap();
    let backup = folder.path().join("backup");
    table.backup(&backup).unwrap();
    table.upsert(&batch(&[(3, 3)])).unwrap();
    round(&source, url, &copy);
    drop(table);
    fs::remove_dir_all(&source).unwrap();
    fs::rename(&backup, &source).unwrap();
    let (shipped, received) = round(&source, url, &copy);
    assert!(shipped.whole_copy.is_some() && received.whole_copy.is_some(), "{shipped:?} {received:?}");
    assert_eq!(contents(&source), contents(&copy));
    let streams: BTreeSet<String> =
        keys_with("replaced", "stream-").iter().map(|key| key.split('/').nth(1).unwrap().to_owned()).collect();
    assert_eq!(streams.len(), 1, "the stream before is removed");
}

#[test]
#[ignore = "run by followers_through_a_bucket_do_as_local_ones"]
fn damaged_objects_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy, url) = (folder.path().join("t"), folder.path().join("copy"), "s3://lath/damaged");
    let table = Table::create(&source, &batch(&[]).schema(), &["id"], options()).unwrap();
    table.upsert(&batch(&[(1, 1)])).unwrap();
    round(&source, url, &copy);
    let before = contents(&copy);
    table.upsert(&batch(&[(2, 2)])).unwrap();
    table.flush().unwrap();
    Replica::open(&source, url, options()).unwrap().catch_up().unwrap();
    let mut damaged: Vec<String> = keys_with("damaged", "increment-");
    damaged.extend(keys_with("damaged", ".pq"));
    assert_eq!(damaged.len(), 2);
    for key in damaged {
        let bytes = bucket().get(&key).unwrap();
        for at in [0, 9, bytes.len() / 2, bytes.len() - 1] {
            let mut other = bytes.clone();
            other[at] ^= 1;
            bucket().put(&key, &other);
            let error = Replica::open(url, &copy, options()).unwrap().catch_up().unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. }), "{key} at {at}: {error}");
            assert_eq!(contents(&copy), before, "nothing of it is applied");
        }
        bucket().put(&key, &bytes[..bytes.len() / 2]);
        assert!(Replica::open(url, &copy, options()).unwrap().catch_up().is_err());
        bucket().put(&key, &bytes);
    }
    Replica::open(url, &copy, options()).unwrap().catch_up().unwrap();
    assert_copied(&source, &copy);
    for key in keys_with("damaged", "_lath_follow").into_iter().chain(keys_with("damaged", "image-")) {
        let bytes = bucket().get(&key).unwrap();
        bucket().put(&key, b"{}");
        let error = Replica::open(url, folder.path().join("new"), options()).unwrap().catch_up().unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{key}: {error}");
        bucket().put(&key, &bytes);
    }
}

#[test]
#[ignore = "run by followers_through_a_bucket_do_as_local_ones"]
fn place_belongs_to_one_source_and_one_follower() {
    let folder = tempfile::tempdir().unwrap();
    let (source, other, url) = (folder.path().join("t"), folder.path().join("other"), "s3://lath/owned");
    let table = Table::create(&source, &batch(&[]).schema(), &["id"], options()).unwrap();
    drop(Table::create(&other, &batch(&[(9, 9)]).schema(), &["id"], options()).unwrap());
    let mut first = Replica::open(&source, url, options()).unwrap();
    first.catch_up().unwrap();
    let error = Replica::open(&other, url, options()).unwrap().catch_up().unwrap_err();
    assert!(error.to_string().contains("is another table"), "{error}");
    let error = Replica::open(&source, url, options()).unwrap_err();
    assert!(error.to_string().contains("another process follows"), "{error}");

    // A follower of the same source on another machine, or of a copy of it.
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(&source, &elsewhere).unwrap();
    let mut second = Replica::open(&elsewhere, url, options()).unwrap();
    second.catch_up().unwrap();
    fs::rename(&elsewhere, &source).unwrap();
    table.upsert(&batch(&[(1, 1)])).unwrap();
    fs::rename(&source, &elsewhere).unwrap();
    second.catch_up().unwrap();
    fs::rename(&elsewhere, &source).unwrap();
    let error = first.catch_up().unwrap_err();
    assert!(error.to_string().contains("another follower ships"), "{error}");
    drop((first, second));
    round(&source, url, &folder.path().join("copy"));
}

/// Not a test: the program of the children.
#[test]
fn child() {
    let (Some(source), Some(copy)) = (env::var_os(SOURCE), env::var_os(COPY)) else { return };
    let mut replica = Replica::open(Path::new(&source), Path::new(&copy), options()).unwrap();
    replica.follow(|_| ControlFlow::Continue(())).unwrap();
}

#[test]
#[ignore = "run by followers_through_a_bucket_do_as_local_ones"]
fn killed_followers_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy, url) = (folder.path().join("shop"), folder.path().join("copy"), "s3://lath/killed");
    let database = Database::create(&source, options()).unwrap();
    database.keep_history(HistoryRetention::new().commits(40)).unwrap();
    let table = database.create_table("t", &batch(&[]).schema(), &["id"]).unwrap();
    let mut random = fastrand::Rng::with_seed(lath_testkit::seed());
    round(&source, url, &copy);
    let start = |from: &OsStr, to: &OsStr| {
        Command::new(env::current_exe().unwrap())
            .args(["replica::bucket::child", "--exact", "--nocapture"])
            .envs([(SOURCE, from), (COPY, to)])
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    for _ in 0..5 {
        let mut shipper = start(source.as_os_str(), OsStr::new(url));
        let mut receiver = start(OsStr::new(url), copy.as_os_str());
        for _ in 0..random.u32(2..25) {
            let rows: Vec<(i64, i64)> = (0..20).map(|_| (random.i64(0..3000), random.i64(..))).collect();
            table.upsert(&batch(&rows)).unwrap();
            if random.u8(..6) == 0 {
                table.flush().unwrap();
                table.compact().unwrap();
                database.vacuum().unwrap();
            }
            sleep(Duration::from_millis(random.u64(0..60)));
        }
        let (first, second) = if random.bool() { (&mut shipper, &mut receiver) } else { (&mut receiver, &mut shipper) };
        first.kill().unwrap();
        sleep(Duration::from_millis(random.u64(0..100)));
        second.kill().unwrap();
        first.wait().unwrap();
        second.wait().unwrap();
        check(&copy);
        let (shipped, received) = round(&source, url, &copy);
        assert_eq!((shipped.whole_copy, received.whole_copy), (None, None));
    }
}
