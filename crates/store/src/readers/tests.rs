use std::collections::BTreeSet;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use lath_testkit::Seeded;

use super::protocol::SLOTS_AT;
use super::{Readers, SCANS_BETWEEN_QUESTIONS, SHARED_LEN, SLOTS, lock};
use crate::error::{Error, Result};
use crate::storage::{MemoryStorage, SharedMemory, Storage};

/// A machine whose processes can be killed: their numbers become free, and their writes stay.
#[derive(Debug, Clone)]
struct Machine {
    storage: MemoryStorage,
    len: usize,
    killed: Arc<Mutex<BTreeSet<u32>>>,
    questions: Arc<AtomicUsize>,
}

impl Machine {
    fn new(slots: usize) -> Self {
        let storage = MemoryStorage::new(1 << 20).unwrap();
        Self { storage, len: SLOTS_AT + slots * 64, killed: Arc::default(), questions: Arc::default() }
    }

    /// Starts a process.
    fn start(&self) -> Arc<Readers> {
        let shared = self.storage.shared(self.len).unwrap();
        Arc::new(Readers::new(Arc::new(Process { shared, machine: self.clone() })).unwrap())
    }

    /// Ends a process without cleanup.
    fn kill(&self, readers: Arc<Readers>) {
        lock(&self.killed).insert(process(&readers));
        std::mem::forget(readers);
    }
}

fn process(readers: &Readers) -> u32 {
    super::process_number(readers.part.owner)
}

#[derive(Debug)]
struct Process {
    shared: Arc<dyn SharedMemory>,
    machine: Machine,
}

// SAFETY: the same as the memory that this forwards to; a process counts as dead only once the test has forgotten it.
#[expect(unsafe_code, reason = "implements a storage trait")]
unsafe impl SharedMemory for Process {
    fn base(&self) -> NonNull<u8> {
        self.shared.base()
    }

    fn len(&self) -> usize {
        self.shared.len()
    }

    fn try_lock_writer(&self) -> Result<bool> {
        self.shared.try_lock_writer()
    }

    fn unlock_writer(&self) -> Result<()> {
        self.shared.unlock_writer()
    }

    fn try_lock_next(&self) -> Result<bool> {
        self.shared.try_lock_next()
    }

    fn unlock_next(&self) -> Result<()> {
        self.shared.unlock_next()
    }

    fn write_state(&self, bytes: &[u8]) -> Result<()> {
        self.shared.write_state(bytes)
    }

    fn read_state(&self) -> Result<Vec<u8>> {
        self.shared.read_state()
    }

    fn lock_process(&self, process: u32) -> Result<bool> {
        Ok(lock(&self.machine.killed).remove(&process) || self.shared.lock_process(process)?)
    }

    fn is_process_alive(&self, process: u32) -> Result<bool> {
        self.machine.questions.fetch_add(1, Ordering::Relaxed);
        Ok(!lock(&self.machine.killed).contains(&process) && self.shared.is_process_alive(process)?)
    }
}

/// The pinned roots, in slot order. The current root, which is listed once more, comes first.
fn pinned(readers: &Readers) -> Vec<u64> {
    let mut out = vec![u64::MAX; 3];
    readers.pinned(&mut out);
    let current = readers.current().map(|_| out.remove(0));
    assert_eq!(current, readers.current());
    out.sort_unstable();
    out
}

fn root_value(reference: u64, sequence: u64) -> u64 {
    reference | sequence << 40
}

fn node_index(value: u64) -> u64 {
    value & ((1 << 40) - 1)
}

#[test]
fn nothing_can_be_pinned_before_first_publication() {
    let machine = Machine::new(4);
    let readers = machine.start();
    assert_eq!(readers.current(), None);
    assert!(matches!(readers.pin(), Err(Error::Internal(_))));
    assert!(pinned(&readers).is_empty());
    readers.publish(root_value(128, 1), 9000);
    assert_eq!((readers.current(), readers.data_len()), (Some(root_value(128, 1)), 9000));
    assert_eq!(readers.pin().unwrap().value(), root_value(128, 1));
}

