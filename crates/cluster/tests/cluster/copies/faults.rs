//! Statements that fail: nothing of them is visible, and nothing stays.

use std::env;
use std::io::Write;
use std::thread;

use lath_sql::{BlockingSession, Error, Stop};
use lath_testkit::s3::Proxy;
use lath_writer::abort_unfinished;

use super::bucket::{assert_nothing_stays, bucket, objects, unfinished, with_table, write_table};
use crate::processes::{Process, say_and_wait, session};
use crate::{Workers, alone, rows};

/// The folder that [`copying_coordinator`] reads, the folder that it writes, and its workers, divided by spaces.
const COPY: &str = "LATH_TEST_COPY";

fn copy(to: &str) -> String {
    format!("COPY (SELECT * FROM t) TO 's3://lath/{to}' PARTITIONED BY (p)")
}

#[test]
#[ignore = "run by in_a_bucket"]
fn an_error_in_the_middle_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let running = Workers::start_writing(3, folder.path(), &["s3://lath"]);
    let session = with_table(running.session(), folder.path());
    for (number, query) in [
        "SELECT id, p, 1 / (id - 3999) AS x FROM t",
        "SELECT id, p, CAST(t AS INT) AS x FROM t",
        // A value whose folder has too long a name: the error of one writer.
        "SELECT id, CASE WHEN id = 3999 THEN repeat('ø', 130) ELSE s END AS p FROM t",
    ]
    .into_iter()
    .enumerate()
    {
        let to = format!("error/{number}");
        let statement = format!("COPY ({query}) TO 's3://lath/{to}' PARTITIONED BY (p)");
        let expected = rows(&with_table(alone(), folder.path()), &statement.replace("error", "alone")).unwrap_err();
        let found = rows(&session, &statement).unwrap_err();
        assert_eq!(std::mem::discriminant(&found), std::mem::discriminant(&expected), "{found} {expected}");
        assert_nothing_stays(&to);
    }
    // The next statement writes.
    rows(&session, &copy("error/next")).unwrap();
    assert_eq!(objects("error/next").len(), 5);
    running.stop();
}

#[test]
#[ignore = "run by in_a_bucket"]
fn if_one_object_cannot_be_completed_none_stays() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let running = Workers::start_writing(2, folder.path(), &["s3://lath"]);
    let session = with_table(running.session(), folder.path());
    let error = rows(&session, &copy("completion/fails/a")).unwrap_err().to_string();
    assert!(error.contains("those that were complete are deleted again"), "{error}");
    assert_nothing_stays("completion/fails/a");
    running.stop();
}

#[test]
#[ignore = "run by in_a_bucket"]
fn an_object_is_complete_if_only_the_answer_was_lost() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let running = Workers::start_writing(2, folder.path(), &["s3://lath"]);
    let session = with_table(running.session(), folder.path());
    rows(&session, &copy("completion/lost/a")).unwrap();
    assert_eq!((objects("completion/lost/a").len(), unfinished("completion/lost/a")), (5, 0));
    running.stop();
}

/// Worker processes whose requests pass a proxy, which holds some back.
pub(super) fn held_workers(
    count: usize,
    allow: &str,
    method: &'static str,
    part: &'static str,
) -> (Proxy, Vec<Process>) {
    let proxy = Proxy::hold(bucket(), method, part);
    let workers =
        (0..count).map(|_| Process::writing_worker(allow, "s3://lath", &proxy.bucket().environment())).collect();
    (proxy, workers)
}

pub(super) fn on(workers: &[Process], folder: &std::path::Path) -> BlockingSession {
    with_table(session(workers.iter().map(Process::said)), folder)
}

