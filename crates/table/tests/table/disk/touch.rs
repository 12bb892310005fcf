//! A call on a file of a watched folder, before and after it is made.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use super::states::{FileId, FileStates, NameStates};
use super::{COUNT, Call, DISKS, Inner, State, calls, lock};

/// A call on a file of a watched folder.
pub(super) struct Touch {
    disk: Arc<Inner>,
    call: Call,
    on: On,
    synced: Mutex<Option<Arc<Vec<u8>>>>,
}

enum On {
    File { id: FileId, fd: Option<libc::c_int>, range: Option<Range<usize>> },
    Folder { id: FileId, changes: Mutex<usize> },
    Name { path: PathBuf, from: Name, new: Option<Name> },
}

/// A name in a folder.
struct Name {
    folder: FileId,
    name: String,
}

impl Name {
    fn find(state: &State, path: &Path) -> Option<Self> {
        let folder = *state.folders.get(path.parent()?)?;
        Some(Self { folder, name: path.file_name()?.to_str()?.to_owned() })
    }
}

impl Touch {
    fn new(disk: &Arc<Inner>, call: Call, on: On) -> Self {
        Self { disk: Arc::clone(disk), call, on, synced: Mutex::default() }
    }

    pub(super) fn call(&self) -> Call {
        self.call
    }

    /// Returns the error that the call must have, if any.
    pub(super) fn begin(&self) -> Result<(), i32> {
        let mut state = self.disk.lock();
        state.moment(&self.disk, &format!("before {:?}", self.call));
        if let Some(code) = state.fault(self.call) {
            return Err(code);
        }
        match &self.on {
            On::File { id, .. } if self.call == Call::Sync && self.disk.keeps_states => {
                state.sample(&self.disk);
                *lock(&self.synced) = state.files.get(id).map(FileStates::begin_sync);
            }
            On::Folder { id, changes } => {
                *lock(changes) = state.names.get(id).map_or(0, NameStates::begin_sync);
            }
            _ => {}
        }
        Ok(())
    }

    /// Called after the call.
    pub(super) fn end(&self, created: Option<libc::c_int>) {
        let mut state = self.disk.lock();
        match &self.on {
            On::File { id, fd, range } => self.end_on_file(&mut state, *id, *fd, range.clone()),
            On::Folder { id, changes } => {
                if let Some(names) = state.names.get_mut(id) {
                    names.end_sync(*lock(changes));
                }
                let kept: BTreeSet<FileId> = state.names.values().flat_map(NameStates::files).collect();
                state.files.retain(|id, _| kept.contains(id));
            }
            On::Name { path, from, new } => self.end_on_name(&mut state, path, from, new.as_ref(), created),
        }
        state.moment(&self.disk, &format!("after {:?}", self.call));
    }

    fn end_on_name(
        &self,
        state: &mut State,
        path: &Path,
        from: &Name,
        new: Option<&Name>,
        created: Option<libc::c_int>,
    ) {
        let named = state.named(from.folder, &from.name);
        match (self.call, created) {
            (Call::Create, Some(fd)) if named.is_none() => {
                let id = calls::identity(fd).map(|identity| state.add(identity));
                if let Some(id) = id {
                    state.files.insert(id, FileStates::default());
                }
                state.set_name(from.folder, &from.name, id);
            }
            (Call::Create | Call::Link, _) => {}
            (Call::CreateFolder, _) => {
                let id = state.add_folder(path, self.disk.keeps_states);
                state.set_name(from.folder, &from.name, Some(id));
            }
            _ => {
                state.folders.remove(path);
                state.set_name(from.folder, &from.name, None);
            }
        }
        if let Some(new) = new {
            state.set_name(new.folder, &new.name, named);
        }
    }

    fn end_on_file(&self, state: &mut State, id: FileId, fd: Option<libc::c_int>, range: Option<Range<usize>>) {
        if !self.disk.keeps_states {
            return;
        }
        let Some(file) = state.files.get_mut(&id) else { return };
        match (self.call, fd) {
            (Call::Sync, _) => {
                if let Some(synced) = lock(&self.synced).take() {
                    file.end_sync(&synced, range);
                }
            }
            (_, Some(fd)) => file.change(fs::read(format!("/proc/self/fd/{fd}")).unwrap_or_default()),
            _ => {}
        }
    }

    /// Called if the call has failed by itself.
    pub(super) fn give_up(&self) {
        let mut state = self.disk.lock();
        state.moment(&self.disk, &format!("after {:?}, which failed", self.call));
    }
}

pub(super) fn touch_fd(call: Call, fd: libc::c_int) -> Option<Touch> {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let identity = calls::identity(fd)?;
    let disks = lock(&DISKS).clone();
    disks.iter().find_map(|disk| {
        let state = disk.lock();
        let id = state.ids.get(&identity).copied()?;
        if state.names.contains_key(&id) {
            return Some(Touch::new(disk, Call::SyncFolder, On::Folder { id, changes: Mutex::default() }));
        }
        drop(state);
        Some(Touch::new(disk, call, On::File { id, fd: Some(fd), range: None }))
    })
}

pub(super) fn touch_path(call: Call, path: &Path, new: Option<&Path>) -> Option<Touch> {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let disks = lock(&DISKS).clone();
    let disk = disks.iter().find(|disk| path.parent().is_some_and(|parent| parent.starts_with(&disk.folder)))?;
    let state = disk.lock();
    let from = Name::find(&state, path)?;
    // An existing file is opened, not created.
    if call == Call::Create && state.named(from.folder, &from.name).is_some() {
        return None;
    }
    let new = new.and_then(|new| Name::find(&state, new));
    drop(state);
    Some(Touch::new(disk, call, On::Name { path: path.to_owned(), from, new }))
}

/// A sync of a part of a mapping.
pub(super) fn touch_mapping(address: usize, len: usize) -> Option<Touch> {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let (start, offset, path) = maps.lines().find_map(|line| {
        let mut fields = line.split_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let parse = |text: &str| usize::from_str_radix(text, 16).ok();
        let (start, end) = (parse(start)?, parse(end)?);
        let offset = parse(fields.nth(1)?)?;
        (start <= address && address < end).then(|| (start, offset, fields.nth(2).unwrap_or_default().to_owned()))
    })?;
    let path = Path::new(&path);
    let disks = lock(&DISKS).clone();
    let disk = disks.iter().find(|disk| path.starts_with(&disk.folder))?;
    let state = disk.lock();
    let name = Name::find(&state, path)?;
    let id = state.named(name.folder, &name.name)?;
    drop(state);
    let from = address - start + offset;
    Some(Touch::new(disk, Call::Sync, On::File { id, fd: None, range: Some(from..from + len) }))
}
