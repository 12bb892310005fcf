//! Workers and coordinators as separate processes, which are killed and halted.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;

use lath_cluster::{Cluster, ClusterOptions, WorkerOptions, WorkerServer};
use lath_parquet::Runtime;
use lath_sql::{BlockingSession, Error, Session};

use crate::objects::{Gate, Objects, QUERY};
use crate::{Workers, text};

/// The prefix that the worker of [`worker`] may open.
const ALLOW: &str = "LATH_TEST_ALLOW";
/// The prefix below which it may write, if there is one.
const ALLOW_WRITE: &str = "LATH_TEST_ALLOW_WRITE";
/// The workers of [`coordinator`] and the file that it reads, divided by spaces.
const ADDRESSES: &str = "LATH_TEST_ADDRESSES";

/// A process that ends with this one.
pub(crate) struct Process {
    child: Child,
    /// Its first line of output.
    said: String,
}

impl Process {
    /// Starts a test of this program that a variable makes another program.
    fn start(test: &str, variable: &str, value: &str) -> Self {
        Self::start_in("processes", test, &[(variable, value)])
    }

    /// As [`start`](Self::start), for a test of a module.
    pub(crate) fn start_in(module: &str, test: &str, variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([&format!("{module}::{test}"), "--exact", "--nocapture", "--test-threads=1"])
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let said =
            lines.map(Result::unwrap).find_map(|line| line.split_once("said: ").map(|(_, said)| said.to_owned()));
        Self { child, said: said.unwrap() }
    }

    fn worker(allow: &str) -> Self {
        Self::start("worker", ALLOW, allow)
    }

    /// A worker that also writes, with other variables for its store.
    pub(crate) fn writing_worker(allow: &str, allow_write: &str, store: &[(&str, String)]) -> Self {
        let mut variables: Vec<(&str, &str)> = store.iter().map(|(name, value)| (*name, value.as_str())).collect();
        variables.extend([(ALLOW, allow), (ALLOW_WRITE, allow_write)]);
        Self::start_in("processes", "worker", &variables)
    }

