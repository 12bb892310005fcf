//! A child process: one piece of work with one engine, reported as a line of JSON.

use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::{Value, json};

use crate::engine::{Batch, Engine, Mode, Reader};
use crate::engines::Work;
use crate::keys::{Kind, Random, value};

/// Entries per transaction.
const BATCH: u64 = 512;

/// Gets per snapshot of a reader during writes.
const GETS_A_SNAPSHOT: u64 = 1000;

/// Keys per call that gets many.
const GETS_TOGETHER: u64 = 64;

/// The maximum seconds of counting calls: some engines take a millisecond for one.
const MAX_SECONDS: f64 = 2.0;

/// Calls between two checks of the clock.
const CALLS_A_LOOK: u64 = 64;

/// A piece of work.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// Puts entries in, round by round.
    Load { rounds: u64 },
    /// Reads the loaded entries.
    Read { calls: u64 },
    /// Readers during writes.
    Beside { readers: usize, seconds: f64 },
    /// Durable commits by this many committers.
    Durable { batch: u64, committers: usize, seconds: f64 },
    /// Removes half of the entries in one transaction.
    Remove,
    /// Commits of one entry until the parent kills the process.
    UntilKilled,
    /// Opens, and finds the last entry.
    Open,
}

impl Task {
    /// The arguments of the child.
    pub fn arguments(self) -> Vec<String> {
        match self {
            Task::Load { rounds } => vec!["load".to_owned(), rounds.to_string()],
            Task::Read { calls } => vec!["read".to_owned(), calls.to_string()],
            Task::Beside { readers, seconds } => vec!["beside".to_owned(), readers.to_string(), seconds.to_string()],
            Task::Durable { batch, committers, seconds } => {
                vec!["durable".to_owned(), batch.to_string(), committers.to_string(), seconds.to_string()]
            }
            Task::Remove => vec!["remove".to_owned()],
            Task::UntilKilled => vec!["until-killed".to_owned()],
            Task::Open => vec!["open".to_owned()],
        }
    }

    pub fn parse(words: &[&str]) -> Option<Task> {
        Some(match *words {
            ["load", rounds] => Task::Load { rounds: rounds.parse().ok()? },
            ["read", calls] => Task::Read { calls: calls.parse().ok()? },
            ["beside", readers, seconds] => {
                Task::Beside { readers: readers.parse().ok()?, seconds: seconds.parse().ok()? }
            }
            ["durable", batch, committers, seconds] => Task::Durable {
                batch: batch.parse().ok()?,
                committers: committers.parse().ok()?,
                seconds: seconds.parse().ok()?,
            },
            ["remove"] => Task::Remove,
            ["until-killed"] => Task::UntilKilled,
            ["open"] => Task::Open,
            _ => return None,
        })
    }
}

/// A task on a folder with `keys` entries of a kind.
pub struct Child<'a> {
    pub task: Task,
    pub kind: Kind,
    pub keys: u64,
    pub folder: &'a Path,
}

impl Work for Child<'_> {
    type Answer = Value;

    fn on<E: Engine>(self) -> Value {
        match self.task {
            Task::Load { rounds } => self.load::<E>(rounds),
            Task::Read { calls } => self.read::<E>(calls),
            Task::Beside { readers, seconds } => self.beside::<E>(readers, seconds),
            Task::Durable { batch, committers, seconds } => self.durable::<E>(batch, committers, seconds),
            Task::Remove => self.remove::<E>(),
            Task::UntilKilled => self.until_killed::<E>(),
            Task::Open => self.open::<E>(),
        }
    }
}

