//! Files behind a server that fails.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lath_parquet::{Dataset, Error};

use super::{expected, open, options, parquet, rows, table};
use lath_testkit::server::{Fault, Request, Server};

/// Reads a file of 100,000 rows from a server with these faults. Returns the result and the number of requests.
fn read(
    faults: impl Fn(&Request, usize) -> Fault + Send + Sync + 'static,
    retries: usize,
) -> (Result<(), Error>, usize) {
    let file = parquet(&table(0, 100_000));
    let server = Server::with_faults([("a.parquet".into(), file.clone())], faults);
    let read = || {
        let options = options().retries(retries).request_timeout(Duration::from_secs(2));
        let dataset = Dataset::open([server.url("a.parquet")], options)?;
        rows(&dataset.files()[0].open()?)
    };
    let outcome = read().map(|rows| assert_eq!(rows, expected(&file)));
    (outcome, server.requests().len())
}

#[test]
fn every_other_answer_may_fail_in_any_way() {
    let (_, without) = read(|_, _| Fault::None, 0);
    let faults = [
        Fault::Status(500),
        Fault::Status(503),
        Fault::Status(429),
        Fault::Reset,
        Fault::Truncate(0),
        Fault::Truncate(1_000),
        Fault::Short(1_000),
        Fault::Delay(Duration::from_millis(30)),
    ];
    for fault in faults {
        let (outcome, requests) = read(move |_, number| if number % 2 == 0 { fault } else { Fault::None }, 3);
        assert!(outcome.is_ok(), "{fault:?}: {outcome:?}");
        assert!(requests >= without, "{fault:?}: {requests} of {without}");
    }
}

#[test]
fn faults_at_random_give_the_right_rows_or_an_error() {
    let seed = Instant::now().elapsed().as_nanos() as usize ^ std::process::id() as usize;
    println!("seed {seed}");
    let mut outcomes = [0, 0];
    for case in 0..12 {
        let mixed = move |_: &Request, number: usize| {
            let mut state = (seed + case * 1_000 + number) as u64 + 1;
            for _ in 0..3 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
            }
            match state % 12 {
                0 => Fault::Status(500),
                1 => Fault::Reset,
                2 => Fault::Truncate((state >> 8) as usize % 70_000),
                3 => Fault::Short((state >> 8) as usize % 70_000),
                _ => Fault::None,
            }
        };
        let (outcome, _) = read(mixed, case % 3);
        outcomes[usize::from(outcome.is_ok())] += 1;
        if let Err(error) = outcome {
            assert!(matches!(error, Error::Io { .. }), "{error}");
        }
    }
    assert!(outcomes[1] > 0, "{outcomes:?}");
}

#[test]
fn a_server_that_always_fails_is_asked_as_often_as_allowed_and_named() {
    for (fault, expected) in [
        (Fault::Status(503), "a.parquet"),
        (Fault::Reset, "a.parquet"),
        (Fault::Truncate(100), "a.parquet"),
        (Fault::Short(100), "received 100 of 73728 bytes"),
    ] {
        let (outcome, requests) = read(move |_, _| fault, 2);
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("http://127.0.0.1") && error.contains(expected), "{fault:?}: {error}");
        assert!((3..=9).contains(&requests), "{fault:?}: {requests}");
    }
}

#[test]
fn refusals_are_not_tried_again_and_say_what_to_do() {
    for (status, expected) in [(403, "access is denied"), (401, "credentials"), (404, "no such object")] {
        let (outcome, requests) = read(move |_, _| Fault::Status(status), 5);
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("a.parquet"), "{error}");
        assert_eq!(requests, 1);
    }
    let server = Server::of([]);
    let error = open(&server.url("missing.parquet")).unwrap_err().to_string();
    assert!(error.contains("missing.parquet") && error.contains("there is no such object"), "{error}");
}

#[test]
fn a_server_that_does_not_know_the_end_is_asked_for_the_length() {
    let no_suffix = |request: &Request, _| match request.range.as_deref() {
        Some(range) if range.starts_with("bytes=-") => Fault::Whole,
        _ => Fault::None,
    };
    let (outcome, requests) = read(no_suffix, 0);
    assert!(outcome.is_ok(), "{outcome:?}");
    assert!(requests >= 3);
}

#[test]
fn a_server_without_ranges_is_said_to_be_one() {
    let (outcome, requests) = read(|_, _| Fault::Whole, 5);
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("download the file first"), "{error}");
    assert!(requests <= 3, "{requests}");
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    let file = parquet(&table(0, 10));
    let server = Server::with_faults([("a.parquet".into(), file)], |_, _| Fault::Delay(Duration::from_secs(600)));
    let options = options().retries(1).request_timeout(Duration::from_millis(200));
    let started = Instant::now();
    let error = Dataset::open([server.url("a.parquet")], options).unwrap_err().to_string();
    assert!(started.elapsed() < Duration::from_secs(300), "{:?}", started.elapsed());
    assert_eq!(server.requests().len(), 2);
    assert!(error.contains("a.parquet"), "{error}");
}

#[test]
fn where_nobody_listens_the_error_comes_at_once() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let error = Dataset::open([format!("http://127.0.0.1:{port}/a.parquet")], options().retries(1)).unwrap_err();
    assert!(error.to_string().contains("endpoint") || error.to_string().contains("refused"), "{error}");
}

#[test]
fn many_threads_may_ask_at_once() {
    let files: Vec<_> = (0..20).map(|file| parquet(&table(file, 5_000))).collect();
    let named = files.iter().enumerate().map(|(at, file)| (format!("{at}.parquet"), file.clone()));
    let server = Server::with_faults(named, |_, number| if number % 5 == 0 { Fault::Status(500) } else { Fault::None });
    let urls: Vec<String> = (0..20).map(|at| server.url(&format!("{at}.parquet"))).collect();
    let dataset = Dataset::open(&urls, options().requests_in_flight(6)).unwrap();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&at| at < 20) {
                    assert_eq!(rows(&dataset.files()[at].open().unwrap()).unwrap(), expected(&files[at]));
                }
            });
        }
    });
    assert!(server.most_at_once() <= 6, "{}", server.most_at_once());
}
