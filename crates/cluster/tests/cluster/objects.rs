//! Files on a server that can hold its answers back.

use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use arrow_array::{Int64Array, RecordBatch};
use lath_testkit::server::{Fault, Request, Server};
use lath_writer::{ParquetWriter, WriteOptions};

use crate::{Workers, alone, register_url, text};

/// A query over all rows.
pub(crate) const QUERY: &str = "SELECT number % 7, count(*), sum(number) FROM numbers GROUP BY number % 7";

const ROW_GROUPS: usize = 60;
const ROW_GROUP_ROWS: usize = 4000;

/// Lets requests pass, or holds them back.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    /// Number of requests that may still pass; `None` for all.
    passing: Option<usize>,
    waiting: usize,
    is_done: bool,
}

impl Gate {
    pub(crate) fn open() -> Self {
        Self::default()
    }

    pub(crate) fn close(&self) {
        self.close_after(0);
    }

    /// Holds requests back after some have passed.
    pub(crate) fn close_after(&self, requests: usize) {
        self.state.lock().unwrap().passing = Some(requests);
    }

    pub(crate) fn reopen(&self) {
        self.state.lock().unwrap().passing = None;
        self.changed.notify_all();
    }

    /// Waits until this many requests are held back, or the query is done without them.
    pub(crate) fn wait_for(&self, requests: usize) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| state.waiting < requests && !state.is_done).unwrap());
    }

    /// Says that a query is done.
    pub(crate) fn done(&self) {
        self.state.lock().unwrap().is_done = true;
        self.changed.notify_all();
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        if let Some(left) = &mut state.passing {
            if *left > 0 {
                *left -= 1;
                return;
            }
            state.waiting += 1;
            self.changed.notify_all();
            state = self.changed.wait_while(state, |state| state.passing.is_some()).unwrap();
            state.waiting -= 1;
        }
    }
}

/// A server with a file of many row groups.
pub(crate) struct Objects {
    server: Server,
    row_groups: usize,
}

impl Objects {
    pub(crate) fn new(gate: Arc<Gate>) -> Self {
        Self::with_row_groups(gate, ROW_GROUPS, ROW_GROUP_ROWS)
    }

    pub(crate) fn with_row_groups(gate: Arc<Gate>, row_groups: usize, rows: usize) -> Self {
        let choose = move |_: &Request, _| {
            gate.pass();
            Fault::None
        };
        let objects = [("numbers.parquet".to_owned(), numbers(0, row_groups, rows))];
        Self { server: Server::with_faults(objects, choose), row_groups }
    }

    pub(crate) fn url(&self) -> String {
        self.server.url("numbers.parquet")
    }

    /// The prefix that a worker has to be allowed.
    pub(crate) fn prefix(&self) -> String {
        self.server.url("")
    }

    pub(crate) fn requests(&self) -> usize {
        self.server.requests().len()
    }

    pub(crate) fn row_groups(&self) -> usize {
        self.row_groups
    }

    /// The number of requests when no more come.
    pub(crate) fn settled(&self) -> usize {
        let mut before = usize::MAX;
        while before != self.requests() {
            before = self.requests();
            thread::sleep(Duration::from_millis(500));
        }
        before
    }

    /// The answer of one process to [`QUERY`].
    pub(crate) fn expected(&self) -> String {
        let session = alone();
        register_url(&session, "numbers", &self.url());
        text(&session, QUERY)
    }
}

fn file(first: i64) -> bytes::Bytes {
    numbers(first, ROW_GROUPS, ROW_GROUP_ROWS)
}

/// A file of numbers from `first` on.
fn numbers(first: i64, row_groups: usize, rows: usize) -> bytes::Bytes {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("numbers.parquet");
    let count = i64::try_from(row_groups * rows).unwrap();
    let numbers = Int64Array::from_iter_values((first..first + count).map(|number| number * 7919 % 1_000_003));
    let batch = RecordBatch::try_from_iter([("number", Arc::new(numbers) as _)]).unwrap();
    let options = WriteOptions::default().row_group_rows(rows);
    let mut writer = ParquetWriter::create(&path, &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    std::fs::read(path).unwrap().into()
}

#[test]
fn a_file_that_was_replaced_since_it_was_planned_is_an_error() {
    let gate = Arc::new(Gate::open());
    let objects = Objects::new(Arc::clone(&gate));
    let workers = Workers::start_for(2, &objects.prefix());
    let session = workers.session();
    register_url(&session, "numbers", &objects.url());
    let answer = session.run(QUERY).unwrap();
    objects.server.replace("numbers.parquet", file(1));
    let error = answer.collect::<Result<Vec<_>, _>>().unwrap_err().to_string();
    assert!(error.contains("numbers.parquet") && error.contains("replaced"), "{error}");
    workers.stop();
}

#[test]
fn a_local_file_that_was_replaced_since_it_was_planned_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("numbers.parquet");
    std::fs::write(&path, file(0)).unwrap();
    let workers = Workers::start(2, folder.path());
    let session = workers.session();
    crate::register(&session, "numbers", &path);
    let answer = session.run(QUERY).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, file(1)).unwrap();
    let error = answer.collect::<Result<Vec<_>, _>>().unwrap_err().to_string();
    assert!(error.contains("numbers.parquet"), "{error}");
    workers.stop();
}

#[test]
fn workers_stop_when_there_are_enough_rows_or_the_answer_is_dropped() {
    for query in ["SELECT number FROM numbers LIMIT 10", "SELECT number FROM numbers"] {
        let gate = Arc::new(Gate::open());
        let objects = Objects::new(Arc::clone(&gate));
        let workers = Workers::start_for(2, &objects.prefix());
        let session = workers.session();
        register_url(&session, "numbers", &objects.url());
        let planned = objects.requests();
        let mut answer = session.run(query).unwrap();
        gate.close_after(12);
        assert!(answer.next().unwrap().is_ok());
        drop(answer);
        gate.reopen();
        let requests = objects.settled() - planned;
        assert!(requests < ROW_GROUPS / 2, "{query}: {requests} requests");
        drop(session);
        workers.stop();
    }
}
