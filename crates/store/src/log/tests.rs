use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use fastrand::Rng;
use lath_testkit::Seeded;

use super::{KEPT_BYTES, Log, Position};
use crate::error::{Error, Result};
use crate::storage::{MemoryStorage, Moment, Operation, SimulatedStorage, Storage};

const STORE: u64 = 0x5eed;

type Records = Vec<(u64, Vec<u8>)>;

/// Opens the log and replays it. Returns it with the records of the replay.
fn open(storage: &dyn Storage, after: u64) -> (Log, Records) {
    let log = Log::open(storage, STORE, 1).unwrap();
    let mut records = Records::new();
    let last = log
        .replay(after, |sequence, payload| {
            records.push((sequence, payload.to_vec()));
            Ok(())
        })
        .unwrap();
    assert_eq!(last, records.last().map_or(after, |&(sequence, _)| sequence));
    (log, records)
}

fn replayed(storage: &dyn Storage, after: u64) -> Records {
    open(storage, after).1
}

fn simulated() -> SimulatedStorage {
    SimulatedStorage::new(4096).unwrap()
}

/// A payload that identifies its record.
fn payload(sequence: u64, len: usize) -> Vec<u8> {
    let mut random = Rng::with_seed(sequence);
    (0..len).map(|_| random.u8(..)).collect()
}

fn append(log: &Log, sequence: u64, len: usize) -> Result<Position> {
    let payload = payload(sequence, len);
    let (head, tail) = payload.split_at(len / 3);
    log.append(sequence, &[head, &[], tail])
}

/// Records 1 to 12 in both files, 1 to 5 in the first, and the number of bytes that each file uses.
fn small_log() -> (SimulatedStorage, Records, [usize; 2]) {
    let storage = simulated();
    let (log, _) = open(&storage, 0);
    for sequence in 1..=12 {
        append(&log, sequence, 5 + 7 * sequence as usize).unwrap();
        if sequence == 5 {
            assert!(log.switch().unwrap());
        }
    }
    let records = replayed(&storage, 0);
    assert_eq!(records, (1..=12).map(|n| (n, payload(n, 5 + 7 * n as usize))).collect::<Records>());
    let used = |numbers: std::ops::RangeInclusive<usize>| numbers.map(|n| 32 + 5 + 7 * n).sum();
    (storage, records, [used(1..=5), used(6..=12)])
}

fn contents(storage: &dyn Storage, index: usize) -> Vec<u8> {
    let log = storage.log(index).unwrap();
    let mut bytes = vec![0; log.len().unwrap() as usize];
    log.read_at(0, &mut bytes).unwrap();
    bytes
}

/// Storage with these logs.
fn storage_with_logs(logs: [&[u8]; 2]) -> MemoryStorage {
    let storage = MemoryStorage::new(4096).unwrap();
    for (index, bytes) in logs.into_iter().enumerate() {
        storage.log(index).unwrap().write_at(0, bytes).unwrap();
    }
    storage
}

#[test]
fn records_of_all_lengths_and_parts_round_trip() {
    let storage = MemoryStorage::new(4096).unwrap();
    let (log, records) = open(&storage, 100);
    assert!(records.is_empty());
    let long = payload(1, 3 << 20);
    log.append(101, &[]).unwrap();
    log.append(102, &[b"", b"one", b"", b"two"]).unwrap();
    log.append(103, &[&long[..1000], &long[1000..]]).unwrap();
    let last = log.append(104, &[&long[..(1 << 20) - 32]]).unwrap();
    log.sync(last).unwrap();
    assert_eq!(log.size_bytes(), 4 * 32 + 6 + (3 << 20) + (1 << 20) - 32);
    let (log, records) = open(&storage, 100);
    let expected: [(u64, &[u8]); 4] = [(101, b""), (102, b"onetwo"), (103, &long), (104, &long[..(1 << 20) - 32])];
    assert!(records.iter().map(|(sequence, payload)| (*sequence, &payload[..])).eq(expected));
    log.append(105, &[b"next"]).unwrap();
    assert_eq!(replayed(&storage, 103)[1], (105, b"next".to_vec()));
}

