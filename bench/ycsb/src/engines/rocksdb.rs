//! RocksDB through its C interface, with a cache for all rows and Bloom filters of ten bits per key.

use std::ffi::{CStr, CString, c_char, c_uchar, c_void};
use std::path::Path;
use std::ptr::null_mut;
use std::slice;
use std::sync::OnceLock;

use crate::engine::{Client, Engine, Row, joined, with_field};
use crate::library::{self, c_functions};

const CACHE_BYTES: usize = 2 << 30;
/// Rows of a commit of the load.
const LOAD_ROWS: usize = 10_000;

type Handle = *mut c_void;
type Error = *mut *mut c_char;

c_functions! {
    Api:
    fn rocksdb_options_create() -> Handle;
    fn rocksdb_options_set_create_if_missing(Handle, c_uchar);
    fn rocksdb_options_set_block_based_table_factory(Handle, Handle);
    fn rocksdb_block_based_options_create() -> Handle;
    fn rocksdb_block_based_options_set_block_cache(Handle, Handle);
    fn rocksdb_block_based_options_set_filter_policy(Handle, Handle);
    fn rocksdb_cache_create_lru(usize) -> Handle;
    fn rocksdb_filterpolicy_create_bloom_full(f64) -> Handle;
    fn rocksdb_readoptions_create() -> Handle;
    fn rocksdb_writeoptions_create() -> Handle;
    fn rocksdb_writeoptions_set_sync(Handle, c_uchar);
    fn rocksdb_flushoptions_create() -> Handle;
    fn rocksdb_open(Handle, *const c_char, Error) -> Handle;
    fn rocksdb_close(Handle);
    fn rocksdb_free(Handle);
    fn rocksdb_put(Handle, Handle, *const u8, usize, *const u8, usize, Error);
    fn rocksdb_writebatch_create() -> Handle;
    fn rocksdb_writebatch_put(Handle, *const u8, usize, *const u8, usize);
    fn rocksdb_writebatch_destroy(Handle);
    fn rocksdb_write(Handle, Handle, Handle, Error);
    fn rocksdb_flush(Handle, Handle, Error);
    fn rocksdb_get_pinned(Handle, Handle, *const u8, usize, Error) -> Handle;
    fn rocksdb_pinnableslice_value(Handle, *mut usize) -> *const u8;
    fn rocksdb_pinnableslice_destroy(Handle);
    fn rocksdb_create_iterator(Handle, Handle) -> Handle;
    fn rocksdb_iter_seek(Handle, *const u8, usize);
    fn rocksdb_iter_valid(Handle) -> c_uchar;
    fn rocksdb_iter_value(Handle, *mut usize) -> *const u8;
    fn rocksdb_iter_next(Handle);
    fn rocksdb_iter_get_error(Handle, Error);
    fn rocksdb_iter_destroy(Handle);
}

/// The library.
///
/// # Errors
/// A message that says why the library cannot be loaded, and how to install it.
pub fn api() -> Result<&'static Api, &'static str> {
    static API: OnceLock<Result<Api, String>> = OnceLock::new();
    let load = || {
        let path = std::env::var_os("LATH_ROCKSDB").unwrap_or_else(|| "librocksdb.so".into());
        // SAFETY: rocksdb/c.h declares these types, from version to version.
        library::open(path).and_then(|library| unsafe { Api::find(library) }).map_err(|error| {
            format!("{error}; install RocksDB (librocksdb-dev in Debian), or set LATH_ROCKSDB to its shared library")
        })
    };
    API.get_or_init(load).as_ref().map_err(String::as_str)
}

pub struct RocksDb {
    api: &'static Api,
    database: Handle,
    read: Handle,
    write: Handle,
}

// SAFETY: RocksDB's databases and options are made for use by many threads at once.
unsafe impl Sync for RocksDb {}

impl RocksDb {
    fn put(&self, key: &str, row: &[u8]) {
        let mut error = null_mut();
        // SAFETY: the handles are open, and each pointer has the length of its slice.
        unsafe {
            let (key_start, row_start) = (key.as_ptr(), row.as_ptr());
            (self.api.rocksdb_put)(self.database, self.write, key_start, key.len(), row_start, row.len(), &mut error);
        }
        self.check(error);
    }

    fn get(&self, key: &str, row: &mut Vec<u8>) {
        row.clear();
        let mut error = null_mut();
        let mut len = 0;
        // SAFETY: the handles are open, and the bytes are valid until the slice is destroyed.
        unsafe {
            let get = self.api.rocksdb_get_pinned;
            let found = get(self.database, self.read, key.as_ptr(), key.len(), &mut error);
            if !found.is_null() {
                let start = (self.api.rocksdb_pinnableslice_value)(found, &mut len);
                row.extend_from_slice(slice::from_raw_parts(start, len));
                (self.api.rocksdb_pinnableslice_destroy)(found);
            }
        }
        self.check(error);
    }

