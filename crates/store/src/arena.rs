//! Checked access to the nodes in the data area.
//!
//! Every reference is checked against the length of the area before it is followed, so a damaged store produces errors.
//! The first four bytes of a node, its checksum, are not part of its body: a checkpoint writes them while readers read
//! the body.

//!
//! Readers get shared references to bodies and the writer gets exclusive ones, all into one map. Soundness rests on the
//! space bookkeeping of the whole crate; [`WriteArena::new`] states the conditions. The section on `unsafe` in
//! ARCHITECTURE.md covers the consequences of a damaged file.

#![expect(unsafe_code, reason = "slices of the mapped data area")]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::extent::{Extent, Generation, UNIT};
use crate::node::{self, BODY_HEAD, CHECKSUM_LEN, COMMON, Kind, Node, REFERENCE_LIMIT};
use crate::storage::Data;

/// The first unit that can hold a node: the header slots are before it.
pub(crate) const FIRST_UNIT: u64 = 8192 / UNIT;

/// The offsets of the two header slots.
pub(crate) const HEADER_SLOTS: [u64; 2] = [0, 4096];

/// The used bytes of a header slot.
pub(crate) const HEADER_LEN: usize = 88;

/// The hints of prefetch instructions.
#[cfg(target_arch = "x86_64")]
mod hint {
    pub(super) use std::arch::x86_64::{_MM_HINT_ET0 as WRITE, _MM_HINT_T0 as READ};
}
#[cfg(not(target_arch = "x86_64"))]
mod hint {
    pub(super) const WRITE: i32 = 1;
    pub(super) const READ: i32 = 0;
}
use hint::{READ, WRITE};

/// The data area, as nodes. Shared by readers and the writer.
#[derive(Debug)]
pub(crate) struct Arena {
    data: Arc<dyn Data>,
    base: NonNull<u8>,
    /// The number of readable bytes: the area's length, kept here so that the bounds check costs no call.
    len: AtomicU64,
    /// Set if nodes are verified: the nodes of the store as it was opened that have passed.
    verified: OnceLock<VerifiedNodes>,
}

/// Tracks the nodes of the store as it was opened. Each is verified by its checksum when it is first read. Later nodes
/// were made by a process that still has them in its memory.
#[derive(Debug)]
struct VerifiedNodes {
    /// Nodes up to this generation have checksums.
    sealed: Generation,
    /// A bit per unit, set once the node that begins there was verified.
    units: Box<[AtomicU64]>,
}

// SAFETY: `base` is the address of `data`, which is kept alive here and is `Send`; the address does not move.
unsafe impl Send for Arena {}
// SAFETY: through a shared `Arena`, nodes are only read. A node is not written while any thread can reach it, and its
// checksum is an atomic. Writing needs the one `WriteArena`.
unsafe impl Sync for Arena {}

impl Arena {
    pub(crate) fn new(data: Arc<dyn Data>) -> Self {
        let len = AtomicU64::new(data.len());
        Self { base: data.base(), data, len, verified: OnceLock::new() }
    }

    #[inline]
    pub(crate) fn data(&self) -> &dyn Data {
        self.data.as_ref()
    }

    /// From now on, verifies nodes up to this generation by their checksums when they are first read. The generation is
    /// the one of the last checkpoint, which the valid header names.
    pub(crate) fn verify_nodes(&self, sealed: Generation) {
        let units = (self.len() / UNIT).div_ceil(64);
        self.verified.get_or_init(|| VerifiedNodes { sealed, units: (0..units).map(|_| AtomicU64::new(0)).collect() });
    }

    /// Returns whether the node at `reference` needs verification and has a wrong checksum.
    #[inline]
    fn is_damaged(&self, reference: u64, head: &[u8; BODY_HEAD]) -> bool {
        match self.verified.get() {
            // Root records have no checksum.
            Some(verified) if node::generation(head) <= verified.sealed && head[0] != Kind::Root as u8 => {
                !self.is_intact(verified, reference)
            }
            _ => false,
        }
    }

    #[inline(never)]
    fn is_intact(&self, verified: &VerifiedNodes, reference: u64) -> bool {
        // Space behind the map was added after the header was written.
        let Some(units) = verified.units.get((reference / 64) as usize) else { return true };
        let bit = 1 << (reference % 64);
        if units.load(Ordering::Relaxed) & bit != 0 {
            return true;
        }
        // A node that only commits between two checkpoints reach was never sealed; readers of another process may hold
        // it.
        let is_intact = self.checksums(reference).is_ok_and(|(stored, right)| stored == right || stored == 0);
        if is_intact {
            units.fetch_or(bit, Ordering::Relaxed);
        }
        is_intact
    }

