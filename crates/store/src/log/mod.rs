//! The redo log: commits in order, in two files used in turn.
//!
//! A file is a sequence of records from byte 0 on. Anything may follow: zeros that were written ahead, or records of an
//! earlier use.
//!
//! ```text
//!   0          8          16         24         32         40         48
//!   +----------+----------+----------+----------+----------+----------+---------------
//!   | checksum | salt     | sequence | length   | synced   | previous | payload …        integers of 8 bytes, little-endian
//!   +----------+----------+----------+----------+----------+----------+---------------
//!   checksum   XXH3 of the record from byte 8 on, seeded with the identity of the store
//!   salt       random, never 0, the same for all records since the file was last restarted
//!   sequence   the number of the commit, which grows from record to record
//!   length     the length of the payload in 5 bytes, and then "LOG"; the next record begins after the payload
//!   synced     until where this use of the file was durable when the record was written
//!   previous   sequence of the previous record
//! ```
//!
//! Records of version 1 have neither "LOG" nor the two fields after the length.
//!
//! Records of an earlier use of a file have another salt, so they are never taken for current ones. Bytes after the
//! last valid record when a store is opened belong to an unfinished commit, or to commits that a recovery skipped. They
//! are durably truncated before the first append, because the salt stays the same.
//!
//! At the start of a checkpoint, later records go to the other file ([`Log::switch`]); once the checkpoint is durable,
//! the first file may be overwritten ([`Log::retire`]).
//!
//! Files keep their length and grow by written zeros, so in the steady state a sync writes the record's pages and no
//! metadata. Medians of a write and its sync, all variants in turn on one ext4 disk:
//!
//! | file | 512 bytes | 12 KiB |
//! | --- | --- | --- |
//! | growing with each record, `fdatasync` | 236 µs | 332 µs |
//! | reserved by `fallocate`, `fdatasync` | 170 µs | 334 µs |
//! | written before, `fdatasync` (this one) | 176 µs | 187 µs |
//! | written before, `O_DSYNC` | 172 µs | 181 µs |
//! | written before, `O_DIRECT` and `O_DSYNC` | 158 µs | 166 µs |
//!
//! The last two write to the disk while the writer lock is held, so committers could not share a sync. The last one
//! writes whole sectors, and so rewrites durable records.
//!
//! Records that need a sync anyway are buffered in memory, and the sync writes them with one call: eight concurrent
//! committers make 22,700 commits a second with that and 20,800 without.

mod damage;
mod group;
mod record;
mod scan;
#[cfg(test)]
mod speed;
#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::group::GroupSync;
use self::record::{Head, Header, Past};
use self::scan::Scan;
use crate::error::{Error, Result};
use crate::storage::{LogFile, Storage};
use crate::words::{WordReader, WordWriter};

/// Records up to this long are assembled in a buffer and written by one call; longer ones are written part by part.
const BUFFER_BYTES: usize = 1 << 20;

/// Limits of the zeros that are written past the end of a growing file, whose number is half of its length. The next
/// sync writes them; the maximum takes some milliseconds.
const MIN_AHEAD_BYTES: u64 = 1 << 16;
const MAX_AHEAD_BYTES: u64 = 1 << 20;

/// The length that a retired file is truncated to: the default minimum length of the log between checkpoints.
const KEPT_BYTES: u64 = 1 << 28;

static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// The position of a record in the log, for [`Log::sync`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position(u64);

/// The log of a store. Call [`replay`](Self::replay) first.
#[derive(Debug)]
pub(crate) struct Log {
    files: [Arc<dyn LogFile>; 2],
    store: u64,
    /// Whether records say what was durable when they were written.
    has_pasts: bool,
    writer: Mutex<Writer>,
    group: GroupSync,
}