/// The system numbers of the processes that have pins.
fn owners(readers: &Readers) -> Vec<u32> {
    let (table, mut owners) = (readers.table(), Vec::new());
    table.each_pin(|slot, _, _| owners.push(table.system_id(slot)));
    owners
}

#[test]
fn pins_are_listed_while_they_live() {
    let machine = Machine::new(8);
    let (writer, reader) = (machine.start(), machine.start());
    writer.publish(1, 100);
    let (first, second) = (reader.pin().unwrap(), writer.pin().unwrap());
    writer.publish(2, 200);
    assert_eq!((reader.current(), reader.data_len()), (Some(2), 200));
    let third = reader.pin().unwrap();
    assert_eq!([first.value(), second.value(), third.value()], [1, 1, 2]);
    assert_eq!(pinned(&writer), [1, 1, 2]);
    drop(first);
    assert_eq!(pinned(&writer), [1, 2]);
    // A pin may be dropped in any thread.
    std::thread::spawn(move || drop(second)).join().unwrap();
    assert_eq!(pinned(&writer), [2]);
    assert_eq!(owners(&reader), [std::process::id()]);
    drop(third);
    assert!(pinned(&writer).is_empty());
}

#[test]
fn pins_are_limited_by_slots() {
    let machine = Machine::new(5);
    let (a, b) = (machine.start(), machine.start());
    a.publish(7, 0);
    let mut pins: Vec<_> = (0..3).map(|_| a.pin().unwrap()).collect();
    pins.extend((0..2).map(|_| b.pin().unwrap()));
    for readers in [&a, &b] {
        assert!(matches!(readers.pin(), Err(Error::Limit { limit: 5, .. })));
    }
    pins.remove(0);
    assert!(matches!(b.pin(), Err(Error::Limit { .. })), "the slot is kept by the other process");
    pins.push(a.pin().unwrap());
    assert_eq!(pinned(&b), [7; 5]);
    drop(pins);
    drop(a);
    let pins: Vec<_> = (0..5).map(|_| b.pin().expect("a process that ends in order leaves nothing")).collect();
    assert_eq!(pinned(&b), [7; 5]);
    drop(pins);
}

#[test]
fn slots_are_used_again() {
    let machine = Machine::new(64);
    let readers = machine.start();
    readers.publish(1, 0);
    for _ in 0..1000 {
        let _pins = [readers.pin().unwrap(), readers.pin().unwrap(), readers.pin().unwrap()];
    }
    // Other threads reuse the same slots.
    for _ in 0..100 {
        let readers = Arc::clone(&readers);
        std::thread::spawn(move || drop([readers.pin().unwrap(), readers.pin().unwrap()])).join().unwrap();
    }
    let claimed = lock(&readers.part.owned).len();
    assert!(claimed <= 3, "{claimed} slots");
}

#[test]
fn pins_of_killed_process_are_released_once_observed() {
    let machine = Machine::new(16);
    let (writer, victim, other) = (machine.start(), machine.start(), machine.start());
    writer.publish(1, 0);
    std::mem::forget([victim.pin().unwrap(), victim.pin().unwrap()]);
    let kept = other.pin().unwrap();
    machine.kill(victim);
    writer.publish(2, 0);
    for _ in 0..2 * SCANS_BETWEEN_QUESTIONS - 1 {
        assert_eq!(pinned(&writer), [1, 1, 1]);
        assert_eq!(machine.questions.load(Ordering::Relaxed), 0, "nobody asks the system in every commit");
    }
    assert_eq!(pinned(&writer), [1], "a living process keeps its pin");
    assert_eq!(machine.questions.load(Ordering::Relaxed), 2, "once for each process");
    assert_eq!(pinned(&writer), [1]);
    drop(kept);
    assert!(pinned(&writer).is_empty());
}

