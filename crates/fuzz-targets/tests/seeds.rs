//! Every fuzz target over its seeds, with the fuzzer's limits on time and memory.
#![expect(unsafe_code, reason = "limits what is allocated")]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The maximum time for one input.
const MAX_TIME: Duration = Duration::from_secs(20);
/// The largest single allocation, in bytes.
const MAX_ALLOCATION: usize = 600 << 20;

/// The system's allocator, which rejects allocations above the limit: the process then aborts.
struct LimitedAllocator;

// SAFETY: every call is forwarded unchanged to the system's allocator, or fails as an allocator may.
unsafe impl GlobalAlloc for LimitedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > MAX_ALLOCATION {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() > MAX_ALLOCATION {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps the same contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the same contract.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if new_size > MAX_ALLOCATION {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps the same contract.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: LimitedAllocator = LimitedAllocator;

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Runs a target on the files of its folder.
fn replay(target: &str, run: fn(&[u8])) {
    let folder = fuzz_folder().join("seeds").join(target);
    let mut paths: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} has no seeds", folder.display());
    for path in paths {
        let bytes = fs::read(&path).unwrap();
        let started = Instant::now();
        let outcome = std::panic::catch_unwind(|| run(&bytes));
        assert!(outcome.is_ok(), "{} failed", path.display());
        let elapsed = started.elapsed();
        assert!(elapsed < MAX_TIME, "{} took {elapsed:?}", path.display());
    }
}

/// A test for each target, and the list of their names.
macro_rules! targets {
    ($($target:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($target)),*];
        $(
            #[test]
            fn $target() {
                replay(stringify!($target), lath_fuzz_targets::$target::run);
            }
        )*
    };
}

targets! {
    alp bitpack bloom byte_stream_split bytesearch codec compare delta delta_byte_array delta_length dictionary encode
    encode_bytes iceberg levels page plain_byte_array predicate rle snappy store_open store_operations whole_file
}

#[test]
fn every_fuzz_target_is_replayed() {
    let stems = |folder: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(fuzz_folder().join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect()
    };
    let names: BTreeSet<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(stems("targets"), names);
    assert_eq!(stems("seeds"), names);
}