#[derive(Debug, Default)]
struct Writer {
    stage: Stage,
    current: usize,
    uses: [Use; 2],
    last_sequence: u64,
    /// Records at the end of the current file that are buffered, to be written before it is synced.
    unwritten: Vec<u8>,
    buffer: Vec<u8>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Stage {
    /// The end of the valid records is not known yet.
    #[default]
    Unread,
    /// The end is known, and the bytes after it are still to be truncated.
    Read,
    Writable,
}

/// The current use of a file.
#[derive(Debug, Default)]
struct Use {
    salt: u64,
    /// The offset of the next record.
    end: u64,
    /// The file is durable up to this offset.
    synced_end: u64,
    /// The length of the file. Writes up to here need no new space.
    file_bytes: u64,
    last_sequence: u64,
    /// Whether a replay would need the file. Not set for the current file.
    is_needed: bool,
}

impl Log {
    /// Opens the log of the store with this identity and version of the format.
    pub(crate) fn open(storage: &dyn Storage, store: u64, version: u32) -> Result<Self> {
        let files = [storage.log(0)?, storage.log(1)?];
        Ok(Self { files, store, has_pasts: version > 1, writer: Mutex::default(), group: GroupSync::default() })
    }

    /// The numbers of its files.
    pub(crate) fn file_numbers(&self) -> [u64; 2] {
        [self.files[0].file_number(), self.files[1].file_number()]
    }

