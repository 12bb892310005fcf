//! Tuning constants of scans, each with its measurement. "Not measured" means that the value was chosen by the given reasoning.

use std::time::Duration;

// Testing rows.

/// A test selects the remaining rows first, if they are fewer than one in this many of the decoded rows. Not measured: with
/// dictionary indices, selecting a row is cheaper than looking up four.
pub(super) const SPARSE: usize = 4;

/// [`SPARSE`] for comparisons of numbers: selecting one number in seven costs more than comparing all. TPC-H Q12's filter of DELTA
/// values: 1.14 times as fast with 12 as with 4, 1.19 with 32, 1.22 with 64. With dictionary indices 32 is slower than 4 (0.89),
/// so that they have [`SPARSE`].
pub(super) const SPARSE_NUMBERS: usize = 32;

/// Maximum rows of a window that is tested. Not measured: 8,192 values of 8 bytes and their page fit into the second-level cache
/// of any current processor.
pub(super) const MAX_TESTED_ROWS: usize = 8192;

/// Minimum rows of a window that is tested, however small the batches of the result are. Not measured: each window has fixed costs
/// for each column, which 1,024 rows outweigh.
pub(super) const MIN_TESTED_ROWS: usize = 1024;

/// Maximum rows of a window that has deleted rows and no predicate, whatever the batch size: a mask has a bit for each row, and a
/// file can claim to have any number of rows. A mask takes 128 KiB then.
pub(super) const MAX_FILTERED_ROWS: usize = 1 << 20;

// Decoding rows of a window.

/// A window is decoded as a whole if at least this part of its rows would be. Blocks of bit-packed values are then decoded from
/// their beginning, and neither masks nor values are expanded. Not measured.
pub(super) const WHOLE_WINDOW: (usize, usize) = (9, 10);

/// Words of 64 rows without a wanted row that end a range of rows to decode. After each range every column skips rows and starts
/// decoding again. Skipping 64 rows took longer than decoding them (TPC-H Q12's filter: 0.24 s; 0.21 s with 256 rows, with 512
/// and without a limit; with DELTA values 0.50, 0.49 and 0.51 s). With 256 rows a random hundredth of the rows cuts a window into
/// five.
pub(super) const GAP_WORDS: usize = 8;

// Searching pages for strings.

/// Maximum strings of an IN list that are searched for one by one. Not measured: a search is about ten times as fast as decoding
/// and comparing values, so that four searches take less than half of that time.
pub(super) const MAX_SEARCHED_STRINGS: usize = 4;

/// Minimum bytes of a string that is searched for. Not measured: shorter strings are in nearly every page.
pub(super) const MIN_SEARCHED_BYTES: usize = 3;

/// Pages that are searched before deciding whether to go on. Not measured.
pub(super) const TRIAL_PAGES: u64 = 4;

/// Maximum strings of a hashed list: with more, the 65,536 bits would let a sixteenth of all values pass.
pub(super) const MAX_LISTED_STRINGS: usize = 4096;

/// Maximum hash collisions, after which a page is decoded instead. Not measured.
pub(super) const MAX_FALSE_POSITIVES: usize = 1000;

// Building batches.

/// Survivors of a window are returned as they are if they are at least one in this many of the batch size; fewer are
/// concatenated, which copies them. Concatenating random rows of which half or a tenth pass took 1.3 times as long as filtering
/// afterwards.
pub(super) const UNJOINED_PART: usize = 8;

/// Strings are copied out of their pages if a batch has fewer rows than one in this many of the batch size. Not measured.
pub(super) const COMPACTED_PART: usize = 4;

/// Maximum bytes of pages that a batch may keep in memory without a copy of its strings. Not measured: smaller pages are not
/// worth a copy.
pub(super) const MAX_KEPT_BYTES: usize = 1 << 16;

/// Rows that are scanned before a dynamic filter is applied to a row group for the second time, which opens columns again. Not
/// measured.
pub(super) const MIN_ROWS_BETWEEN: u64 = 16 << 10;

// Files and threads.

/// Maximum cached plans: files of one schema usually come together. Not measured.
pub(super) const MAX_PLANS: usize = 64;

/// Maximum files that are opened before their rows are needed. Not measured: it bounds open files.
pub(super) const MAX_FILES_AHEAD: usize = 256;

/// Maximum files that a planner without I/O plans at the same time. Not measured: it bounds the given bytes that are not used
/// yet.
pub(super) const MAX_FILES_PLANNED_AT_ONCE: usize = 256;

/// Maximum files that a thread takes at a time. Most files are ruled out in microseconds, about as long as it takes to get the
/// next file while other threads do the same.
pub(super) const MAX_FILES_AT_ONCE: usize = 16;

/// Memory that a thread allocates and frees before it opens files. Footers lie in the thread's own part of the heap, which the C
/// library of Linux extends in small steps, each by a system call that other threads wait for. 1,000 files need 136 such calls
/// instead of 881, which saves 2 to 5 % of the processor time. More memory would be returned to the system.
pub(super) const HEAP_ROOM_BYTES: usize = 96 << 10;

/// Interval at which a thread that waits for a batch checks for cancellation. 10 ms are too short to notice.
pub(super) const CANCEL_INTERVAL: Duration = Duration::from_millis(10);

// Columns that threads share.

/// Maximum batches that a column is decoded ahead, unless lanes share it. Decompressing a page takes as long as decoding some
/// batches, during which the other columns continue: TPC-H's lineitem with Snappy, two threads, takes 0.14 to 0.16 s with 12, and
/// 0.18 to 0.20 s with 4, where one thread waits for a tenth to a fifth of the time.
pub(super) const MAX_BATCHES_AHEAD: usize = 12;

/// Batches that a thread decodes before it looks for other work: one takes some microseconds, about as long as waking a thread.
pub(super) const BATCHES_AT_ONCE: usize = 4;

/// Maximum decoded batches of all columns together, except that each column may have [`BATCHES_AT_ONCE`]. Not measured: it bounds
/// memory.
pub(super) const MAX_BATCHES_OF_ALL: usize = 256;

/// Rows of a lane's segment, unless batches are larger. Both lanes read a page with the border of two segments, so that short
/// segments cost time, and long ones memory. Not measured.
pub(super) const LANE_ROWS: usize = 1 << 17;