    fn check(&self, error: *mut c_char) {
        check(self.api, error);
    }
}

fn check(api: &Api, error: *mut c_char) {
    if !error.is_null() {
        // SAFETY: RocksDB's messages end with a zero.
        let message = unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned();
        // SAFETY: the message is the caller's to free.
        unsafe { (api.rocksdb_free)(error.cast()) };
        panic!("RocksDB: {message}");
    }
}

impl Engine for RocksDb {
    type Client<'e> = &'e Self;

    fn open(folder: &Path, is_synced: bool) -> Self {
        let api = api().expect("engines with an obstacle are left out");
        let path = CString::new(folder.as_os_str().as_encoded_bytes()).expect("paths have no zero");
        let mut error = null_mut();
        // SAFETY: handles come from the functions that make them; they live as long as the process.
        let engine = unsafe {
            let table = (api.rocksdb_block_based_options_create)();
            (api.rocksdb_block_based_options_set_block_cache)(table, (api.rocksdb_cache_create_lru)(CACHE_BYTES));
            let filter = (api.rocksdb_filterpolicy_create_bloom_full)(10.0);
            (api.rocksdb_block_based_options_set_filter_policy)(table, filter);
            let options = (api.rocksdb_options_create)();
            (api.rocksdb_options_set_create_if_missing)(options, 1);
            (api.rocksdb_options_set_block_based_table_factory)(options, table);
            let write = (api.rocksdb_writeoptions_create)();
            (api.rocksdb_writeoptions_set_sync)(write, is_synced.into());
            let database = (api.rocksdb_open)(options, path.as_ptr(), &mut error);
            Self { api, database, read: (api.rocksdb_readoptions_create)(), write }
        };
        check(api, error);
        engine
    }

    fn load(&self, rows: &mut dyn Iterator<Item = (String, Row)>) {
        let api = self.api;
        let mut error = null_mut();
        let mut rows = rows.peekable();
        // SAFETY: the handles are open, and each pointer has the length of its slice.
        unsafe {
            let unsynced = (api.rocksdb_writeoptions_create)();
            while rows.peek().is_some() {
                let batch = (api.rocksdb_writebatch_create)();
                for (key, row) in rows.by_ref().take(LOAD_ROWS) {
                    let row = joined(&row);
                    (api.rocksdb_writebatch_put)(batch, key.as_ptr(), key.len(), row.as_ptr(), row.len());
                }
                (api.rocksdb_write)(self.database, unsynced, batch, &mut error);
                self.check(error);
                (api.rocksdb_writebatch_destroy)(batch);
            }
            (api.rocksdb_flush)(self.database, (api.rocksdb_flushoptions_create)(), &mut error);
        }
        self.check(error);
    }

    fn client(&self) -> &Self {
        self
    }

    fn note(&self) -> Option<String> {
        let file = library::file_name("librocksdb").unwrap_or_default();
        Some(format!("RocksDB: {file}, through its C interface in the benchmark's process"))
    }
}

impl Drop for RocksDb {
    fn drop(&mut self) {
        // SAFETY: nothing uses the database any more.
        unsafe { (self.api.rocksdb_close)(self.database) };
    }
}

impl Client for &RocksDb {
    fn read(&mut self, key: &str, row: &mut Vec<u8>) {
        self.get(key, row);
    }

    /// Two clients may update one row at a time, of which one is lost: writes without transactions have no locks.
    fn update(&mut self, key: &str, field: usize, value: &[u8]) {
        let mut row = Vec::new();
        self.get(key, &mut row);
        self.put(key, &with_field(&row, field, value));
    }

    fn insert(&mut self, key: &str, row: &Row) {
        self.put(key, &joined(row));
    }

    fn scan(&mut self, key: &str, count: usize) -> usize {
        let api = self.api;
        let (mut rows, mut len, mut error) = (0, 0, null_mut());
        // SAFETY: the handles are open, and a value is valid until the iterator moves.
        unsafe {
            let cursor = (api.rocksdb_create_iterator)(self.database, self.read);
            (api.rocksdb_iter_seek)(cursor, key.as_ptr(), key.len());
            while rows < count && (api.rocksdb_iter_valid)(cursor) != 0 {
                let start = (api.rocksdb_iter_value)(cursor, &mut len);
                rows += usize::from(!std::hint::black_box(slice::from_raw_parts(start, len)).is_empty());
                (api.rocksdb_iter_next)(cursor);
            }
            (api.rocksdb_iter_get_error)(cursor, &mut error);
            (api.rocksdb_iter_destroy)(cursor);
        }
        self.check(error);
        rows
    }
}
