//! A call on a file of a watched folder, before and after it is made.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use super::states::{FileId, FileStates};
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
    Folder(Mutex<usize>),
    Name { name: String, new: Option<String> },
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
            On::Folder(changes) => *lock(changes) = state.names.begin_sync(),
            _ => {}
        }
        Ok(())
    }

    /// Called after the call.
    pub(super) fn end(&self, created: Option<libc::c_int>) {
        let mut state = self.disk.lock();
        match &self.on {
            On::File { id, fd, range } => self.end_on_file(&mut state, *id, *fd, range.clone()),
            On::Folder(changes) => {
                state.names.end_sync(*lock(changes));
                let kept = state.names.files();
                state.files.retain(|id, _| kept.contains(id));
            }
            On::Name { name, new } => {
                let named = state.names.now().get(name).copied();
                match (self.call, created) {
                    (Call::Create, Some(fd)) if named.is_none() => {
                        let id = calls::identity(fd).map(|identity| state.add(identity));
                        if let Some(id) = id {
                            state.files.insert(id, FileStates::default());
                        }
                        state.names.set(name.clone(), id);
                    }
                    (Call::Create, _) => {}
                    _ => state.names.set(name.clone(), None),
                }
                if let Some(new) = new {
                    state.names.set(new.clone(), named);
                }
            }
        }
        state.moment(&self.disk, &format!("after {:?}", self.call));
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
        if disk.identity == identity {
            return Some(Touch::new(disk, Call::SyncFolder, On::Folder(Mutex::default())));
        }
        let id = disk.lock().ids.get(&identity).copied()?;
        Some(Touch::new(disk, call, On::File { id, fd: Some(fd), range: None }))
    })
}

pub(super) fn touch_path(call: Call, path: &Path, new: Option<&Path>) -> Option<Touch> {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let disks = lock(&DISKS).clone();
    let disk = disks.iter().find(|disk| path.parent() == Some(&disk.folder))?;
    let name_of = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    // An existing file is opened, not created.
    if call == Call::Create && disk.lock().names.now().contains_key(&name_of(path)?) {
        return None;
    }
    Some(Touch::new(disk, call, On::Name { name: name_of(path)?, new: new.and_then(name_of) }))
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
    let disk = disks.iter().find(|disk| path.parent() == Some(&disk.folder))?;
    let id = disk.lock().names.now().get(path.file_name()?.to_str()?).copied()?;
    let from = address - start + offset;
    Some(Touch::new(disk, Call::Sync, On::File { id, fd: None, range: Some(from..from + len) }))
}