#[test]
fn shortened_log_keeps_its_records_and_accepts_more() {
    let storage = simulated();
    let (log, _) = open(&storage, 0);
    let len = |index: usize| storage.log(index).unwrap().len().unwrap();
    for sequence in 1..=40 {
        append(&log, sequence, 100_000).unwrap();
    }
    assert!(log.switch().unwrap());
    for sequence in 41..=45 {
        append(&log, sequence, 100_000).unwrap();
    }
    log.shorten().unwrap();
    assert_eq!((len(0), len(1)), (40 * 100_032, 5 * 100_032), "no checkpoint has the records of the first file");
    log.retire(40).unwrap();
    // A record that is not written yet.
    log.append(46, &[]).unwrap();
    let waiting = log.append_for_sync(47, &[b"waiting"]).unwrap();
    log.shorten().unwrap();
    assert_eq!((len(0), len(1), log.file_bytes()), (0, 5 * 100_032 + 2 * 32 + 7, 5 * 100_032 + 2 * 32 + 7));
    log.sync(waiting).unwrap();
    let last = log.append_for_sync(48, &[b"last"]).unwrap();
    log.sync(last).unwrap();
    let records = replayed(&storage, 40);
    assert_eq!(records.iter().map(|(sequence, _)| *sequence).collect::<Vec<_>>(), (41..=48).collect::<Vec<_>>());
    assert_eq!((&records[6].1[..], &records[7].1[..]), (&b"waiting"[..], &b"last"[..]));
}

#[test]
fn log_is_replayed_before_writes_and_sequence_numbers_increase() {
    let storage = simulated();
    let log = Log::open(&storage, STORE, 1).unwrap();
    assert!(matches!(log.append(1, &[b"x"]), Err(Error::Internal(_))));
    assert!(matches!(log.switch(), Err(Error::Internal(_))));
    let (log, _) = open(&storage, 7);
    assert!(matches!(log.append(7, &[b"x"]), Err(Error::Internal(_))));
    log.append(8, &[b"x"]).unwrap();
    assert!(matches!(log.append(8, &[b"x"]), Err(Error::Internal(_))));
    let failed = log.replay(7, |_, _| Err(Error::corrupt("the caller's"))).unwrap_err();
    assert!(matches!(failed, Error::Corrupt { .. }));
}

#[test]
fn replay_writes_nothing() {
    let (storage, ..) = small_log();
    let before = storage.counts();
    replayed(&storage, 3);
    assert_eq!(storage.counts(), before);
}

#[test]
fn replay_begins_after_the_checkpoint() {
    let (storage, records, _) = small_log();
    for after in 0..=12 {
        assert_eq!(replayed(&storage, after), records[after as usize..], "after {after}");
    }
    assert_eq!(replayed(&storage, 13), [], "the log is older than the checkpoint");
}

#[test]
fn replay_ends_at_missing_record() {
    let storage = simulated();
    let (log, _) = open(&storage, 0);
    for sequence in [1, 2, 4, 5] {
        append(&log, sequence, 10).unwrap();
    }
    assert_eq!(replayed(&storage, 0).len(), 2);
    assert_eq!(replayed(&storage, 3), [(4, payload(4, 10)), (5, payload(5, 10))]);
}

#[test]
fn every_truncation_leaves_a_prefix() {
    let (storage, records, used) = small_log();
    let logs = [contents(&storage, 0), contents(&storage, 1)];
    for (index, &used_bytes) in used.iter().enumerate() {
        for len in 0..=used_bytes {
            let mut cut = [&logs[0][..], &logs[1][..]];
            cut[index] = &cut[index][..len];
            check_damaged(
                &storage_with_logs(cut),
                &records,
                &format!("file {index} cut to {len} bytes"),
                len == used_bytes,
            );
        }
    }
}

#[test]
fn every_damaged_byte_leaves_a_prefix() {
    let (storage, records, used) = small_log();
    let mut random = Seeded::new("every damaged byte of a log leaves a prefix");
    let logs = [contents(&storage, 0), contents(&storage, 1)];
    for (index, &used_bytes) in used.iter().enumerate() {
        for at in 0..used_bytes {
            for change in [1, 0x80, random.u8(1..)] {
                let mut damaged = logs.clone();
                damaged[index][at] ^= change;
                let what = format!("byte {at} of file {index} changed by {change:#x}");
                check_damaged(&storage_with_logs([&damaged[0], &damaged[1]]), &records, &what, false);
            }
        }
    }
}

