//! Memory for random access: on huge pages, if the system has them.
//!
//! A filter of hundreds of megabytes has more page table entries for 4 KiB pages than any cache holds, so that a block costs two
//! fetches from memory instead of one.

use std::io;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// Bytes of a huge page of x86-64, and of AArch64 with its usual granule.
const HUGE_PAGE: usize = 2 << 20;

/// Zeroed memory, aligned to 2 MiB and on huge pages if the system provides them on request (Linux).
///
/// Meant for Bloom filters of many megabytes that are probed at random.
///
/// ```
/// use lath_parquet::HugePages;
///
/// let mut filter = HugePages::zeroed(32 << 20)?;
/// filter[12] = 1;
/// assert_eq!(filter.len(), 32 << 20);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct HugePages {
    map: MmapMut,
    start: usize,
    len: usize,
}

impl HugePages {
    /// `len` zero bytes.
    ///
    /// # Errors
    /// If the system does not provide that much memory. It may provide more than it has.
    pub fn zeroed(len: usize) -> io::Result<Self> {
        let memory = Self::map(len)?;
        // Advice only: a kernel that cannot follow it leaves ordinary pages.
        #[cfg(target_os = "linux")]
        let _ = memory.map.advise(memmap2::Advice::HugePage);
        Ok(memory)
    }

    fn map(len: usize) -> io::Result<Self> {
        // Untouched pages take up addresses and no memory.
        let room = len.checked_add(HUGE_PAGE).ok_or(io::ErrorKind::OutOfMemory)?;
        let map = MmapMut::map_anon(room)?;
        let start = map.as_ptr().align_offset(HUGE_PAGE).min(HUGE_PAGE);
        Ok(Self { map, start, len })
    }
}

impl Deref for HugePages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map[self.start..self.start + self.len]
    }
}

impl DerefMut for HugePages {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.map[self.start..self.start + self.len]
    }
}

impl AsRef<[u8]> for HugePages {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zero_aligned_and_as_long_as_asked_for() {
        for len in [0, 1, 4096, HUGE_PAGE - 1, HUGE_PAGE, 5 * HUGE_PAGE + 3] {
            let mut memory = HugePages::zeroed(len).unwrap();
            assert_eq!(memory.len(), len);
            assert!(memory.iter().all(|&byte| byte == 0));
            assert_eq!(memory.as_ptr().align_offset(HUGE_PAGE), 0);
            memory.fill(7);
            assert!(memory.iter().all(|&byte| byte == 7));
        }
    }

    #[test]
    fn more_than_there_are_addresses_is_refused() {
        assert!(HugePages::zeroed(usize::MAX).is_err());
        assert!(HugePages::zeroed(usize::MAX / 2).is_err());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn huge_pages_are_given_where_the_system_has_them() {
        let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        if !setting.contains("[madvise]") && !setting.contains("[always]") {
            return;
        }
        let mut memory = HugePages::zeroed(8 * HUGE_PAGE).unwrap();
        memory.fill(1);
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let kibibytes = |line: &str| line.trim_end_matches("kB").trim().parse::<usize>().ok();
        let huge: usize =
            maps.lines().filter_map(|line| line.strip_prefix("AnonHugePages:")).filter_map(kibibytes).sum();
        // Fragmented memory may have fewer huge pages than requested.
        assert!(huge > 0, "no huge page was given");
    }
}