    /// Checks that its files are still where they were.
    ///
    /// # Errors
    ///
    /// [`Error::Replaced`].
    pub(crate) fn check_place(&self) -> Result<()> {
        self.files.iter().try_for_each(|file| file.check_place())
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `f` with the records `after + 1`, `after + 2` and so on, up to the first that is missing or damaged.
    /// Returns the last number, or `after`; the next append follows it. Writes nothing.
    ///
    /// Returns [`Error::Corrupt`] after the last record if later records were provably durable and are lost.
    pub(crate) fn replay(&self, after: u64, mut f: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<u64> {
        let mut writer = self.writer();
        let mut scans = Vec::with_capacity(2);
        for (index, file) in self.files.iter().enumerate() {
            let mut scan = Scan::new(&**file, self.store)?;
            writer.uses[index] = Use { file_bytes: file.len()?, ..Use::default() };
            // A file without records comes last.
            scans.push((scan.first_sequence()?.unwrap_or(u64::MAX), (index, scan)));
        }
        scans.sort_by_key(|&(first, _)| first);
        let mut scans: Vec<(usize, Scan<'_>)> = scans.into_iter().map(|(_, scan)| scan).collect();

        let mut last = after;
        let mut current = 0;
        'files: for (index, scan) in &mut scans {
            let index = *index;
            while let Some((sequence, payload)) = scan.next()? {
                if sequence <= after {
                    continue;
                }
                if sequence != last + 1 {
                    break 'files;
                }
                f(sequence, payload)?;
                last = sequence;
                current = index;
                let found = &mut writer.uses[index];
                (found.salt, found.end, found.last_sequence) = (scan.salt(), scan.end(), sequence);
                found.is_needed = true;
            }
        }
        damage::check(&mut scans, after, last)?;
        if writer.uses[current].end == 0 {
            writer.uses[current].salt = self.new_salt();
        }
        (writer.current, writer.last_sequence, writer.stage) = (current, last, Stage::Read);
        self.group.reset(current, [writer.uses[0].last_sequence, writer.uses[1].last_sequence], after);
        Ok(last)
    }

    /// Appends a commit's record, the concatenation of `parts`, and writes it. Its number must be larger than all
    /// before it; a replay needs every number after the checkpoint's. Only the writer calls this, so there is one
    /// caller at a time.
    ///
    /// After an error the record is not in the log, and the next append takes its place. If that cannot be ensured, the
    /// log is poisoned.
    pub(crate) fn append(&self, sequence: u64, parts: &[&[u8]]) -> Result<Position> {
        self.append_record(sequence, parts, false)
    }

    /// Like [`append`](Self::append), for a record that will be [synced](Self::sync). If the file already has room for
    /// the record, the sync writes it together with all others. If that fails, the log is poisoned.
    pub(crate) fn append_for_sync(&self, sequence: u64, parts: &[&[u8]]) -> Result<Position> {
        self.append_record(sequence, parts, true)
    }

    fn append_record(&self, sequence: u64, parts: &[&[u8]], may_wait: bool) -> Result<Position> {
        self.group.check()?;
        let mut writer = self.writer();
        let writer = &mut *writer;
        self.make_writable(writer)?;
        if sequence <= writer.last_sequence {
            let why = format!("commit {sequence} is logged after commit {}", writer.last_sequence);
            return Err(Error::Internal(why));
        }
        let past = self
            .has_pasts
            .then_some(Past { synced_end: writer.uses[writer.current].synced_end, previous: writer.last_sequence });
        let record_bytes = record::len(past, parts);
        let current = &mut writer.uses[writer.current];
        let head = Head { store: self.store, salt: current.salt, sequence, past };
        let has_room = current.end.saturating_add(record_bytes as u64) <= current.file_bytes
            && writer.unwritten.len().saturating_add(record_bytes) <= BUFFER_BYTES;
        if may_wait && has_room {
            record::assemble(&mut writer.unwritten, &head, parts);
            current.end += record_bytes as u64;
        } else {
            self.write_out(writer)?;
            self.write_now(writer, &head, parts)?;
        }
        writer.uses[writer.current].last_sequence = sequence;
        writer.last_sequence = sequence;
        self.group.appended(sequence);
        Ok(Position(sequence))
    }

    fn write_now(&self, writer: &mut Writer, head: &Head, parts: &[&[u8]]) -> Result<()> {
        let file = &*self.files[writer.current];
        let current = &mut writer.uses[writer.current];
        let start = current.end;
        match write_record(file, &mut writer.buffer, start, head, parts) {
            Ok(end) => current.end = end,
            Err(error) => {
                // Unless the record is certainly absent, no other record with its number may follow.
                match file.set_len(current.end).and_then(|()| file.sync()) {
                    Ok(()) => current.file_bytes = current.end,
                    Err(_) => self.group.poison(),
                }
                return Err(error);
            }
        }
        write_ahead(file, current, start);
        Ok(())
    }

    /// Writes the records that were left to a sync.
    fn write_out(&self, writer: &mut Writer) -> Result<()> {
        if writer.unwritten.is_empty() {
            return Ok(());
        }
        let start = writer.uses[writer.current].end - writer.unwritten.len() as u64;
        let written = self.files[writer.current].write_at(start, &writer.unwritten);
        writer.unwritten.clear();
        // Their commits are visible already.
        written.inspect_err(|_| self.group.poison())
    }

    /// Makes all records up to this one durable. Threads that call this concurrently share syncs.
    ///
    /// After a failed sync the contents of the disk are unknown, so all later syncs fail.
    pub(crate) fn sync(&self, position: Position) -> Result<()> {
        self.group.sync(position, |needed| {
            let written = {
                let mut writer = self.writer();
                self.write_out(&mut writer)?;
                [0, 1].map(|file: usize| (writer.uses[file].salt, writer.uses[file].end))
            };
            needed.into_iter().flatten().try_for_each(|file| self.files[file].sync())?;
            let mut writer = self.writer();
            for file in needed.into_iter().flatten() {
                let (salt, end) = written[file];
                let used = &mut writer.uses[file];
                if used.salt == salt {
                    used.synced_end = used.synced_end.max(end.min(used.end));
                }
            }
            Ok(())
        })
    }

    /// The last record, if there is one.
    pub(crate) fn last_position(&self) -> Option<Position> {
        Some(self.writer().last_sequence).filter(|sequence| *sequence > 0).map(Position)
    }

    /// Returns [`Error::Poisoned`] after a failed sync, or a failed write that could not be undone.
    pub(crate) fn check(&self) -> Result<()> {
        self.group.check()
    }

    /// Directs later records to the other file, at the start of a checkpoint, and returns whether it did. It does not
    /// if the other file's records are not in a durable checkpoint yet, or if the current file has no records.
    pub(crate) fn switch(&self) -> Result<bool> {
        self.group.check()?;
        let mut writer = self.writer();
        self.make_writable(&mut writer)?;
        let (current, other) = (writer.current, 1 - writer.current);
        if writer.uses[other].is_needed || writer.uses[current].end == 0 {
            return Ok(false);
        }
        self.write_out(&mut writer)?;
        writer.uses[current].is_needed = true;
        let file_bytes = writer.uses[other].file_bytes;
        writer.uses[other] = Use { salt: self.new_salt(), file_bytes, ..Use::default() };
        writer.current = other;
        self.group.switch(other);
        Ok(true)
    }

    /// Called when a checkpoint of all commits up to `durable` is durable: a file without later commits may be
    /// overwritten.
    pub(crate) fn retire(&self, durable: u64) -> Result<()> {
        self.group.retire(durable);
        let mut writer = self.writer();
        if writer.stage == Stage::Unread {
            return Ok(());
        }
        let other = 1 - writer.current;
        let old = &mut writer.uses[other];
        if !old.is_needed || old.last_sequence > durable {
            return Ok(());
        }
        (old.is_needed, old.end, old.synced_end) = (false, 0, 0);
        if old.file_bytes > KEPT_BYTES {
            self.files[other].set_len(KEPT_BYTES)?;
            old.file_bytes = KEPT_BYTES;
        }
        Ok(())
    }

    /// Empties both files if a durable checkpoint includes all their commits, so that the next opening has nothing to
    /// read.
    pub(crate) fn clear(&self, durable: u64) -> Result<()> {
        self.group.check()?;
        let mut writer = self.writer();
        if writer.stage == Stage::Unread || writer.last_sequence > durable {
            return Ok(());
        }
        for (file, used) in self.files.iter().zip(&mut writer.uses) {
            *used = Use { salt: self.new_salt(), ..Use::default() };
            if file.len()? > 0 {
                file.set_len(0)?;
            }
        }
        writer.unwritten.clear();
        (writer.current, writer.stage) = (0, Stage::Read);
        self.group.reset(0, [0; 2], durable);
        Ok(())
    }

    /// Writes all records to the files, and saves the state of the log for another process.
    pub(crate) fn save(&self, out: &mut WordWriter) -> Result<()> {
        self.group.check()?;
        let mut writer = self.writer();
        self.write_out(&mut writer)?;
        out.put(u64::from(writer.stage == Stage::Writable));
        out.put_len(writer.current);
        out.put(writer.last_sequence);
        out.put(self.group.synced());
        for used in &writer.uses {
            let numbers = [used.salt, used.end, used.synced_end, used.file_bytes, used.last_sequence];
            numbers.into_iter().for_each(|number| out.put(number));
            out.put(used.is_needed.into());
        }
        Ok(())
    }

    /// Goes on from the state that another process has [saved](Self::save).
    pub(crate) fn restore(&self, from: &mut WordReader<'_>) -> Result<()> {
        let stage = if from.next_flag()? { Stage::Writable } else { Stage::Read };
        let (current, last_sequence, synced) = (usize::from(from.next_flag()?), from.next()?, from.next()?);
        let mut next_use = || {
            Ok(Use {
                salt: from.next()?,
                end: from.next()?,
                synced_end: from.next()?,
                file_bytes: from.next()?,
                last_sequence: from.next()?,
                is_needed: from.next_flag()?,
            })
        };
        let uses = [next_use()?, next_use()?];
        self.group.reset(current, [uses[0].last_sequence, uses[1].last_sequence], synced);
        *self.writer() = Writer { stage, current, uses, last_sequence, ..Writer::default() };
        Ok(())
    }

    /// Truncates the space that the files keep for later records.
    pub(crate) fn shorten(&self) -> Result<()> {
        self.group.check()?;
        let mut writer = self.writer();
        if writer.stage != Stage::Writable {
            return Ok(());
        }
        for (file, used) in self.files.iter().zip(&mut writer.uses) {
            if used.file_bytes > used.end {
                file.set_len(used.end)?;
                used.file_bytes = used.end;
            }
        }
        Ok(())
    }

    /// The length of both files, including the space they keep for later records.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.writer().uses.iter().map(|used| used.file_bytes).sum()
    }

    /// The number of bytes that a replay would read.
    pub(crate) fn size_bytes(&self) -> u64 {
        let writer = self.writer();
        let needed = |index: &usize| *index == writer.current || writer.uses[*index].is_needed;
        (0..2).filter(needed).map(|index| writer.uses[index].end).sum()
    }

    /// Durably truncates the bytes that the replay did not use.
    fn make_writable(&self, writer: &mut Writer) -> Result<()> {
        match writer.stage {
            Stage::Unread => return Err(Error::internal("the log is written to before it is replayed")),
            Stage::Writable => return Ok(()),
            Stage::Read => {}
        }
        for (file, used) in self.files.iter().zip(&mut writer.uses) {
            if used.file_bytes > used.end {
                file.set_len(used.end)?;
                used.file_bytes = used.end;
            }
            // Sync even if this truncates nothing: a process that was killed may have truncated the file here or in
            // `clear`, without a sync.
            if let Err(error) = file.sync() {
                self.group.poison();
                return Err(error);
            }
            used.synced_end = used.end;
        }
        writer.stage = Stage::Writable;
        Ok(())
    }

    /// A random number, which with high probability differs from all earlier uses of a file.
    fn new_salt(&self) -> u64 {
        loop {
            let salt = RandomState::new().hash_one(self.store);
            if salt != 0 {
                return salt;
            }
        }
    }
}

/// Calls `f` with all records of two log files of a store with unknown identity, in the order of their numbers. Only
/// their lengths and numbers can be checked, because the identity seeds the checksums.
pub(crate) fn unverified_records(storage: &dyn Storage, mut f: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
    let files = [storage.log(0)?, storage.log(1)?];
    let mut order = Vec::with_capacity(2);
    for file in &files {
        let mut scan = Scan::new(&**file, None)?;
        if let Some(first) = scan.first_sequence()? {
            order.push((first, scan));
        }
    }
    order.sort_by_key(|&(first, _)| first);
    for (_, mut scan) in order {
        while let Some((sequence, payload)) = scan.next()? {
            f(sequence, payload)?;
        }
    }
    Ok(())
}

/// Writes the record at `start`, and returns its end.
fn write_record(file: &dyn LogFile, buffer: &mut Vec<u8>, start: u64, head: &Head, parts: &[&[u8]]) -> Result<u64> {
    let record_bytes = record::len(head.past, parts);
    if record_bytes <= BUFFER_BYTES {
        buffer.clear();
        record::assemble(buffer, head, parts);
        file.write_at(start, buffer)?;
        return Ok(start + record_bytes as u64);
    }
    let header = Header::new(head, parts).to_bytes();
    file.write_at(start, &header)?;
    let mut end = start + header.len() as u64;
    for part in parts {
        file.write_at(end, part)?;
        end += part.len() as u64;
    }
    Ok(end)
}

/// If the last record, which begins at `start`, made the file longer, writes zeros after it. A sync after a write to
/// previously written space does not write metadata. If the next record is likely to be longer than the zeros, none are
/// written: its sync writes metadata all the same.
fn write_ahead(file: &dyn LogFile, used: &mut Use, start: u64) {
    if used.end <= used.file_bytes {
        return;
    }
    used.file_bytes = used.end;
    let ahead = (used.end / 2).clamp(MIN_AHEAD_BYTES, MAX_AHEAD_BYTES);
    if used.end - start > ahead {
        return;
    }
    while used.file_bytes < used.end + ahead {
        // Only speed depends on this: on a full disk, the record that needs the space reports the error.
        if file.write_at(used.file_bytes, &ZEROS).is_err() {
            return;
        }
        used.file_bytes += ZEROS.len() as u64;
    }
}