/// Checks that a damaged log gives a prefix and can be extended: then it has the prefix and the new records, and none
/// of the lost ones.
fn check_damaged(storage: &MemoryStorage, records: &Records, what: &str, is_whole: bool) {
    let (log, mut found) = open(storage, 0);
    assert!(records.starts_with(&found), "{what}: not a prefix");
    assert_eq!(found == *records, is_whole, "{what}: {} records", found.len());
    for _ in 0..3 {
        let next = (found.len() + 1) as u64;
        // As long as the lost record, so that the rest of the old log follows exactly.
        let new = vec![0xee; 5 + 7 * next as usize];
        log.append(next, &[&new]).unwrap();
        found.push((next, new));
        assert_eq!(replayed(storage, 0), found, "{what}: after appending {next}");
    }
}

#[test]
fn false_length_allocates_no_memory() {
    let storage = simulated();
    let (log, _) = open(&storage, 0);
    append(&log, 1, 10).unwrap();
    append(&log, 2, 10).unwrap();
    let file = storage.log(0).unwrap();
    file.set_len(1 << 20).unwrap();
    for lie in [(1 << 20) - 42 - 32, (1 << 20) - 42 - 31, 1 << 40, u64::MAX - 31, u64::MAX] {
        file.write_at(42 + 24, &u64::to_le_bytes(lie)).unwrap();
        assert_eq!(replayed(&storage, 0), [(1, payload(1, 10))], "length {lie}");
    }
}

/// Storage whose log has records 1, 2 | 3, 4 in its files, all durable, and record 2 damaged.
fn log_with_a_hole() -> SimulatedStorage {
    let storage = simulated();
    let (log, _) = open(&storage, 0);
    append(&log, 1, 10).unwrap();
    append(&log, 2, 10).unwrap();
    log.switch().unwrap();
    append(&log, 3, 10).unwrap();
    let last = append(&log, 4, 10).unwrap();
    log.sync(last).unwrap();
    let first = storage.log(0).unwrap();
    first.write_at(42 + 20, &[0xff]).unwrap();
    first.sync().unwrap();
    storage
}

fn check_that_the_hole_stays(storage: &SimulatedStorage, random: &mut Rng) {
    for _ in 0..100 {
        let image = storage.crash(random).unwrap();
        assert_eq!(replayed(&image, 0), [(1, payload(1, 10)), (2, b"new".to_vec())]);
    }
}

#[test]
fn records_after_hole_stay_ignored_after_interrupted_truncation() {
    let mut random = Seeded::new("records behind a hole stay away");
    let images = Arc::new(Mutex::new(Vec::new()));
    let storage = log_with_a_hole();
    let (log, _) = open(&storage, 0);
    let taken = Arc::clone(&images);
    storage.watch(move |storage, _| taken.lock().unwrap().push(storage.kill(false).unwrap()));
    log.append(2, &[b"new"]).unwrap();
    storage.unwatch();
    assert!(images.lock().unwrap().len() >= 8);
    for image in images.lock().unwrap().drain(..) {
        let (log, records) = open(&image, 0);
        if records.len() == 1 {
            let position = log.append(2, &[b"new"]).unwrap();
            log.sync(position).unwrap();
            check_that_the_hole_stays(&image, &mut random);
        }
    }
}

#[test]
fn records_after_hole_stay_ignored_after_log_is_cleared() {
    let mut random = Seeded::new("records behind a hole stay away after clearing");
    let storage = log_with_a_hole();
    let (log, _) = open(&storage, 0);
    log.clear(1).unwrap();
    let storage = storage.kill(false).unwrap();
    let (log, _) = open(&storage, 1);
    let position = log.append(2, &[b"new"]).unwrap();
    log.sync(position).unwrap();
    for _ in 0..100 {
        assert_eq!(replayed(&storage.crash(&mut random).unwrap(), 1), [(2, b"new".to_vec())]);
    }
}

#[test]
fn log_of_another_store_is_rejected() {
    let (storage, ..) = small_log();
    let log = Log::open(&storage, STORE + 1, 1).unwrap();
    assert_eq!(log.replay(0, |sequence, _| panic!("took record {sequence}")).unwrap(), 0);
}

