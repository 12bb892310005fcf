//! Tells a damaged log from one whose last records were never finished.
//!
//! A loss of power may leave any part of the unsynced bytes, including intact records after torn ones. Each record says
//! how far the file was durable when the record was written ([`Past`](super::record::Past)):
//!
//! | found | meaning |
//! | --- | --- |
//! | no intact record after the end of the valid ones | the end of the log |
//! | a record written before the bytes at the end were durable | a write interrupted by the loss of power |
//! | a record written after the bytes at the end were durable | damage: acknowledged commits are lost |
//! | the second file follows a commit that the first lacks, and was synced, so the first was synced before it | damage, as above |
//!
//! Damage to the records of the last sync looks like the end of the log, because nothing was written after them.

use super::scan::Scan;
use crate::error::{Error, Result};

/// Returns an error that describes the loss if the log is damaged. `scans` are the two files, read as far as records
/// were replayed; `after` is the commit before the log's first, and `last` the last one that was replayed.
pub(super) fn check(scans: &mut [(usize, Scan<'_>)], after: u64, last: u64) -> Result<()> {
    let mut lost_to = last;
    let mut ends = [0; 2];
    let mut damaged = None;
    let mut last_sequences = [0; 2];
    for (index, scan) in scans.iter_mut() {
        while scan.next()?.is_some() {}
        last_sequences[*index] = scan.last_sequence();
    }
    for (index, scan) in scans.iter_mut() {
        let (mut synced_end, mut later) = (scan.synced_end(), 0);
        scan.find_later(after, |header| {
            synced_end = header.past.map_or(0, |past| past.synced_end).max(synced_end);
            later = header.sequence.max(later);
        })?;
        ends[*index] = scan.end();
        lost_to = lost_to.max(scan.last_sequence()).max(later);
        let is_behind_a_gap =
            scan.first_past().is_some_and(|past| past.previous > last_sequences[1 - *index].max(after));
        if later > last && synced_end > scan.end() {
            damaged = Some(*index);
        } else if is_behind_a_gap && synced_end > 0 {
            damaged = damaged.or(Some(1 - *index));
        }
    }
    let Some(index) = damaged else { return Ok(()) };
    let lost = match last + 1 {
        first if first >= lost_to => format!("commit {first} is"),
        first => format!("commits {first} to {lost_to} are"),
    };
    Err(Error::corrupt(format!(
        "the log is damaged at byte {} of the file that ends in -log{index}: {lost} lost; `lath kv repair` makes a copy of the \
         store with all commits up to {last}",
        ends[index]
    )))
}

#[cfg(test)]
mod tests {
    use crate::error::{Error, Result};
    use crate::log::Log;
    use crate::records::VERSION;
    use crate::storage::{MemoryStorage, Storage};

    const STORE: u64 = 0x5eed;
    const HEADER: usize = super::super::record::HEADER_BYTES;

    fn payload(sequence: u64) -> Vec<u8> {
        vec![sequence as u8; 20 + sequence as usize]
    }

    /// The offset of the records from this one on, whose lengths follow [`payload`].
    fn start(first: u64, sequence: u64) -> usize {
        (first..sequence).map(|sequence| HEADER + payload(sequence).len()).sum()
    }

    fn storage() -> MemoryStorage {
        MemoryStorage::new(4096).unwrap()
    }

    fn open(storage: &dyn Storage, after: u64) -> (Log, Vec<u64>, Result<u64>) {
        let log = Log::open(storage, STORE, VERSION).unwrap();
        let mut found = Vec::new();
        let last = log.replay(after, |sequence, bytes| {
            assert_eq!(bytes, payload(sequence));
            found.push(sequence);
            Ok(())
        });
        (log, found, last)
    }

    /// Appends records, and syncs each if `syncs`.
    fn append(log: &Log, sequences: impl IntoIterator<Item = u64>, syncs: bool) {
        for sequence in sequences {
            let position = log.append(sequence, &[&payload(sequence)]).unwrap();
            if syncs {
                log.sync(position).unwrap();
            }
        }
    }

    fn flip(storage: &MemoryStorage, file: usize, at: usize) {
        let log = storage.log(file).unwrap();
        let mut byte = [0];
        log.read_at(at as u64, &mut byte).unwrap();
        log.write_at(at as u64, &[byte[0] ^ 0x10]).unwrap();
    }

    fn assert_damaged(storage: &MemoryStorage, after: u64, kept: std::ops::Range<u64>, lost: &str, what: &str) {
        let (_, found, last) = open(storage, after);
        assert!(found.iter().copied().eq(kept), "{what}: {found:?}");
        match last {
            Err(Error::Corrupt { what: message, .. }) => assert!(message.contains(lost), "{what}: {message}"),
            other => panic!("{what}: {other:?}"),
        }
    }

    #[test]
    fn broken_record_that_a_later_one_saw_durable_is_damage() {
        for sequence in 1..=8 {
            for at in start(1, sequence)..start(1, sequence + 1) {
                let storage = storage();
                append(&open(&storage, 0).0, 1..=10, true);
                flip(&storage, 0, at);
                let what = format!("byte {at}");
                assert_damaged(&storage, 0, 1..sequence, &format!("commits {sequence} to 10 are lost"), &what);
            }
        }
    }

    #[test]
    fn unsynced_records_may_be_missing_anywhere() {
        for sequence in 4..=8 {
            let storage = storage();
            let log = open(&storage, 0).0;
            append(&log, 1..=3, true);
            append(&log, 4..=8, false);
            flip(&storage, 0, start(1, sequence) + HEADER);
            let (log, found, last) = open(&storage, 0);
            assert!(found.iter().copied().eq(1..sequence));
            assert_eq!(last.unwrap(), sequence - 1);
            append(&log, sequence..=9, true);
            assert_eq!(open(&storage, 0).2.unwrap(), 9);
        }
    }

    #[test]
    fn last_synced_record_may_be_missing() {
        let storage = storage();
        append(&open(&storage, 0).0, 1..=5, true);
        flip(&storage, 0, start(1, 5));
        assert_eq!(open(&storage, 0).2.unwrap(), 4);
    }

    #[test]
    fn first_log_file_was_durable_if_second_was_synced() {
        for is_synced in [true, false] {
            let storage = storage();
            let log = open(&storage, 0).0;
            append(&log, 1..=5, true);
            assert!(log.switch().unwrap());
            append(&log, 6..=8, is_synced);
            flip(&storage, 0, start(1, 5));
            if is_synced {
                assert_damaged(&storage, 0, 1..5, "commits 5 to 8 are lost", "the last record");
                storage.log(0).unwrap().set_len(0).unwrap();
                assert_damaged(&storage, 0, 1..1, "commits 1 to 8 are lost", "the whole file");
            } else {
                assert_eq!(open(&storage, 0).2.unwrap(), 4);
            }
        }
    }

    #[test]
    fn unlogged_commits_are_not_damage() {
        let storage = storage();
        let log = open(&storage, 0).0;
        append(&log, [1, 2, 4, 5], true);
        assert!(log.switch().unwrap());
        append(&log, [7, 8], true);
        assert_eq!(open(&storage, 0).2.unwrap(), 2);
        assert_eq!(open(&storage, 3).2.unwrap(), 5);
    }

    #[test]
    fn records_of_an_earlier_use_are_not_read_as_later_ones() {
        let storage = storage();
        let log = open(&storage, 0).0;
        append(&log, 1..=20, true);
        assert!(log.switch().unwrap());
        append(&log, 21..=25, true);
        log.retire(20).unwrap();
        assert!(log.switch().unwrap());
        append(&log, 26..=27, true);
        assert_eq!(open(&storage, 20).2.unwrap(), 27);
        flip(&storage, 0, start(26, 27));
        assert_eq!(open(&storage, 20).2.unwrap(), 26);
    }

    #[test]
    fn damage_to_checkpointed_commits_is_ignored() {
        let storage = storage();
        append(&open(&storage, 0).0, 1..=5, true);
        flip(&storage, 0, start(1, 2));
        assert_eq!(open(&storage, 5).2.unwrap(), 5);
        assert_damaged(&storage, 3, 4..4, "commits 4 to 5 are lost", "the checkpoint has some");
    }

    #[test]
    fn log_without_durable_bound_is_read_as_before() {
        let storage = storage();
        let log = Log::open(&storage, STORE, 1).unwrap();
        log.replay(0, |_, _| Ok(())).unwrap();
        append(&log, 1..=5, true);
        assert_eq!(open(&storage, 0).2.unwrap(), 5);
        append(&open(&storage, 0).0, 6..=8, true);
        assert_eq!(open(&storage, 0).2.unwrap(), 8);
        let short = |sequence| start(1, sequence) - 16 * (sequence as usize - 1);
        flip(&storage, 0, short(3));
        assert_damaged(&storage, 0, 1..3, "commits 3 to 8 are lost", "a record without");
    }
}
