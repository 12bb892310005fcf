//! Small files with every byte damaged in turn, and truncated at every length: reading gives valid arrays or an error,
//! within 10 seconds and 256 MiB, and never panics.
//!
//! Each byte is set to 0x00 and 0xFF and has each of its bits flipped. By default a random sample of these mutations
//! runs; `LATH_FULL=1` runs all, and is best built in the release profile.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]
#![expect(unsafe_code, reason = "counts what is allocated")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use lath_parquet::{Error, OpenOptions, Strings};
use lath_testkit::equality::check_sound;
use lath_testkit::random::{FileShape, RandomFile, SchemaShape};
use lath_testkit::{Seeded, parquet_test_data};

/// The maximum number of allocated bytes while one file is read.
const MAX_ALLOCATED: usize = 256 << 20;
/// The maximum time for reading one file.
const MAX_TIME: Duration = Duration::from_secs(10);
/// The number of mutations in a default run.
const SAMPLE: usize = 60_000;

/// The system's allocator, which counts the bytes that each thread holds.
struct Counting;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static MAX_HELD: Cell<usize> = const { Cell::new(0) };
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

fn add(len: usize) {
    let held = HELD.get().wrapping_add(len);
    HELD.set(held);
    // A thread that frees what another allocated wraps below zero, which is not a maximum.
    if held > MAX_HELD.get() && held < usize::MAX / 2 {
        MAX_HELD.set(held);
    }
}

// SAFETY: every call is forwarded unchanged to the system's allocator; the counts are plain numbers that allocate
// nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller keeps the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller keeps the same contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        HELD.set(HELD.get().wrapping_sub(layout.size()));
        // SAFETY: the caller keeps the same contract.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        add(new_size);
        HELD.set(HELD.get().wrapping_sub(layout.size()));
        // SAFETY: the caller keeps the same contract.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A change to a file.
#[derive(Debug, Clone, Copy)]
enum Mutation {
    Set { offset: usize, value: u8 },
    Flip { offset: usize, bit: u8 },
    Truncate { len: usize },
}

impl Mutation {
    /// Number of mutations of a byte: two values, eight bits, and truncation before it.
    const PER_BYTE: usize = 11;

    /// The mutation with number `index` of a file.
    fn number(index: usize) -> Self {
        let offset = index / Self::PER_BYTE;
        match index % Self::PER_BYTE {
            0 => Self::Set { offset, value: 0x00 },
            1 => Self::Set { offset, value: 0xFF },
            2 => Self::Truncate { len: offset },
            bit => Self::Flip { offset, bit: bit as u8 - 3 },
        }
    }

    fn apply(self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        match self {
            Self::Set { offset, value } => bytes[offset] = value,
            Self::Flip { offset, bit } => bytes[offset] ^= 1 << bit,
            Self::Truncate { len } => bytes.truncate(len),
        }
        bytes
    }
}

/// A file to damage.
struct Subject {
    name: String,
    bytes: Vec<u8>,
}

/// The small files of the collection, if it is available, and random ones until there are enough.
fn subjects(random: &mut fastrand::Rng) -> Vec<Subject> {
    let mut subjects = Vec::new();
    if let Some(folder) = parquet_test_data() {
        let mut paths: Vec<PathBuf> = ["data", "bad_data"]
            .iter()
            .flat_map(|part| fs::read_dir(folder.join(part)).unwrap())
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "parquet"))
            .filter(|path| fs::metadata(path).unwrap().len() <= 2_000)
            .collect();
        paths.sort();
        for path in paths {
            subjects.push(Subject { name: path.display().to_string(), bytes: fs::read(path).unwrap() });
        }
    }
    let shape = FileShape { schema: SchemaShape { fields: 2, depth: 3 }, row_count: 60 };
    while subjects.len() < 60 {
        let seed = random.u64(..);
        let file = RandomFile::new(&mut fastrand::Rng::with_seed(seed), shape);
        if file.bytes.len() <= 3_000 && file.row_count() > 0 {
            subjects.push(Subject { name: format!("random file {seed:#x}"), bytes: file.bytes.to_vec() });
        }
    }
    subjects
}

/// Reads a file in the given way, batch by batch, and checks each batch. Returns the time of the reading.
fn read(bytes: Bytes, way: usize) -> Result<Duration, String> {
    let strings = if way.is_multiple_of(2) { Strings::Views } else { Strings::Offsets };
    let batch_size = if way.is_multiple_of(3) { 7 } else { 8192 };
    let mut clock = Instant::now();
    let mut time = Duration::ZERO;
    // Checksums would hide the damage from the decoders.
    let batches = OpenOptions::new()
        .name("damaged")
        .from_bytes(bytes)
        .and_then(|file| file.scan().strings(strings).batch_size(batch_size).verify_crc(false).build());
    let mut batches = match batches {
        Ok(batches) => batches,
        Err(error) => return no_bug(&error).map(|()| clock.elapsed()),
    };
    loop {
        let batch = batches.next();
        time += clock.elapsed();
        // One at a time: the limit applies to a batch, not to what a caller keeps.
        let batch = match batch {
            Some(Ok(batch)) => batch,
            Some(Err(error)) => return no_bug(&error).map(|()| time),
            None => return Ok(time),
        };
        check_sound(&[batch])?;
        clock = Instant::now();
    }
}