#[test]
fn record_of_an_earlier_use_of_the_file_is_rejected() {
    let mut log = Vec::new();
    for (salt, sequence) in [(1, 1), (1, 2), (2, 3)] {
        let head = super::record::Head { store: STORE, salt, sequence, past: None };
        super::record::assemble(&mut log, &head, &[b"payload"]);
    }
    assert_eq!(replayed(&storage_with_logs([&log, &[]]), 0).len(), 2);
    assert_eq!(
        replayed(&storage_with_logs([&log[..78], &log[78..]]), 0).len(),
        3,
        "at the start of a file any salt is right"
    );
}

#[test]
fn log_files_alternate_and_keep_their_length() {
    let storage = MemoryStorage::new(4096).unwrap();
    let (log, _) = open(&storage, 0);
    assert!(!log.switch().unwrap(), "nothing is logged yet");
    let mut lens = Vec::new();
    for round in 0..10 {
        for sequence in 100 * round + 1..=100 * round + 100 {
            append(&log, sequence, 1000).unwrap();
        }
        assert!(log.switch().unwrap());
        let durable = 100 * round + 50;
        log.retire(durable).unwrap();
        assert!(!log.switch().unwrap(), "the other file has records that no checkpoint has");
        assert_eq!(log.size_bytes(), 100 * 1032);
        assert_eq!(replayed(&storage, durable).len(), 50);
        log.retire(100 * round + 100).unwrap();
        assert_eq!(log.size_bytes(), 0);
        lens.push((storage.log(0).unwrap().len().unwrap(), storage.log(1).unwrap().len().unwrap()));
    }
    assert!(lens[2..].iter().all(|&pair| pair == lens[2]), "{lens:?}");
    assert!(replayed(&storage, 1000).is_empty());
}

#[test]
fn retired_log_file_returns_unusually_large_space() {
    let storage = MemoryStorage::new(4096).unwrap();
    let (log, _) = open(&storage, 0);
    log.append(1, &[&vec![1; KEPT_BYTES as usize + 1]]).unwrap();
    assert!(log.switch().unwrap());
    log.retire(1).unwrap();
    assert_eq!(storage.log(0).unwrap().len().unwrap(), KEPT_BYTES);
}

#[test]
fn cleared_log_is_empty_and_accepts_records() {
    let storage = simulated();
    let (log, _) = open(&storage, 0);
    append(&log, 1, 10).unwrap();
    log.switch().unwrap();
    append(&log, 2, 10).unwrap();
    log.clear(1).unwrap();
    assert_eq!(replayed(&storage, 0).len(), 2, "record 2 is in no checkpoint");
    log.clear(2).unwrap();
    assert_eq!((contents(&storage, 0), contents(&storage, 1)), (vec![], vec![]));
    let position = append(&log, 3, 10).unwrap();
    log.sync(position).unwrap();
    assert_eq!(replayed(&storage, 2), [(3, payload(3, 10))]);
}

#[test]
fn failed_write_leaves_no_record_and_next_replaces_it() {
    let storage = simulated();
    let (log, _) = open(&storage, 0);
    append(&log, 1, 10).unwrap();
    storage.fail_write_after(0, false);
    assert!(matches!(log.append(2, &[b"lost"]), Err(Error::Io { .. })));
    assert_eq!(replayed(&storage, 0).len(), 1);
    let position = log.append(2, &[b"kept"]).unwrap();
    log.sync(position).unwrap();
    assert_eq!(replayed(&storage, 0)[1], (2, b"kept".to_vec()));

    storage.fail_write_after(0, true);
    assert!(matches!(log.append(3, &[b"lost"]), Err(Error::Io { .. })));
    storage.clear_faults();
    assert!(matches!(log.append(3, &[b"more"]), Err(Error::Poisoned)), "not even cutting it off worked");
}

#[test]
fn deferred_records_are_written_by_sync_or_before_later_records() {
    let storage = simulated();
    let (log, _) = open(&storage, 0);
    append(&log, 1, 10).unwrap();
    let count = || replayed(&storage, 0).len();
    let second = log.append_for_sync(2, &[&payload(2, 10)]).unwrap();
    let third = log.append_for_sync(3, &[&payload(3, 10)]).unwrap();
    assert_eq!(count(), 1);
    let writes_before = storage.counts().0;
    log.sync(second).unwrap();
    assert_eq!((count(), storage.counts().0 - writes_before), (3, 1), "both by one write");
    log.sync(third).unwrap();

    log.append_for_sync(4, &[&payload(4, 10)]).unwrap();
    append(&log, 5, 10).unwrap();
    assert_eq!(count(), 5, "a record that is written has those before it");
    log.append_for_sync(6, &[&payload(6, 10)]).unwrap();
    assert!(log.switch().unwrap());
    assert_eq!(count(), 6, "those of the other file are written first");
    let expected: Vec<_> = (1..=6).map(|sequence| (sequence, payload(sequence, 10))).collect();
    assert_eq!(replayed(&storage, 0), expected);
}