#[test]
#[ignore = "run by in_a_bucket"]
fn a_statement_that_loses_a_worker_fails_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let allow = folder.path().to_str().unwrap();
    // While the first upload begins, and while parts are sent.
    for (number, (method, part)) in [("POST", "?uploads"), ("PUT", "partNumber=")].into_iter().enumerate() {
        let (proxy, mut workers) = held_workers(3, allow, method, part);
        let session = on(&workers, folder.path());
        let to = format!("killed/{number}");
        let statement = copy(&to);
        let running = thread::spawn(move || rows(&session, &statement).unwrap_err().to_string());
        proxy.wait();
        workers[0].kill();
        workers[1].kill();
        let error = running.join().unwrap();
        assert!(error.contains("a worker was lost while the query ran; run it again"), "{error}");
        // The requests that are held back are lost with the killed workers.
        drop(proxy);
        // The coordinator deletes the uploads of the killed workers.
        assert_nothing_stays(&to);
    }
}

#[test]
#[ignore = "run by in_a_bucket"]
fn a_statement_that_is_stopped_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let allow = folder.path().to_str().unwrap();
    let (proxy, workers) = held_workers(2, allow, "PUT", "partNumber=");
    let session = on(&workers, folder.path());
    let (stop, statement) = (Stop::new(), copy("stopped"));
    let handle = stop.clone();
    let running = thread::spawn(move || {
        let answer = session.run_in(&statement, 0..statement.len(), Some(&handle));
        answer.and_then(Iterator::collect::<Result<Vec<_>, _>>).unwrap_err()
    });
    proxy.wait();
    stop.stop();
    assert!(matches!(running.join().unwrap(), Error::Stopped));
    proxy.open();
    assert_nothing_stays("stopped");
}

/// A coordinator, if the variable is set; otherwise nothing is tested.
#[test]
fn copying_coordinator() {
    let Ok(arguments) = env::var(COPY) else { return };
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let session = with_table(session(arguments[2..].iter().copied()), arguments[0].as_ref());
    let statement = copy(arguments[1]);
    thread::spawn(move || rows(&session, &statement));
    std::io::stdout().flush().unwrap();
    say_and_wait("started");
}

#[test]
#[ignore = "run by in_a_bucket"]
fn workers_delete_what_they_sent_when_the_coordinator_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let allow = folder.path().to_str().unwrap();
    let (proxy, workers) = held_workers(2, allow, "PUT", "partNumber=");
    let addresses: Vec<&str> = workers.iter().map(Process::said).collect();
    let arguments = [allow, "coordinator-killed", &addresses.join(" ")].join(" ");
    let mut coordinator = Process::start_in("copies::faults", "copying_coordinator", &[(COPY, &arguments)]);
    proxy.wait();
    coordinator.kill();
    proxy.open();
    assert_nothing_stays("coordinator-killed");
}

#[test]
#[ignore = "run by in_a_bucket"]
fn what_a_coordinator_could_not_complete_is_listed_as_unfinished() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let running = Workers::start_writing(2, folder.path(), &["s3://lath"]);
    // The coordinator is killed while it completes the first object.
    let proxy = Proxy::hold(bucket(), "POST", "uploadId=");
    let arguments = [folder.path().to_str().unwrap(), "listed", &running.addresses.join(" ")].join(" ");
    let environment = proxy.bucket().environment();
    let mut variables: Vec<(&str, &str)> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    variables.push((COPY, &arguments));
    let mut coordinator = Process::start_in("copies::faults", "copying_coordinator", &variables);
    proxy.wait();
    coordinator.kill();
    drop(proxy);
    assert_eq!((objects("listed").len(), unfinished("listed")), (0, 5));
    // `lath uploads` lists and deletes the same.
    let store = lath_parquet::DatasetOptions::new().object_store("s3://lath/listed").unwrap();
    let left = store.unfinished_uploads().unwrap();
    let name = left[0].url.rsplit_once('/').unwrap().1.to_owned();
    assert!(left.len() == 5 && left.iter().all(|upload| upload.url.starts_with("s3://lath/listed/p=")), "{left:?}");
    abort_unfinished("s3://lath/listed", "part-other.parquet").unwrap();
    assert_eq!(unfinished("listed"), 5);
    abort_unfinished("s3://lath/listed", &name).unwrap();
    assert_nothing_stays("listed");
    running.stop();
}