/// Checks that damage is not reported as a bug.
fn no_bug(error: &Error) -> Result<(), String> {
    if let Error::Internal { .. } = error { Err(error.to_string()) } else { Ok(()) }
}

/// The progress of a worker, for the watchdog: the start of its current case, in milliseconds, and the case.
#[derive(Default)]
struct Progress {
    started: AtomicU64,
    case: AtomicUsize,
}

#[test]
fn damaged_files_give_sound_arrays_or_errors() {
    let mut random = Seeded::new("damaged_files_give_sound_arrays_or_errors");
    let subjects = subjects(&mut random);
    assert!(subjects.len() >= 40);
    let full = std::env::var_os("LATH_FULL").is_some_and(|value| value != "0");
    let total: usize = subjects.iter().map(|subject| subject.bytes.len() * Mutation::PER_BYTE).sum();
    let step = if full { 1 } else { (total / SAMPLE).max(1) };
    let first = random.usize(..step);
    let cases: Vec<(usize, Mutation)> = subjects
        .iter()
        .enumerate()
        .flat_map(|(i, subject)| (0..subject.bytes.len() * Mutation::PER_BYTE).map(move |m| (i, Mutation::number(m))))
        .skip(first)
        .step_by(step)
        .collect();

    // Panics are caught; their messages would hide the relevant one.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !IS_WORKER.get() {
            hook(info);
        }
    }));
    let clock = Instant::now();
    let next = AtomicUsize::new(0);
    let workers: Vec<Progress> = (0..2).map(|_| Progress::default()).collect();
    let failures = std::thread::scope(|scope| {
        let handles: Vec<_> =
            workers.iter().map(|progress| scope.spawn(|| work(&subjects, &cases, &next, clock, progress))).collect();
        while handles.iter().any(|handle| !handle.is_finished()) {
            std::thread::sleep(Duration::from_millis(50));
            for progress in &workers {
                let busy =
                    (clock.elapsed().as_millis() as u64).saturating_sub(progress.started.load(Ordering::Relaxed));
                if busy > 3 * MAX_TIME.as_millis() as u64 {
                    // Nothing can stop the thread, so the process has to end.
                    let (subject, mutation) = cases[progress.case.load(Ordering::Relaxed)];
                    let kept = keep(&mutation.apply(&subjects[subject].bytes));
                    eprintln!("hangs on {mutation:?} of {}, kept as {kept}", subjects[subject].name);
                    std::process::exit(101);
                }
            }
        }
        handles.into_iter().flat_map(|handle| handle.join().unwrap()).collect::<Vec<String>>()
    });
    println!("{} mutations of {} files in {:?}", cases.len(), subjects.len(), clock.elapsed());
    let shown = failures.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(failures.is_empty(), "{} of {} cases fail:\n{shown}", failures.len(), cases.len());
}

/// Takes cases until there are none left, and returns the failures.
fn work(
    subjects: &[Subject],
    cases: &[(usize, Mutation)],
    next: &AtomicUsize,
    clock: Instant,
    progress: &Progress,
) -> Vec<String> {
    IS_WORKER.set(true);
    let mut failures = Vec::new();
    loop {
        let case = next.fetch_add(1, Ordering::Relaxed);
        progress.case.store(case.min(cases.len() - 1), Ordering::Relaxed);
        progress.started.store(clock.elapsed().as_millis() as u64, Ordering::Relaxed);
        let Some(&(subject, mutation)) = cases.get(case) else {
            // Finished, which must not look like a hang while the other worker continues.
            progress.started.store(u64::MAX, Ordering::Relaxed);
            return failures;
        };
        let bytes = mutation.apply(&subjects[subject].bytes);
        if let Err(what) = read_within_bounds(Bytes::from(bytes.clone()), case) {
            let kept = keep(&bytes);
            failures.push(format!("{mutation:?} of {}, kept as {kept}: {what}", subjects[subject].name));
        }
    }
}

/// Reads a file, and returns an error if the reading exceeded the limits.
fn read_within_bounds(bytes: Bytes, way: usize) -> Result<(), String> {
    let held = HELD.get();
    MAX_HELD.set(held);
    let outcome = catch_unwind(AssertUnwindSafe(|| read(bytes, way)));
    let allocated = MAX_HELD.get().saturating_sub(held);
    let time = outcome.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        format!("panics: {}", text.unwrap_or_default())
    })??;
    if allocated > MAX_ALLOCATED {
        return Err(format!("allocates {} MiB", allocated >> 20));
    }
    if time > MAX_TIME {
        return Err(format!("takes {time:?}"));
    }
    Ok(())
}

/// Saves a file that was read wrongly for inspection, and returns its path.
fn keep(bytes: &[u8]) -> String {
    let name = bytes.iter().fold(0_u64, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("damaged-{name:016x}.parquet"));
    fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

/// Files that this test or a fuzzer once found to be read wrongly.
#[test]
fn files_that_were_read_badly_once_are_read_well() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/damaged");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = Bytes::from(fs::read(&path).unwrap());
        for way in 0..6 {
            read_within_bounds(bytes.clone(), way).unwrap_or_else(|what| panic!("{}: {what}", path.display()));
        }
    }
}