#[test]
fn failed_deferred_write_poisons_the_log() {
    for is_synced in [true, false] {
        let storage = simulated();
        let (log, _) = open(&storage, 0);
        append(&log, 1, 10).unwrap();
        let second = log.append_for_sync(2, &[b"lost"]).unwrap();
        storage.fail_write_after(0, false);
        let failed = if is_synced { log.sync(second) } else { log.append(3, &[b"not reached"]).map(drop) };
        assert!(matches!(failed, Err(Error::Io { .. })));
        assert!(matches!(log.sync(second), Err(Error::Poisoned)));
        assert!(matches!(append(&log, 3, 10), Err(Error::Poisoned)));
        assert_eq!(replayed(&storage, 0), [(1, payload(1, 10))]);
    }
}

#[test]
fn store_recovers_from_full_disk() {
    let storage = simulated();
    let (log, _) = open(&storage, 0);
    storage.limit_bytes(100_000);
    let mut sequence = 0;
    let refused = loop {
        // A record that needs new space is written at once, so that it can be refused.
        match log.append_for_sync(sequence + 1, &[&payload(sequence + 1, 1000)]) {
            Ok(_) => sequence += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::Io { ref source, .. } if source.kind() == std::io::ErrorKind::StorageFull));
    assert_eq!(sequence, 100_000 / 1032, "zeros written ahead are no reason to refuse a record");
    assert_eq!(replayed(&storage, 0).len() as u64, sequence);
    storage.limit_bytes(1 << 20);
    let position = append(&log, sequence + 1, 1000).unwrap();
    log.sync(position).unwrap();
    assert_eq!(replayed(&storage, 0).len() as u64, sequence + 1);
}

#[test]
fn no_sync_succeeds_after_a_failed_one() {
    let storage = simulated();
    let (log, _) = open(&storage, 0);
    let first = append(&log, 1, 10).unwrap();
    log.sync(first).unwrap();
    let second = append(&log, 2, 10).unwrap();
    storage.fail_sync_after(0, false);
    assert!(matches!(log.sync(second), Err(Error::Io { op: "sync", .. })));
    assert!(matches!(log.sync(second), Err(Error::Poisoned)));
    assert!(matches!(append(&log, 3, 10), Err(Error::Poisoned)));
    assert!(matches!(log.switch(), Err(Error::Poisoned)));
    assert!(matches!(log.check(), Err(Error::Poisoned)));
    log.sync(first).unwrap();
}

#[test]
fn older_log_file_is_synced_first() {
    let storage = simulated();
    let (log, _) = open(&storage, 0);
    append(&log, 1, 10).unwrap();
    let operations = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&operations);
    storage.watch(move |_, moment| {
        if let Moment::Before(operation @ Operation::SyncLog(_)) = moment {
            seen.lock().unwrap().push(operation);
        }
    });
    log.switch().unwrap();
    let second = append(&log, 2, 10).unwrap();
    log.sync(second).unwrap();
    assert_eq!(*operations.lock().unwrap(), [Operation::SyncLog(0), Operation::SyncLog(1)]);
    let third = append(&log, 3, 10).unwrap();
    log.sync(third).unwrap();
    log.sync(third).unwrap();
    assert_eq!(operations.lock().unwrap()[2..], [Operation::SyncLog(1)], "what is durable is not synced again");
    log.retire(1).unwrap();
    log.switch().unwrap();
    let fourth = append(&log, 4, 10).unwrap();
    log.retire(4).unwrap();
    log.sync(fourth).unwrap();
    assert_eq!(operations.lock().unwrap().len(), 3, "what a checkpoint has need not be synced");
}