    pub(crate) fn said(&self) -> &str {
        &self.said
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn halt(&self) {
        let halted = Command::new("kill").args(["-STOP", &self.child.id().to_string()]).status().unwrap();
        assert!(halted.success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Prints a line and waits until the process that has started this one is gone.
pub(crate) fn say_and_wait(line: &str) {
    println!("said: {line}");
    std::io::stdout().flush().unwrap();
    drop(std::io::stdin().read_to_end(&mut Vec::new()));
}

/// A worker, if the variable is set; otherwise nothing is tested.
#[test]
fn worker() {
    let Ok(allow) = std::env::var(ALLOW) else { return };
    let options = WorkerOptions::new().allow(allow).threads(1);
    let options = std::env::var(ALLOW_WRITE).into_iter().fold(options, WorkerOptions::allow_write);
    let server = WorkerServer::bind("127.0.0.1:0", options).unwrap();
    let address = server.address().to_string();
    let _running = server.start();
    say_and_wait(&address);
}

/// A coordinator, if the variable is set; otherwise nothing is tested.
#[test]
fn coordinator() {
    let Ok(arguments) = std::env::var(ADDRESSES) else { return };
    let mut arguments = arguments.split(' ');
    let url = arguments.next_back().unwrap().to_owned();
    let session = session(arguments);
    thread::spawn(move || {
        crate::register_url(&session, "numbers", &url);
        text(&session, QUERY)
    });
    say_and_wait("started");
}

pub(crate) fn session<'a>(addresses: impl IntoIterator<Item = &'a str>) -> BlockingSession {
    let cluster = Cluster::new(addresses, ClusterOptions::new().min_bytes(0)).unwrap();
    let runtime = Runtime::builder().threads(2).build();
    BlockingSession::new(cluster.extend(Session::builder().runtime(&runtime)).build().unwrap()).unwrap()
}

/// A session on three processes that may read the objects of a server.
fn three_workers(objects: &Objects) -> (Vec<Process>, BlockingSession) {
    let workers: Vec<Process> = (0..3).map(|_| Process::worker(&objects.prefix())).collect();
    let session = session(workers.iter().map(|worker| worker.said.as_str()));
    crate::register_url(&session, "numbers", &objects.url());
    (workers, session)
}

#[test]
fn a_worker_that_is_killed_before_a_query_is_left_out() {
    let objects = Objects::new(Arc::new(Gate::open()));
    let (mut workers, session) = three_workers(&objects);
    let expected = objects.expected();
    assert_eq!(text(&session, QUERY), expected);
    workers[1].kill();
    assert_eq!(text(&session, QUERY), expected);
}

#[test]
fn a_query_is_run_again_without_a_worker_that_is_killed_meanwhile() {
    let gate = Arc::new(Gate::open());
    let objects = Objects::new(Arc::clone(&gate));
    let (mut workers, session) = three_workers(&objects);
    let expected = objects.expected();
    // No worker gets a byte while the gate is closed, so none is done.
    gate.close();
    let query = thread::spawn(move || text(&session, QUERY));
    gate.wait_for(3);
    workers[2].kill();
    gate.reopen();
    assert_eq!(query.join().unwrap(), expected);
}

#[test]
fn a_query_that_loses_a_worker_after_its_first_rows_says_so() {
    let gate = Arc::new(Gate::open());
    let objects = Objects::new(Arc::clone(&gate));
    let (mut workers, session) = three_workers(&objects);
    let mut answer = session.run("SELECT number FROM numbers WHERE number >= 0").unwrap();
    gate.close_after(15);
    assert!(answer.next().unwrap().is_ok());
    gate.wait_for(3);
    workers.iter_mut().for_each(Process::kill);
    gate.reopen();
    let error = answer.find_map(Result::err).unwrap();
    let text = error.to_string();
    assert!(
        matches!(error, Error::Rows(_)) && text.contains("a worker was lost while the query ran; run it again"),
        "{text}"
    );
}

#[test]
fn a_worker_that_is_killed_after_it_is_done_harms_nothing() {
    for killed in 0..3 {
        let gate = Arc::new(Gate::open());
        let objects = Objects::new(Arc::clone(&gate));
        let (mut workers, session) = three_workers(&objects);
        let expected = objects.expected();
        // Once the workers know the file, a query takes as many requests as the one before.
        let counted = || {
            let before = objects.requests();
            assert_eq!(text(&session, QUERY), expected);
            objects.requests() - before
        };
        counted();
        // All are answered but the last: one worker at most is not done.
        gate.close_after(counted() - 1);
        let ended = Arc::clone(&gate);
        let query = thread::spawn(move || {
            let found = text(&session, QUERY);
            ended.done();
            found
        });
        gate.wait_for(1);
        workers[killed].kill();
        gate.reopen();
        assert_eq!(query.join().unwrap(), expected);
    }
}

#[test]
fn a_query_is_run_again_without_a_worker_that_is_halted() {
    let gate = Arc::new(Gate::open());
    let objects = Objects::new(Arc::clone(&gate));
    let (workers, session) = three_workers(&objects);
    let expected = objects.expected();
    gate.close();
    let query = thread::spawn(move || text(&session, QUERY));
    gate.wait_for(3);
    workers[0].halt();
    gate.reopen();
    assert_eq!(query.join().unwrap(), expected);
}

#[test]
fn workers_stop_when_the_coordinator_is_killed() {
    let gate = Arc::new(Gate::open());
    let objects = Objects::with_row_groups(Arc::clone(&gate), 1000, 100);
    let workers = Workers::start_for(2, &objects.prefix());
    // The coordinator opens the file, and the workers get to some of its row groups.
    gate.close_after(12);
    let arguments = [workers.addresses.join(" "), objects.url()].join(" ");
    let mut coordinator = Process::start("coordinator", ADDRESSES, &arguments);
    gate.wait_for(2);
    coordinator.kill();
    let stopped_at = objects.requests();
    gate.reopen();
    // Workers may have read ahead.
    let requests = objects.settled() - stopped_at;
    assert!(requests < objects.row_groups() / 2, "{requests} requests after the coordinator was killed");
    workers.stop();
}
