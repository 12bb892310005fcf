//! A disk that loses power, and fails on demand, below the real files of a folder.
//!
//! The functions of the C library that change files are this program's own ([`calls`]), so the table, the store and the
//! writer of Parquet files are unaware of it. For each file, and for the names in each folder, it tracks the state at
//! the last sync and the states since ([`states`]). An image combines them into a state that a loss of power could
//! leave: sectors old or new in any order, files short or full of zeros, names present or absent. Only syncing a file
//! makes it durable, and only syncing its folder makes a name durable, also the name of a folder. Writes to a mapping
//! are noticed at the next call.

mod calls;
mod states;
mod touch;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fastrand::Rng;

use self::states::{FileId, FileStates, NameStates};

/// The files that are written through a mapping.
const MAPPED: [&str; 4] = ["_table.lath", "_table.lath-lock", "table.lath", "table.lath-lock"];

const PAGE_BYTES: usize = 4096;
const ZEROS: [u8; PAGE_BYTES] = [0; PAGE_BYTES];

/// A folder in memory, if the system has a shared one.
pub(crate) fn fast_folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

/// A kind of call to the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Call {
    Create,
    Write,
    /// Includes reserving space.
    SetLen,
    Sync,
    SyncFolder,
    Rename,
    Remove,
    CreateFolder,
    RemoveFolder,
    Link,
}

/// A possible state of a folder after a loss of power.
#[derive(Debug, Clone)]
pub(crate) struct Image {
    /// By path below the folder.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// The folders below it, each after the folder that has it.
    pub(crate) folders: Vec<String>,
    pub(crate) what: String,
}

/// A folder whose files, also in folders below it, are watched until this is dropped.
pub(crate) struct Disk(Arc<Inner>);

struct Inner {
    folder: PathBuf,
    keeps_states: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The names in each folder.
    names: BTreeMap<FileId, NameStates>,
    /// The folders that are there now, by path.
    folders: HashMap<PathBuf, FileId>,
    files: HashMap<FileId, FileStates>,
    /// By device and inode number.
    ids: HashMap<(u64, u64), FileId>,
    next: FileId,
    /// One in this many moments becomes an image; none if 0.
    rarity: u32,
    random: Rng,
    images: Vec<Image>,
    calls: BTreeMap<Call, usize>,
    fault: Option<Fault>,
    failed: Vec<Call>,
}

/// The call that fails, and its error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    /// The number of calls that succeed before.
    pub(crate) after: usize,
    /// The system's error number. With `ENOSPC` only calls that need space fail.
    pub(crate) code: i32,
    /// Whether all later calls fail too.
    pub(crate) permanently: bool,
}

static COUNT: AtomicUsize = AtomicUsize::new(0);
static DISKS: Mutex<Vec<Arc<Inner>>> = Mutex::new(Vec::new());

impl Disk {
    /// Watches a folder, whose files count as synced.
    pub(crate) fn watch(folder: &Path) -> Self {
        Self::begin(folder, true)
    }

    /// Watches a folder for faults only, without images.
    pub(crate) fn watch_calls(folder: &Path) -> Self {
        Self::begin(folder, false)
    }

    fn begin(folder: &Path, keeps_states: bool) -> Self {
        let folder = folder.canonicalize().unwrap();
        let mut state = State::default();
        state.add_folder(&folder, keeps_states);
        let inner = Arc::new(Inner { folder, keeps_states, state: Mutex::new(state) });
        lock(&DISKS).push(Arc::clone(&inner));
        COUNT.fetch_add(1, Ordering::SeqCst);
        Self(inner)
    }

    /// Takes an image at one in `rarity` moments before and after calls.
    pub(crate) fn take_images(&self, rarity: u32, seed: u64) {
        let mut state = self.0.lock();
        (state.rarity, state.random) = (rarity, Rng::with_seed(seed));
    }

    /// The images since the last call, and one of the current state.
    pub(crate) fn images(&self) -> Vec<Image> {
        let mut state = self.0.lock();
        state.moment(&self.0, "the end of an operation");
        std::mem::take(&mut state.images)
    }

    /// Makes a call fail.
    pub(crate) fn fail(&self, fault: Fault) {
        let mut state = self.0.lock();
        state.fault = Some(fault);
        state.failed.clear();
    }

    /// Ends the fault, and returns the calls that failed.
    pub(crate) fn mend(&self) -> Vec<Call> {
        let mut state = self.0.lock();
        state.fault = None;
        std::mem::take(&mut state.failed)
    }

    /// The number of calls of each kind.
    pub(crate) fn calls(&self) -> BTreeMap<Call, usize> {
        self.0.lock().calls.clone()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Ordering::SeqCst);
        lock(&DISKS).retain(|disk| !Arc::ptr_eq(disk, &self.0));
    }
}

