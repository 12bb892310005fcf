//! The folder of a file: a new name in it is durable once the folder is synced too.

#[cfg(unix)]
use std::fs::File;
use std::io;
use std::path::Path;

/// An open folder. It is opened before anything in it changes, so that a folder that cannot be opened changes nothing.
#[derive(Debug)]
pub(super) struct Folder {
    #[cfg(unix)]
    file: File,
}

impl Folder {
    /// Opens the folder of `path`.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        Self::open(path.parent().unwrap_or(Path::new("")))
    }

    /// Opens a folder; the empty path is the current one.
    #[cfg(unix)]
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Ok(Self { file: File::open(path)? })
    }

    /// Folders cannot be opened.
    #[cfg(not(unix))]
    pub(super) fn open(_path: &Path) -> io::Result<Self> {
        Ok(Self {})
    }

    /// Syncs the names in the folder.
    pub(super) fn sync(&self) -> io::Result<()> {
        #[cfg(unix)]
        match self.file.sync_all() {
            // Some network file systems cannot sync folders, and offer no alternative.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {}
            synced => return synced,
        }
        Ok(())
    }

    /// Whether other hosts may have files of this folder open without their locks being visible here.
    #[cfg(target_os = "linux")]
    pub(super) fn may_be_remote(&self) -> bool {
        rustix::fs::fstatfs(&self.file).map_or(true, |found| REMOTE_FILE_SYSTEMS.contains(&(found.f_type as u32)))
    }

    /// Unknown.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn may_be_remote(&self) -> bool {
        true
    }

    #[cfg(all(test, unix))]
    pub(super) fn from_file(file: File) -> Self {
        Self { file }
    }
}

/// Ids of file systems that are shared with other hosts, or that another process implements. With most of them locks work across
/// hosts, but mount options can restrict them to one (for example NFS's `nolock`).
#[cfg(target_os = "linux")]
const REMOTE_FILE_SYSTEMS: [u32; 15] = [
    0x0000_6969, // NFS
    0xFF53_4D42, // CIFS
    0xFE53_4D42, // SMB 2 and 3
    0x0000_517B, // SMB
    0x5346_414F, // AFS
    0x6B41_4653, // AFS of the kernel
    0x7375_7245, // Coda
    0x00C3_6400, // Ceph
    0x0BD0_0BD0, // Lustre
    0x4750_4653, // GPFS
    0x7461_636F, // OCFS2
    0x0116_1970, // GFS2
    0x0102_1997, // 9P
    0x786F_4256, // VirtualBox
    0x6573_5546, // FUSE
];