    /// The number of readable bytes.
    #[inline]
    pub(crate) fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    /// Sets the length of the area, which must not exceed the file's.
    #[inline]
    pub(crate) fn set_len(&self, len: u64) {
        self.len.store(len.min(self.data.len()), Ordering::Relaxed);
    }

    /// Returns whether the area has the bytes before `end`.
    #[inline]
    fn has(&self, end: u64) -> bool {
        end <= self.len() || self.has_grown(end)
    }

    /// Like [`has`](Self::has), but by the length of the file. While another process writes, the cached length may be
    /// stale: two threads may store a new and an older length in the wrong order.
    #[cold]
    fn has_grown(&self, end: u64) -> bool {
        let len = self.data.len();
        let has_grown = end <= len;
        if has_grown {
            self.len.fetch_max(len, Ordering::Relaxed);
        }
        has_grown
    }

    /// The node at `reference`: a leaf, an inner node or a root record.
    #[inline]
    pub(crate) fn node(&self, reference: u64) -> Result<Node<'_>> {
        self.peek(reference).ok_or_else(|| self.node_error(reference))
    }

    #[cold]
    fn node_error(&self, reference: u64) -> Error {
        match self.peek_head(reference) {
            Some(head) if self.is_damaged(reference, head) => damaged(reference),
            _ => outside(reference),
        }
    }

    /// Like [`node`](Self::node), but returns `None` instead of an error.
    #[inline]
    pub(crate) fn peek(&self, reference: u64) -> Option<Node<'_>> {
        let head = self.peek_head(reference)?;
        let len = usize::from(u16::from_le_bytes([head[2], head[3]])) * UNIT as usize;
        if len == 0 || !self.has(reference * UNIT + len as u64) || self.is_damaged(reference, head) {
            return None;
        }
        // SAFETY: the node ends within the area, as was just checked, and these are the bytes after its checksum.
        let body = unsafe { self.slice(reference * UNIT + CHECKSUM_LEN as u64, len - CHECKSUM_LEN) };
        Some(Node { head, body })
    }

    /// The bytes of the value in the value node at `reference`.
    pub(crate) fn value(&self, reference: u64) -> Result<&[u8]> {
        let value = self.unverified_value(reference)?;
        if self.is_damaged(reference, self.head(reference)?) { Err(damaged(reference)) } else { Ok(value) }
    }

    /// Like [`value`](Self::value), without the checksum of the node.
    pub(crate) fn unverified_value(&self, reference: u64) -> Result<&[u8]> {
        let head = self.head(reference)?;
        if Kind::from_head(head) != Some(Kind::Value) {
            return Err(Error::corrupt_at(reference * UNIT, "a value node is expected here"));
        }
        let len = node::value::len(head);
        let start = reference * UNIT + node::value::HEAD as u64;
        if len > node::value::MAX_LEN || !self.has(start + len) {
            return Err(outside(reference));
        }
        // SAFETY: the value ends within the area, as was just checked, and begins after the node's checksum.
        Ok(unsafe { self.slice(start, len as usize) })
    }

    /// The extent of a node of any kind.
    pub(crate) fn extent(&self, reference: u64) -> Result<Extent> {
        let head = self.head(reference)?;
        let units = match Kind::from_head(head) {
            Some(Kind::Value) => node::value::units(node::value::len(head))?,
            Some(_) => u32::from(u16::from_le_bytes([head[2], head[3]])),
            None => return Err(Error::corrupt_at(reference * UNIT, "no kind of node has this number")),
        };
        if units == 0 || !self.has((reference + u64::from(units)) * UNIT) {
            return Err(outside(reference));
        }
        Ok(Extent { start: reference, units })
    }

    /// The kind of the node at `reference`.
    pub(crate) fn kind(&self, reference: u64) -> Result<Option<Kind>> {
        Ok(Kind::from_head(self.head(reference)?))
    }

    /// The generation of the node at `reference`.
    pub(crate) fn birth(&self, reference: u64) -> Result<Generation> {
        Ok(node::generation(self.head(reference)?))
    }

    /// Prefetches the first lines of 64 bytes of a node that will be read, into all levels of cache. The hint for data
    /// that is used once would keep a small tree out of the second and third level: with it, lookups drop from 3.3 to
    /// 1.9 million a second among a million random keys and from 13.4 to 7.8 among ten thousand; among 20 million the
    /// two are equal.
    #[inline]
    pub(crate) fn prefetch<const LINES: u64>(&self, reference: u64) {
        self.prefetch_with::<READ>(reference, LINES);
    }

    /// Prefetches this many lines.
    #[inline]
    pub(crate) fn prefetch_lines(&self, reference: u64, lines: u64) {
        self.prefetch_with::<READ>(reference, lines);
    }

    /// Prefetches the line that is `offset` bytes after the start of a node.
    #[inline]
    pub(crate) fn prefetch_at(&self, reference: u64, offset: u64) {
        self.prefetch_with::<READ>(reference + offset / UNIT, 1);
    }

    /// Prefetches lines that will be overwritten.
    #[inline]
    pub(crate) fn prefetch_to_write(&self, reference: u64, lines: u64) {
        self.prefetch_with::<WRITE>(reference, lines);
    }

    /// Does nothing near the end of the area. With a constant number of lines the compiler unrolls the loop, whose branches would
    /// displace others in the branch predictor's history.
    #[inline(always)]
    fn prefetch_with<const HINT: i32>(&self, reference: u64, lines: u64) {
        #[cfg(target_arch = "x86_64")]
        if reference + lines <= self.len() / UNIT {
            use std::arch::x86_64::_mm_prefetch;
            for line in reference..reference + lines {
                // SAFETY: the line is within the area, or was until a moment ago, and so within the mapping.
                let address = unsafe { self.base.as_ptr().add((line * UNIT) as usize) };
                // SAFETY: a prefetch changes nothing that can be observed; SSE is part of x86-64.
                unsafe { _mm_prefetch::<HINT>(address.cast()) };
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (reference, lines);
    }

    /// Returns the stored checksum of a node and the correct one.
    pub(crate) fn checksums(&self, reference: u64) -> Result<(u32, u32)> {
        let extent = self.extent(reference)?;
        let len = extent.units as usize * UNIT as usize - CHECKSUM_LEN;
        // SAFETY: `extent` has found the node within the area, and these are the bytes after its checksum.
        let body = unsafe { self.slice(reference * UNIT + CHECKSUM_LEN as u64, len) };
        // SAFETY: the same.
        let stored = unsafe { self.checksum_cell(reference) };
        Ok((stored.load(Ordering::Relaxed), checksum(body)))
    }

    /// Writes the checksum of a node that no longer changes.
    pub(crate) fn seal(&self, reference: u64) -> Result<()> {
        let (_, right) = self.checksums(reference)?;
        // SAFETY: `checksums` has found a node there.
        let stored = unsafe { self.checksum_cell(reference) };
        stored.store(right, Ordering::Relaxed);
        Ok(())
    }

    /// The bytes of a header slot. One that is being written may be returned half-written.
    pub(crate) fn header(&self, slot: usize) -> Result<[u8; HEADER_LEN]> {
        let words = self.header_words(slot)?;
        let mut bytes = [0; HEADER_LEN];
        for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *to = word.load(Ordering::Relaxed).to_ne_bytes();
        }
        Ok(bytes)
    }

    /// Returns whether all bytes are 0.
    pub(crate) fn is_zero(&self) -> bool {
        // SAFETY: these are the bytes of the area. The caller holds the writer lock and has not written anything yet,
        // so nothing changes them.
        unsafe { self.slice(0, self.len() as usize) }.iter().all(|byte| *byte == 0)
    }

    /// Writes the header slot that is not the newest. Only the thread that makes the checkpoint calls this, so there is
    /// one caller at a time.
    pub(crate) fn write_header(&self, slot: usize, bytes: &[u8; HEADER_LEN]) -> Result<()> {
        for (from, word) in bytes.as_chunks().0.iter().zip(self.header_words(slot)?) {
            word.store(u64::from_ne_bytes(*from), Ordering::Relaxed);
        }
        Ok(())
    }

    /// A header slot as atomic words: a process that opens the store for reading may read it while a checkpoint writes
    /// it. A half-written slot has a wrong checksum and is skipped.
    fn header_words(&self, slot: usize) -> Result<&[AtomicU64; HEADER_LEN / 8]> {
        const { assert!(HEADER_LEN.is_multiple_of(8)) };
        let at = HEADER_SLOTS[slot];
        if at + HEADER_LEN as u64 > self.len() {
            return Err(Error::corrupt_at(at, "the file ends before its headers do"));
        }
        // SAFETY: the slot is within the area, as was just checked.
        let first = unsafe { self.base.add(at as usize) };
        // SAFETY: slots begin at multiples of 4096 in an area that is aligned to 64. They are only read and written as
        // these atomics; the exception is `is_zero`, which runs before any process has opened the store. Every bit
        // pattern is a valid value.
        Ok(unsafe { first.cast().as_ref() })
    }

    #[inline]
    fn head(&self, reference: u64) -> Result<&[u8; BODY_HEAD]> {
        self.peek_head(reference).ok_or_else(|| outside(reference))
    }

    #[inline]
    fn peek_head(&self, reference: u64) -> Option<&[u8; BODY_HEAD]> {
        if !(FIRST_UNIT..REFERENCE_LIMIT).contains(&reference) || !self.has((reference + 1) * UNIT) {
            return None;
        }
        let at = (reference * UNIT) as usize + CHECKSUM_LEN;
        // SAFETY: a unit begins at `reference` and ends within the area, as was just checked.
        let head = unsafe { self.base.add(at) };
        // SAFETY: `BODY_HEAD` bytes from here are within that unit. The body of a reachable node is never written.
        Some(unsafe { head.cast::<[u8; BODY_HEAD]>().as_ref() })
    }

    /// The `len` bytes from `start` on.
    ///
    /// # Safety
    ///
    /// They are within the area, and none of them is part of the checksum of a node that may be sealed meanwhile.
    #[inline]
    unsafe fn slice(&self, start: u64, len: usize) -> &[u8] {
        debug_assert!(start + len as u64 <= self.len());
        // SAFETY: the caller guarantees that `start` is within the area.
        let first = unsafe { self.base.add(start as usize) };
        // SAFETY: so are the bytes up to `start + len`. The area lives as long as `self`. The body of a reachable node
        // is never written, as the creator of the `WriteArena` guarantees.
        unsafe { std::slice::from_raw_parts(first.as_ptr(), len) }
    }

    /// The checksum of the node at `reference`.
    ///
    /// # Safety
    ///
    /// A unit begins at `reference` and ends within the area, after the headers.
    unsafe fn checksum_cell(&self, reference: u64) -> &AtomicU32 {
        // SAFETY: the caller guarantees that the unit is within the area.
        let at = unsafe { self.base.add((reference * UNIT) as usize) };
        // SAFETY: units are aligned to 64 bytes, the area to a page; these four bytes are only ever read and written as this
        // atomic, or by the one writer while it makes the node.
        unsafe { AtomicU32::from_ptr(at.as_ptr().cast()) }
    }
}

