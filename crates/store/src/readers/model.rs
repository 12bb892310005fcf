#![expect(unsafe_code, reason = "nodes are cells that the protocol under test protects")]
//! Checks the protocol in every order of steps, and with every store that a load may see: `just loom`.
//!
//! Nodes are cells. Loom fails if one is read while it is written, or if nothing orders the two. A freed node is
//! overwritten, so a reader that reaches it too late reads something else than its root.

use std::sync::atomic::Ordering;

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, fence};
use loom::thread;

use super::protocol::{Header, Slot, Table, Word};

/// A word of the protocol as it is, or without its fences, or without the order between its stores and earlier
/// operations.
#[derive(Debug, Default)]
struct ModelWord<const FENCES: bool, const ORDER: bool>(AtomicU64);

type Right = ModelWord<true, true>;
type WithoutFences = ModelWord<false, true>;
type WithoutOrder = ModelWord<true, false>;

impl<const FENCES: bool, const ORDER: bool> Word for ModelWord<FENCES, ORDER> {
    fn load(&self, order: Ordering) -> u64 {
        self.0.load(order)
    }

    fn store(&self, value: u64, order: Ordering) {
        self.0.store(value, if ORDER { order } else { Ordering::Relaxed });
    }

    fn compare_exchange(&self, current: u64, new: u64, success: Ordering, failure: Ordering) -> Result<u64, u64> {
        self.0.compare_exchange(current, new, success, failure)
    }

    fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_add(value, order)
    }

    fn fetch_max(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_max(value, order)
    }

    fn fence() {
        if FENCES {
            fence(Ordering::SeqCst);
        }
    }
}

/// The value in a freed node.
const FREED: u64 = u64::MAX;

const WRITER: u64 = 1 << 10;
const DEAD: u64 = 2 << 10 | 1;

/// The memory of a store whose roots are nodes without children: root `n << 8 | i` is node `i`, which holds that
/// number.
struct Store<W> {
    header: Header<W>,
    slots: Vec<Slot<W>>,
    nodes: Vec<UnsafeCell<u64>>,
}

// SAFETY: a cell is accessed by readers that have pinned its root, and by the writer if no reader has; loom fails if
// that is violated.
unsafe impl<W: Sync> Sync for Store<W> {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl<W: Send> Send for Store<W> {}

impl<W: Word + Default> Store<W> {
    fn new(slots: usize, nodes: usize) -> Self {
        Self {
            header: Header::default(),
            slots: (0..slots).map(|_| Slot::default()).collect(),
            nodes: (0..nodes).map(|_| UnsafeCell::new(FREED)).collect(),
        }
    }

    fn table(&self) -> Table<'_, W> {
        Table::new(&self.header, &self.slots)
    }

    fn write(&self, root: u64, value: u64) {
        self.nodes[(root & 0xFF) as usize].with_mut(|node| {
            // SAFETY: loom has checked that no other thread accesses the node.
            unsafe { *node = value }
        });
    }

    /// Pins the current root, reads it, and releases it.
    fn read(&self, slot: usize) {
        let root = self.table().pin(slot);
        let found = self.nodes[(root & 0xFF) as usize].with(|node| {
            // SAFETY: loom has checked that no thread writes the node.
            unsafe { *node }
        });
        assert_eq!(found, root, "a reader got a node that was freed");
        self.table().unpin(slot);
    }

    /// Reads in a slot that is claimed first and released after, if one is free.
    fn read_in_any(&self, owner: u64) {
        let table = self.table();
        if let Some(slot) = table.claim(owner) {
            self.read(slot);
            table.release(slot);
        }
    }
}

/// The one thread that publishes.
struct Writer {
    /// Roots whose nodes are not free, the current one last.
    live: Vec<u64>,
    free: Vec<u64>,
    published: u64,
}

impl Writer {
    fn new(nodes: u64) -> Self {
        Self { live: Vec::new(), free: (0..nodes).rev().collect(), published: 0 }
    }

    /// Publishes a new root, and frees the nodes that no reader needs from then on.
    fn commit<W: Word + Default>(&mut self, store: &Store<W>) {
        let Some(node) = self.free.pop() else { return };
        self.published += 1;
        let root = self.published << 8 | node;
        store.write(root, root);
        store.table().publish(root, self.published);
        self.live.push(root);
        let mut pinned = vec![root];
        store.table().each_pin(|_, _, value| pinned.push(value));
        let (kept, dead) = self.live.iter().partition(|root| pinned.contains(root));
        self.live = kept;
        for root in dead {
            store.write(root, FREED);
            self.free.push(root & 0xFF);
        }
    }
}