impl Child<'_> {
    fn load<E: Engine>(&self, rounds: u64) -> Value {
        let engine = E::open(self.folder, Mode::NoSync);
        let mut rates = Vec::new();
        let mut latencies = Vec::new();
        for round in 0..rounds {
            latencies.clear();
            let numbers = self.keys * round / rounds..self.keys * (round + 1) / rounds;
            let count = numbers.end - numbers.start;
            let start = Instant::now();
            let mut batch = Batch::default();
            for first in numbers.clone().step_by(BATCH as usize) {
                let commit = Instant::now();
                fill(&mut batch, self.kind, first..(first + BATCH).min(numbers.end));
                engine.commit(&batch);
                latencies.push(commit.elapsed());
            }
            rates.push(count as f64 / start.elapsed().as_secs_f64());
        }
        let closing = Instant::now();
        engine.close();
        json!({
            "rates": rates,
            "commit_micros": latencies_micros(latencies),
            "close_seconds": closing.elapsed().as_secs_f64(),
            "bytes": disk_bytes(self.folder),
            "peak_bytes": peak_bytes(),
        })
    }

    fn read<E: Engine>(&self, calls: u64) -> Value {
        let opening = Instant::now();
        let engine = E::open(self.folder, Mode::NoSync);
        let open_seconds = opening.elapsed().as_secs_f64();
        let mut answer = engine.read(|reader| self.reads::<E>(reader, calls));
        engine.close();
        answer["open_seconds"] = json!(open_seconds);
        answer["peak_bytes"] = json!(peak_bytes());
        answer
    }

    fn reads<E: Engine>(&self, reader: &E::Reader<'_>, calls: u64) -> Value {
        let (kind, keys) = (self.kind, self.keys);
        // One pass over everything first, so that no engine is charged for reading its file.
        let (mut count, mut sum, mut last) = (0, 0u64, Vec::new());
        reader.scan(|key, bytes| {
            assert!(last.as_slice() < key || count == 0, "{} scans out of order", E::NAME);
            last.clear();
            last.extend_from_slice(key);
            count += 1;
            sum = sum.wrapping_add(crate::engine::value(bytes));
        });
        assert_eq!(count, keys, "{} scans other entries", E::NAME);
        let expected = (0..keys).fold(0u64, |sum, number| sum.wrapping_add(value(number)));
        assert_eq!(sum, expected, "{} scans other values", E::NAME);

        let known = per_second(calls, 1, |random| {
            let number = random.below(keys);
            assert_eq!(reader.get(&kind.key(number)), Some(value(number)), "{} gets another value", E::NAME);
        });
        let absent = per_second(calls, 2, |random| {
            let number = random.below(keys);
            assert_eq!(reader.get(&kind.absent(number)), None, "{} gets what is not there", E::NAME);
        });
        let (mut some, mut values) = (Vec::new(), Vec::new());
        let together = GETS_TOGETHER as f64
            * per_second(calls / GETS_TOGETHER, 4, |random| {
                let numbers: [u64; GETS_TOGETHER as usize] = std::array::from_fn(|_| random.below(keys));
                some.clear();
                some.extend(numbers.iter().map(|&number| kind.key(number)));
                values.clear();
                reader.get_many(&some, &mut values);
                let right = numbers.iter().map(|&number| Some(value(number)));
                assert!(values.iter().copied().eq(right), "{} gets other values", E::NAME);
            });
        let lower_bound = per_second(calls, 3, |random| {
            let number = random.below(keys);
            let found = reader.lower_bound(&kind.below(number));
            assert_eq!(found, Some(value(number)), "{} finds another bound", E::NAME);
        });
        let start = Instant::now();
        let mut sum = 0u64;
        reader.scan(|key, bytes| sum = sum.wrapping_add(crate::engine::value(bytes) ^ u64::from(key[key.len() - 1])));
        black_box(sum);
        let scan = start.elapsed().as_secs_f64();
        let mut random = Random::new(4);
        let counts: Vec<f64> = (0..5)
            .map(|_| {
                let (from, to, expected) = kind.range(keys, &mut random, 0.05);
                let start = Instant::now();
                let count = reader.count(&from, &to);
                let seconds = start.elapsed().as_secs_f64();
                assert_eq!(count, expected, "{} counts other keys", E::NAME);
                seconds
            })
            .collect();
        json!({
            "known": known,
            "absent": absent,
            "together": together,
            "lower_bound": lower_bound,
            "scan": keys as f64 / scan,
            "count_seconds": counts.iter().copied().fold(f64::INFINITY, f64::min),
        })
    }

    fn beside<E: Engine>(&self, readers: usize, seconds: f64) -> Value {
        let engine = E::open(self.folder, Mode::NoSync);
        let (kind, keys) = (self.kind, self.keys);
        let (stop, gets) = (AtomicBool::new(false), AtomicU64::new(0));
        let start = Instant::now();
        let inserted = thread::scope(|scope| {
            for thread in 0..readers {
                let (engine, stop, gets) = (&engine, &stop, &gets);
                scope.spawn(move || {
                    let mut random = Random::new(100 + thread as u64);
                    while !stop.load(Ordering::Relaxed) {
                        engine.read(|reader| {
                            for _ in 0..GETS_A_SNAPSHOT {
                                let number = random.below(keys);
                                let found = reader.get(&kind.key(number));
                                assert_eq!(found, Some(value(number)), "{} gets another value", E::NAME);
                            }
                        });
                        gets.fetch_add(GETS_A_SNAPSHOT, Ordering::Relaxed);
                    }
                });
            }
            let mut batch = Batch::default();
            let mut next = keys;
            while start.elapsed().as_secs_f64() < seconds {
                fill(&mut batch, kind, next..next + BATCH);
                engine.commit(&batch);
                next += BATCH;
            }
            stop.store(true, Ordering::Relaxed);
            next - keys
        });
        let seconds = start.elapsed().as_secs_f64();
        engine.read(|reader| {
            for number in (keys..keys + inserted).step_by(97) {
                assert_eq!(reader.get(&kind.key(number)), Some(value(number)), "{} lost an insert", E::NAME);
            }
        });
        engine.close();
        json!({ "gets": gets.into_inner() as f64 / seconds, "inserts": inserted as f64 / seconds, "keys": keys + inserted })
    }

    fn durable<E: Engine>(&self, batch: u64, committers: usize, seconds: f64) -> Value {
        let engine = E::open(self.folder, Mode::Durable);
        let next = AtomicU64::new(self.keys);
        let start = Instant::now();
        let latencies: Vec<Duration> = thread::scope(|scope| {
            let committer = || {
                let mut latencies = Vec::new();
                let mut entries = Batch::default();
                while start.elapsed().as_secs_f64() < seconds {
                    let first = next.fetch_add(batch, Ordering::Relaxed);
                    fill(&mut entries, self.kind, first..first + batch);
                    let commit = Instant::now();
                    engine.commit(&entries);
                    latencies.push(commit.elapsed());
                }
                latencies
            };
            let threads: Vec<_> = (0..committers).map(|_| scope.spawn(committer)).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("committers end")).collect()
        });
        let elapsed = start.elapsed().as_secs_f64();
        let (commits, end) = (latencies.len(), next.into_inner());
        engine.read(|reader| {
            for number in self.keys..end {
                assert_eq!(reader.get(&self.kind.key(number)), Some(value(number)), "{} lost a commit", E::NAME);
            }
        });
        engine.close();
        json!({ "commits": commits as f64 / elapsed, "commit_micros": latencies_micros(latencies), "keys": end })
    }

    fn remove<E: Engine>(&self) -> Value {
        let engine = E::open(self.folder, Mode::NoSync);
        let (from, to, removed) = self.kind.range(self.keys, &mut Random::new(5), 0.5);
        let start = Instant::now();
        engine.remove_range(&from, &to);
        let seconds = start.elapsed().as_secs_f64();
        let (mut count, mut is_in_range) = (0, false);
        engine.read(|reader| {
            reader.scan(|key, _| {
                count += 1;
                is_in_range |= (&from[..]..&to[..]).contains(&key);
            });
        });
        assert!(!is_in_range && count == self.keys - removed, "{} removed other entries", E::NAME);
        let closing = Instant::now();
        engine.close();
        json!({ "seconds": seconds, "close_seconds": closing.elapsed().as_secs_f64() })
    }

    fn until_killed<E: Engine>(&self) -> Value {
        let engine = E::open(self.folder, Mode::NoSync);
        let mut batch = Batch::default();
        for number in 0..self.keys {
            fill(&mut batch, self.kind, number..number + 1);
            engine.commit(&batch);
        }
        println!("committed");
        std::io::stdout().flush().expect("the parent listens");
        loop {
            thread::park();
        }
    }

    fn open<E: Engine>(&self) -> Value {
        let start = Instant::now();
        let engine = E::open(self.folder, Mode::NoSync);
        let last = self.keys - 1;
        let found = engine.read(|reader| reader.get(&self.kind.key(last)));
        let seconds = start.elapsed().as_secs_f64();
        engine.close();
        json!({ "seconds": seconds, "is_complete": found == Some(value(last)) })
    }
}