/// The checksum of a node's body. Never 0, which marks a node that was not sealed.
pub(crate) fn checksum(body: &[u8]) -> u32 {
    (xxhash_rust::xxh3::xxh3_64(body) as u32).max(1)
}

#[cold]
fn damaged(reference: u64) -> Error {
    Error::corrupt_at(reference.saturating_mul(UNIT), "the checksum of a node is wrong")
}

#[cold]
fn outside(reference: u64) -> Error {
    Error::corrupt_at(reference.saturating_mul(UNIT), "a reference leads outside of the file")
}

/// The right to write nodes that no other thread or process can reach yet. Each store has one, held by the writer.
#[derive(Debug)]
pub(crate) struct WriteArena {
    arena: Arc<Arena>,
}

impl WriteArena {
    /// # Safety
    ///
    /// Until this is dropped, nothing else writes to the area except headers and checksums: the caller holds the
    /// store's writer lock, and makes no other `WriteArena` for the area.
    ///
    /// The extents passed to [`fresh`](Self::fresh), [`copy_to`](Self::copy_to), [`copy_whole`](Self::copy_whole) and
    /// `poison` are free space: no commit that a reader holds or may yet get reaches them, no snapshot of a transaction
    /// does, and no slice of them is alive. The generations passed to [`own`](Self::own) are later than the generations of
    /// all these commits and snapshots.
    pub(crate) unsafe fn new(arena: Arc<Arena>) -> Self {
        Self { arena }
    }