impl Image {
    /// Creates a folder with the files.
    pub(crate) fn write(&self, folder: &Path) {
        fs::create_dir(folder).unwrap();
        for name in &self.folders {
            fs::create_dir(folder.join(name)).unwrap();
        }
        for (name, bytes) in &self.files {
            let file = fs::File::create(folder.join(name)).unwrap();
            let zeros = bytes.rchunks(PAGE_BYTES).take_while(|page| **page == ZEROS[..page.len()]).map(<[u8]>::len);
            let used = bytes.len() - zeros.sum::<usize>();
            std::os::unix::fs::FileExt::write_all_at(&file, &bytes[..used], 0).unwrap();
            file.set_len(bytes.len() as u64).unwrap();
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    fn add(&mut self, identity: (u64, u64)) -> FileId {
        self.next += 1;
        self.ids.insert(identity, self.next);
        self.next
    }

    /// Adds a folder, and all that is in it, as synced.
    fn add_folder(&mut self, folder: &Path, keeps_states: bool) -> FileId {
        use std::os::unix::fs::MetadataExt;

        let identity = |metadata: &fs::Metadata| (metadata.dev(), metadata.ino());
        let id = self.add(identity(&fs::metadata(folder).unwrap()));
        let mut names = BTreeMap::new();
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let metadata = entry.metadata().unwrap();
            let inner = if metadata.is_dir() {
                self.add_folder(&entry.path(), keeps_states)
            } else {
                let inner = self.add(identity(&metadata));
                if keeps_states {
                    self.files.insert(inner, FileStates::durable(fs::read(entry.path()).unwrap()));
                }
                inner
            };
            names.insert(entry.file_name().into_string().unwrap(), inner);
        }
        self.names.insert(id, NameStates::durable(names));
        self.folders.insert(folder.to_owned(), id);
        id
    }

    /// The file with a name in a folder now.
    fn named(&self, folder: FileId, name: &str) -> Option<FileId> {
        self.names.get(&folder)?.now().get(name).copied()
    }

    fn set_name(&mut self, folder: FileId, name: &str, file: Option<FileId>) {
        self.names.entry(folder).or_default().set(name.to_owned(), file);
    }

    /// A possible state of a folder and of all below it after a loss of power.
    fn crash(
        &self,
        folder: FileId,
        path: &str,
        random: &mut Rng,
        image: &mut Image,
        bytes: &mut HashMap<FileId, Vec<u8>>,
    ) {
        let Some(names) = self.names.get(&folder) else { return };
        for (name, id) in names.crash(random) {
            let path = format!("{path}{name}");
            if self.names.contains_key(&id) {
                image.folders.push(path.clone());
                self.crash(id, &format!("{path}/"), random, image, bytes);
            } else {
                // A file with two names has the same bytes by both.
                let bytes = bytes.entry(id).or_insert_with(|| self.files[&id].crash(random)).clone();
                image.files.insert(path, bytes);
            }
        }
    }

    /// Records the current state of the mapped files.
    fn sample(&mut self, disk: &Inner) {
        let Some(root) = self.folders.get(&disk.folder) else { return };
        let names = self.names[root].now();
        for name in MAPPED {
            if let Some(id) = names.get(name)
                && let Some(file) = self.files.get_mut(id)
                && let Ok(bytes) = fs::read(disk.folder.join(name))
            {
                file.change(bytes);
            }
        }
    }

    /// Takes an image at some moments.
    fn moment(&mut self, disk: &Inner, what: &str) {
        if self.rarity == 0 || self.random.u32(..self.rarity) != 0 {
            return;
        }
        self.sample(disk);
        let mut random = self.random.fork();
        let mut image = Image { files: BTreeMap::new(), folders: Vec::new(), what: what.to_owned() };
        if let Some(&root) = self.folders.get(&disk.folder) {
            self.crash(root, "", &mut random, &mut image, &mut HashMap::new());
        }
        self.images.push(image);
    }

    /// The error that the next call must return.
    fn fault(&mut self, call: Call) -> Option<i32> {
        *self.calls.entry(call).or_default() += 1;
        let fault = self.fault.as_mut()?;
        let needs_space =
            matches!(call, Call::Create | Call::Write | Call::SetLen | Call::Rename | Call::CreateFolder | Call::Link);
        if fault.code == libc::ENOSPC && !needs_space {
            return None;
        }
        if fault.after > 0 {
            fault.after -= 1;
            return None;
        }
        let code = fault.code;
        if !fault.permanently {
            self.fault = None;
        }
        self.failed.push(call);
        Some(code)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