#[test]
fn dead_pins_are_released_at_once_on_request() {
    let machine = Machine::new(16);
    let (writer, victim) = (machine.start(), machine.start());
    writer.publish(1, 0);
    let own = writer.pin().unwrap();
    // A slot that pins nothing counts too.
    drop(victim.pin().unwrap());
    std::mem::forget([victim.pin().unwrap(), victim.pin().unwrap()]);
    machine.kill(victim);
    assert_eq!(writer.release_dead().unwrap(), 2);
    assert_eq!(writer.release_dead().unwrap(), 0);
    assert_eq!(pinned(&writer), [1]);
    drop(own);
}

#[test]
fn full_table_drops_dead_readers_before_refusing_one() {
    let machine = Machine::new(4);
    let (writer, victim) = (machine.start(), machine.start());
    writer.publish(1, 0);
    (0..4).for_each(|_| std::mem::forget(victim.pin().unwrap()));
    assert!(matches!(writer.pin(), Err(Error::Limit { .. })));
    machine.kill(victim);
    assert_eq!(writer.pin().unwrap().value(), 1);
}

#[test]
fn new_owner_of_killed_process_number_clears_its_slots() {
    let machine = Machine::new(16);
    let (writer, victim) = (machine.start(), machine.start());
    writer.publish(1, 0);
    std::mem::forget([victim.pin().unwrap(), victim.pin().unwrap()]);
    let number = process(&victim);
    machine.kill(victim);
    let heir = machine.start();
    assert_eq!(process(&heir), number);
    assert!(pinned(&writer).is_empty());
    let pin = heir.pin().unwrap();
    // A number that is alive again says nothing about the incarnation before, and vice versa.
    assert_eq!(writer.release_dead().unwrap(), 0);
    assert_eq!(pinned(&writer), [1]);
    drop(pin);
}

#[test]
fn small_memory_or_memory_of_another_version_is_refused() {
    let storage = MemoryStorage::new(1 << 20).unwrap();
    let small = storage.shared(SLOTS_AT + 63).unwrap();
    assert!(matches!(Readers::new(small), Err(Error::Invalid(_))));
    let machine = Machine::new(4);
    let shared = machine.storage.shared(machine.len).unwrap();
    {
        let memory = super::memory::Memory::new(Arc::clone(&shared)).unwrap();
        assert!(memory.table().is_ours() && memory.table().is_ours());
    }
    let other = MemoryStorage::new(1 << 20).unwrap().shared(machine.len).unwrap();
    write_magic(&*other, 0x0102_0304_0506_0708);
    assert!(matches!(Readers::new(other), Err(Error::Invalid(_))));
}

#[expect(unsafe_code, reason = "writes to memory that nobody else has")]
fn write_magic(shared: &dyn SharedMemory, magic: u64) {
    // SAFETY: the memory is longer and aligned, and no other thread or process accesses it.
    unsafe { shared.base().cast::<u64>().write(magic) }
}

#[test]
fn table_length_is_header_plus_slots() {
    assert_eq!(SHARED_LEN, 256 + SLOTS * 64);
}

/// The value in a freed node.
const FREED: u64 = u64::MAX;