    /// An area of `capacity` bytes of memory with no other owner.
    #[cfg(test)]
    pub(crate) fn in_memory(capacity: u64, len: u64) -> Self {
        use crate::storage::{MemoryStorage, Storage};

        let data = MemoryStorage::new(capacity).and_then(|storage| storage.data()).expect("memory can be had");
        // SAFETY: the area is empty and has no other owner.
        unsafe { data.set_len(len) }.expect("the length is within the capacity");
        // SAFETY: the area has no other owner, and tests look at nodes only while they change none.
        unsafe { Self::new(Arc::new(Arena::new(data))) }
    }

    /// Makes the file at least `len` bytes long. [`Arena::set_len`] sets how much of it belongs to the area.
    pub(crate) fn grow_file(&mut self, len: u64) -> Result<()> {
        let data = self.arena.data();
        if len <= data.len() {
            return Ok(());
        }
        // SAFETY: only the one writer, which this borrows exclusively, changes the length, and the length does not
        // shrink.
        unsafe { data.set_len(len) }
    }

    /// Truncates the file to `len` bytes. The area must not be longer than that.
    pub(crate) fn shorten_file(&mut self, len: u64) -> Result<()> {
        if len < self.arena.len() {
            return Err(Error::internal("the file was truncated within the data area"));
        }
        // SAFETY: as above. The creator of this guarantees that no valid commit reaches bytes beyond the area's end.
        unsafe { self.arena.data().set_len(len) }
    }