/// Runs the model in every order of steps with at most three preemptions, or `LOOM_MAX_PREEMPTIONS`.
fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(model);
}

/// Two readers in separate slots, and a writer that reuses nodes.
fn two_readers_and_a_writer<W: Word + Default + Send + Sync + 'static>(commits: usize) {
    let mut writer = Writer::new(3);
    let store = Arc::new(Store::<W>::new(2, 3));
    for owner in [1, 2] {
        assert!(store.table().claim(owner << 10).is_some());
    }
    writer.commit(&store);
    let readers: Vec<_> = (0..2)
        .map(|slot| {
            let store = Arc::clone(&store);
            thread::spawn(move || store.read(slot))
        })
        .collect();
    for _ in 0..commits {
        writer.commit(&store);
    }
    readers.into_iter().for_each(|reader| reader.join().expect("readers stop the test themselves"));
}

#[test]
fn pinned_root_is_never_reused() {
    check(|| two_readers_and_a_writer::<Right>(2));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn model_without_fences_reuses_pinned_root() {
    check(|| two_readers_and_a_writer::<WithoutFences>(2));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn model_without_store_order_reuses_pinned_root() {
    check(|| two_readers_and_a_writer::<WithoutOrder>(2));
}

#[test]
fn slot_passes_from_one_reader_to_the_next() {
    check(|| {
        let mut writer = Writer::new(3);
        let store = Arc::new(Store::<Right>::new(2, 3));
        writer.commit(&store);
        let readers: Vec<_> = (2..4)
            .map(|owner| {
                let store = Arc::clone(&store);
                thread::spawn(move || store.read_in_any(owner << 10))
            })
            .collect();
        writer.commit(&store);
        readers.into_iter().for_each(|reader| reader.join().expect("readers stop the test themselves"));
        // All readers are gone: one root is left.
        writer.commit(&store);
        assert_eq!(writer.live.len(), 1);
    });
}

#[test]
fn dead_pin_is_cleared_once_and_live_pin_never() {
    check(|| {
        let mut writer = Writer::new(3);
        let store = Arc::new(Store::<Right>::new(1, 3));
        writer.commit(&store);
        let slot = store.table().claim(DEAD).expect("the slot is free");
        assert_eq!(store.table().pin(slot), writer.live[0]);
        writer.commit(&store);
        assert_eq!(writer.live.len(), 2);
        // The next process with the same number clears the slot and reads in it, while the writer clears it too.
        let heir = {
            let store = Arc::clone(&store);
            thread::spawn(move || {
                store.table().take_over(slot, DEAD, 3 << 10 | 1);
                store.read_in_any(3 << 10 | 1);
            })
        };
        let mut found = Vec::new();
        store.table().each_pin(|slot, owner, _| found.push((slot, owner)));
        for (slot, owner) in found {
            if owner == DEAD {
                store.table().take_over(slot, owner, WRITER);
            }
        }
        writer.commit(&store);
        writer.commit(&store);
        heir.join().expect("readers stop the test themselves");
        writer.commit(&store);
        assert_eq!(writer.live.len(), 1);
    });
}

/// A reader that waits for the next root, and a writer that publishes it.
fn waiting_reader_and_a_writer<W: Word + Default + Send + Sync + 'static>() {
    let mut writer = Writer::new(3);
    let store = Arc::new(Store::<W>::new(1, 3));
    writer.commit(&store);
    let first = writer.live[0];
    let reader = {
        let store = Arc::clone(&store);
        thread::spawn(move || store.table().watch(first))
    };
    writer.commit(&store);
    let wakes = store.table().take_watch();
    let sleeps = reader.join().expect("the reader does not fail");
    assert!(wakes || !sleeps, "the reader sleeps and is not woken");
}

#[test]
fn waiting_reader_is_woken() {
    check(waiting_reader_and_a_writer::<Right>);
}

#[test]
#[should_panic(expected = "the reader sleeps and is not woken")]
fn model_without_fences_lets_reader_sleep() {
    check(waiting_reader_and_a_writer::<WithoutFences>);
}