fn fill(batch: &mut Batch, kind: Kind, numbers: std::ops::Range<u64>) {
    batch.clear();
    for number in numbers {
        batch.push(&kind.key(number), &value(number).to_le_bytes());
    }
}

/// The median, the 99th percentile and the maximum, in microseconds.
pub fn latencies_micros(mut latencies: Vec<Duration>) -> [f64; 3] {
    latencies.sort_unstable();
    [0.5, 0.99, 1.0].map(|part| {
        let index = (latencies.len().saturating_sub(1) as f64 * part) as usize;
        latencies.get(index).map_or(f64::NAN, |latency| latency.as_secs_f64() * 1e6)
    })
}

/// Calls a second, over this many calls or as many as fit in a few seconds; each call has its own input.
fn per_second(calls: u64, seed: u64, mut call: impl FnMut(&mut Random)) -> f64 {
    let mut random = Random::new(seed);
    let mut run = |calls: u64, most_seconds: f64| {
        let start = Instant::now();
        let mut done = 0;
        while done < calls && start.elapsed().as_secs_f64() < most_seconds {
            let some = CALLS_A_LOOK.min(calls - done);
            (0..some).for_each(|_| call(&mut random));
            done += some;
        }
        done as f64 / start.elapsed().as_secs_f64()
    };
    run(calls / 10, MAX_SECONDS / 10.0);
    run(calls, MAX_SECONDS)
}

/// The bytes of the files on the disk: a map may be longer than its contents.
fn disk_bytes(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = fs::read_dir(folder).expect("the folder can be listed");
    entries
        .map(|entry| {
            let path = entry.expect("the folder can be listed").path();
            let metadata = fs::symlink_metadata(&path).expect("files stay while they are measured");
            if metadata.is_dir() { disk_bytes(&path) } else { metadata.blocks() * 512 }
        })
        .sum()
}

/// The peak memory of this process, including pages of mapped files.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}