    pub(crate) fn shared(&self) -> &Arc<Arena> {
        &self.arena
    }

    #[inline]
    pub(crate) fn node(&self, reference: u64) -> Result<Node<'_>> {
        self.arena.node(reference)
    }

    /// The body of a node of generation `since` or later, which only this writer can reach.
    #[inline]
    pub(crate) fn own(&mut self, reference: u64, since: Generation) -> Result<&mut [u8]> {
        let node = self.arena.node(reference)?;
        if node::generation(node.head) < since {
            return Err(Error::corrupt_at(reference * UNIT, "a node of an earlier commit would be changed"));
        }
        let len = node.body.len();
        // SAFETY: the node was found within the area. No commit of another reader has nodes of this generation, as the
        // creator of this guarantees.
        Ok(unsafe { self.body_mut(reference, len) })
    }

    /// Returns a node to copy from, and the body of a new node in free space to copy it to, with its head written.
    pub(crate) fn copy_to(
        &mut self,
        from: u64,
        to: Extent,
        kind: Kind,
        generation: Generation,
    ) -> Result<(Node<'_>, &mut [u8])> {
        let source = self.arena.node(from)?.body.len() + CHECKSUM_LEN;
        if from < to.end() && to.start < from + source as u64 / UNIT {
            return Err(Error::corrupt_at(from * UNIT, "a node lies where free space was"));
        }
        let body: *mut [u8] = self.fresh(to, kind, generation)?;
        // SAFETY: the two extents do not overlap, as was just checked, and `to` belongs to this writer alone.
        let body = unsafe { &mut *body };
        Ok((self.arena.node(from)?, body))
    }

    /// Copies a node into free space.
    pub(crate) fn copy_whole(&mut self, from: Extent, to: u64, kind: Kind, generation: Generation) -> Result<()> {
        let (node, body) = self.copy_to(from.start, Extent { start: to, ..from }, kind, generation)?;
        let source = node.body.get(COMMON..body.len()).ok_or_else(|| outside(from.start))?;
        body[COMMON..].copy_from_slice(source);
        Ok(())
    }

    /// Returns the body of a new node in free space, with its head written.
    pub(crate) fn fresh(&mut self, extent: Extent, kind: Kind, generation: Generation) -> Result<&mut [u8]> {
        self.within(extent)?;
        // SAFETY: the extent is within the area, as was just checked.
        unsafe { self.arena.checksum_cell(extent.start) }.store(0, Ordering::Relaxed);
        // SAFETY: the same. It is free space, as the creator of this guarantees.
        let body = unsafe { self.body_mut(extent.start, extent.units as usize * UNIT as usize - CHECKSUM_LEN) };
        node::write_head(body, kind, extent.units, generation);
        Ok(body)
    }

    #[cfg(any(feature = "poison", debug_assertions))]
    /// Overwrites space that has become free, so that a stale reference to it finds no node.
    pub(crate) fn poison(&mut self, extent: Extent) -> Result<()> {
        self.within(extent)?;
        // SAFETY: the extent is within the area, as was just checked, and free space, as the creator of this guarantees.
        unsafe { self.body_mut(extent.start, extent.units as usize * UNIT as usize - CHECKSUM_LEN) }.fill(0xDB);
        Ok(())
    }

    fn within(&self, extent: Extent) -> Result<()> {
        if extent.start < FIRST_UNIT || extent.units == 0 || !self.arena.has(extent.end() * UNIT) {
            return Err(outside(extent.start));
        }
        Ok(())
    }

    /// The `len` bytes of a node's body.
    ///
    /// # Safety
    ///
    /// They are within the area, and nothing reaches the node except what is borrowed from `self`.
    #[inline]
    unsafe fn body_mut(&mut self, reference: u64, len: usize) -> &mut [u8] {
        // SAFETY: the caller guarantees that the node lies within the area.
        let first = unsafe { self.arena.base.add((reference * UNIT) as usize + CHECKSUM_LEN) };
        // SAFETY: so do the bytes up to `len`, and no reader reaches them; `&mut self` excludes the writer's other borrows.
        unsafe { std::slice::from_raw_parts_mut(first.as_ptr(), len) }
    }
}