#[test]
fn committers_share_syncs_and_return_when_they_are_durable() {
    let storage = simulated();
    let (log, _) = open(&storage, 0);
    storage.watch(|_, moment| {
        if let Moment::Before(Operation::SyncLog(_)) = moment {
            std::thread::sleep(std::time::Duration::from_micros(500));
        }
    });
    let next = Mutex::new(1);
    let durable_at_least = AtomicU64::new(0);
    let (threads, commits) = (8, 50);
    let syncs_before = storage.counts().1;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (log, storage, next, durable_at_least) = (&log, &storage, &next, &durable_at_least);
            scope.spawn(move || {
                let mut random = Rng::with_seed(thread);
                for _ in 0..commits {
                    let (sequence, position) = {
                        let mut next = next.lock().unwrap();
                        let sequence = *next;
                        *next += 1;
                        if sequence % 37 == 0 {
                            log.retire(durable_at_least.load(Ordering::SeqCst)).unwrap();
                            log.switch().unwrap();
                        }
                        (sequence, log.append_for_sync(sequence, &[&payload(sequence, 300)]).unwrap())
                    };
                    log.sync(position).unwrap();
                    if random.u8(..4) == 0 {
                        let image = storage.crash(&mut random).unwrap();
                        let records = replayed(&image, durable_at_least.load(Ordering::SeqCst).min(sequence - 1));
                        assert!(records.last().is_some_and(|&(last, _)| last >= sequence), "{sequence} was lost");
                    }
                }
            });
        }
    });
    let syncs = storage.counts().1 - syncs_before;
    assert!(syncs < threads * commits / 2, "{syncs} syncs for {} commits", threads * commits);
}

/// Appends, syncs, switches, checkpoints, failures, crashes and reopenings, compared with a vector of payloads.
#[test]
fn random_histories_lose_nothing_that_was_synced() {
    let mut random = Seeded::new("random histories of a log lose nothing that was synced");
    let mut lost = 0;
    for _ in 0..400 {
        lost += random_history(&mut random);
    }
    assert!(lost > 100, "crashes lost only {lost} records: too few to prove anything");
}

fn random_history(random: &mut Rng) -> usize {
    let mut storage = simulated();
    let (mut log, _) = open(&storage, 0);
    // The payload of record n + 1; the numbers of certainly durable and of written records; the last record in a
    // durable checkpoint.
    let mut records: Vec<Vec<u8>> = Vec::new();
    let (mut synced, mut written, mut checkpoint, mut checkpoint_begun) = (0, 0, 0, None);
    let mut position = None;
    let mut lost = 0;
    // Payloads with few distinct lengths put records of different uses of a file at the same offsets.
    let lens = [0, 40, 480, 3000];
    for _ in 0..random.usize(..80) {
        match random.u8(..16) {
            0..=6 => {
                let len = lens[random.usize(..lens.len())];
                let payload = std::iter::repeat_with(|| random.u8(..)).take(len).collect();
                records.push(payload);
                let (sequence, parts) = (records.len() as u64, [&records[records.len() - 1][..]]);
                position = Some(if random.bool() {
                    written = records.len();
                    log.append(sequence, &parts).unwrap()
                } else {
                    log.append_for_sync(sequence, &parts).unwrap()
                });
            }
            7 | 8 => {
                if let Some(position) = position {
                    log.sync(position).unwrap();
                    synced = records.len();
                    // Records in a checkpoint need not be in the log.
                    written = if records.len() > checkpoint { records.len() } else { written };
                }
            }
            9 | 10 => {
                log.switch().unwrap();
                checkpoint_begun = Some(records.len());
            }
            11 => {
                if let Some(begun) = checkpoint_begun.take() {
                    checkpoint = begun;
                    synced = synced.max(begun);
                    log.retire(checkpoint as u64).unwrap();
                }
            }
            12 if written == records.len() => {
                storage.fail_write_after(0, false);
                log.append(records.len() as u64 + 1, &[b"this one fails"]).unwrap_err();
                storage.clear_faults();
            }
            12 | 13 => log.clear(checkpoint as u64).unwrap(),
            kind => {
                storage = if kind == 14 { storage.kill(false).unwrap() } else { storage.crash(random).unwrap() };
                let found;
                (log, found) = open(&storage, checkpoint as u64);
                let count = checkpoint + found.len();
                assert!(
                    count >= if kind == 14 { written.max(checkpoint) } else { synced },
                    "{count} of {synced} synced records"
                );
                lost += records.len() - count;
                records.truncate(count);
                assert!(found.iter().map(|(_, payload)| payload).eq(&records[checkpoint..]), "other records");
                (position, checkpoint_begun, written) = (None, None, count);
            }
        }
    }
    lost
}