/// Roots are nodes that hold their own value. The writer frees a root's node as soon as no reader pins it, and uses it
/// again; readers of two processes must only ever see the root that they pinned.
#[test]
fn readers_never_see_a_freed_node() {
    let machine = Machine::new(64);
    let writer = machine.start();
    let nodes: Arc<Vec<AtomicU64>> = Arc::new((0..40).map(|_| AtomicU64::new(FREED)).collect());
    let is_over = Arc::new(AtomicBool::new(false));
    let pin_counts: Arc<[AtomicU64; 6]> = Arc::default();
    nodes[1].store(root_value(1, 0), Ordering::Relaxed);
    writer.publish(root_value(1, 0), 0);
    let threads: Vec<_> = (0..6)
        .map(|thread| {
            let readers = if thread % 2 == 0 { Arc::clone(&writer) } else { machine.start() };
            let (nodes, is_over, pin_counts) = (Arc::clone(&nodes), Arc::clone(&is_over), Arc::clone(&pin_counts));
            std::thread::spawn(move || {
                let mut random = Seeded::new(format!("readers never see a freed node, reader {thread}"));
                let mut pins = Vec::new();
                while !is_over.load(Ordering::Relaxed) {
                    let pin = readers.pin().unwrap();
                    let node = &nodes[node_index(pin.value()) as usize];
                    for _ in 0..random.usize(..20) {
                        assert_eq!(node.load(Ordering::Relaxed), pin.value());
                    }
                    // Some pins live long.
                    if random.u8(..) == 0 && pins.len() < 3 {
                        pins.push(pin);
                    } else if random.u8(..) == 0 {
                        pins.clear();
                    }
                    for pin in &pins {
                        assert_eq!(nodes[node_index(pin.value()) as usize].load(Ordering::Relaxed), pin.value());
                    }
                    pin_counts[thread].fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let mut live = vec![root_value(1, 0)];
    let mut free: Vec<u64> = (2..40).collect();
    let mut out = Vec::new();
    // Every thread gets its iterations however the system schedules; a thread that fails ends at once.
    let has_turns_left = || pin_counts.iter().any(|count| count.load(Ordering::Relaxed) < 2000);
    for sequence in 1.. {
        let is_enough = sequence > 30_000 && !has_turns_left();
        if is_enough || threads.iter().any(std::thread::JoinHandle::is_finished) {
            break;
        }
        let reference = free.pop().expect("there are more nodes than pins");
        let value = root_value(reference, sequence);
        nodes[reference as usize].store(value, Ordering::Relaxed);
        writer.publish(value, 0);
        live.push(value);
        writer.pinned(&mut out);
        live.retain(|&root| {
            let is_needed = root == value || out.contains(&root);
            if !is_needed {
                nodes[node_index(root) as usize].store(FREED, Ordering::Relaxed);
                free.insert(0, node_index(root));
            }
            is_needed
        });
    }
    is_over.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(!has_turns_left());
}

/// A child pins a root in the file's memory, and is killed.
#[cfg(unix)]
#[test]
fn killed_reader_process_releases_its_pins() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    use crate::storage::FileStorage;

    const NAME: &str = "readers::tests::killed_reader_process_releases_its_pins";
    let open = |path: &std::path::Path| {
        let storage = FileStorage::new(path).unwrap();
        Readers::new(storage.shared(SHARED_LEN).unwrap()).unwrap()
    };
    if let Some(path) = std::env::var_os("LATH_PINNED_STORE") {
        let readers = open(path.as_ref());
        let pin = readers.pin().unwrap();
        println!("\npinned {}", pin.value());
        std::io::stdout().flush().unwrap();
        // Wait until the parent kills this process, or ends itself.
        std::io::stdin().read_line(&mut String::new()).unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let writer = open(&path);
    writer.publish(5, 0);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env("LATH_PINNED_STORE", &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(std::result::Result::ok).any(|line| line == "pinned 5"));
    writer.publish(6, 0);
    assert_eq!(pinned(&writer), [5]);
    assert_eq!(writer.release_dead().unwrap(), 0);
    assert_eq!(owners(&writer), [child.id()]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(pinned(&writer), [5]);
    assert_eq!(writer.release_dead().unwrap(), 1);
    assert!(pinned(&writer).is_empty());
}

#[test]
fn new_writer_waits_for_reader_taking_snapshot() {
    let machine = Machine::new(16);
    let (writer, reader) = (machine.start(), machine.start());
    writer.publish(7, 64);
    let pin = reader.pin().unwrap();
    assert!(writer.table().unsettled().is_none());
    // The state in which the reader has stored a root and not yet checked that it is still current.
    writer.table().unsettle(pin.slot as usize);
    assert!(writer.table().unsettled().is_some());
    let settles = std::thread::spawn({
        let reader = Arc::clone(&reader);
        move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            drop(pin);
            drop(reader);
        }
    });
    writer.take_over().unwrap();
    assert!(settles.is_finished() || writer.table().unsettled().is_none());
    settles.join().unwrap();
    let mut held = Vec::new();
    writer.pinned(&mut held);
    assert_eq!(held, [7]);
}
