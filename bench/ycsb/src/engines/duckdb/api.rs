//! DuckDB's C interface.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::null_mut;
use std::slice;
use std::sync::OnceLock;

use libloading::os::unix::{RTLD_GLOBAL, RTLD_LAZY};

use crate::library::{self, c_functions};

pub type Handle = *mut c_void;

/// `duckdb_result`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Answer {
    counts: [u64; 3],
    pointers: [Handle; 3],
}

impl Answer {
    pub const EMPTY: Self = Self { counts: [0; 3], pointers: [null_mut(); 3] };
}

/// `duckdb_string_t`: up to twelve bytes, or four of them and a pointer to all.
#[repr(C, align(8))]
pub struct Text {
    len: u32,
    bytes: [u8; 12],
}

impl Text {
    pub fn bytes(&self) -> &[u8] {
        let len = self.len as usize;
        let [.., a, b, c, d, e, f, g, h] = self.bytes;
        match self.bytes.get(..len) {
            Some(bytes) => bytes,
            // SAFETY: longer texts have a pointer to their bytes, which live as long as the chunk.
            None => unsafe { slice::from_raw_parts(usize::from_ne_bytes([a, b, c, d, e, f, g, h]) as *const u8, len) },
        }
    }
}

c_functions! {
    Api:
    fn duckdb_library_version() -> *const c_char;
    fn duckdb_open(*const c_char, *mut Handle) -> c_int;
    fn duckdb_close(*mut Handle);
    fn duckdb_connect(Handle, *mut Handle) -> c_int;
    fn duckdb_disconnect(*mut Handle);
    fn duckdb_query(Handle, *const c_char, *mut Answer) -> c_int;
    fn duckdb_prepare(Handle, *const c_char, *mut Handle) -> c_int;
    fn duckdb_prepare_error(Handle) -> *const c_char;
    fn duckdb_destroy_prepare(*mut Handle);
    fn duckdb_bind_varchar_length(Handle, u64, *const u8, u64) -> c_int;
    fn duckdb_bind_int64(Handle, u64, i64) -> c_int;
    fn duckdb_execute_prepared(Handle, *mut Answer) -> c_int;
    fn duckdb_result_error(*mut Answer) -> *const c_char;
    fn duckdb_fetch_chunk(Answer) -> Handle;
    fn duckdb_destroy_result(*mut Answer);
    fn duckdb_data_chunk_get_size(Handle) -> u64;
    fn duckdb_data_chunk_get_vector(Handle, u64) -> Handle;
    fn duckdb_vector_get_data(Handle) -> Handle;
    fn duckdb_destroy_data_chunk(*mut Handle);
    fn duckdb_appender_create(Handle, *const c_char, *const c_char, *mut Handle) -> c_int;
    fn duckdb_append_varchar_length(Handle, *const u8, u64) -> c_int;
    fn duckdb_appender_end_row(Handle) -> c_int;
    fn duckdb_appender_destroy(*mut Handle) -> c_int;
}

/// The library: the one that `LATH_DUCKDB` names, or the one of the Python package, which exports the C interface too.
///
/// # Errors
/// A message that says why the library cannot be loaded, and how to install it.
pub fn api() -> Result<&'static Api, &'static str> {
    static API: OnceLock<Result<Api, String>> = OnceLock::new();
    let load = || {
        let path = std::env::var_os("LATH_DUCKDB").map_or_else(python_package, |path| Ok(PathBuf::from(path)));
        // SAFETY: duckdb.h declares these types, in its stable part.
        path.and_then(library::open).and_then(|library| unsafe { Api::find(library) }).map_err(|error| {
            format!("{error}; run bench/peers/python/setup, or set LATH_DUCKDB to the path of libduckdb.so")
        })
    };
    API.get_or_init(load).as_ref().map_err(String::as_str)
}

/// The library of the Python package, once Python's library is there, whose names it needs. No Python runs.
fn python_package() -> Result<PathBuf, String> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers/python/.venv/bin/python");
    let program = "import _duckdb, os, sysconfig
names = sysconfig.get_config_vars()
print(_duckdb.__file__, os.path.join(names['LIBDIR'], names['INSTSONAME']), names['INSTSONAME'], sep='\\n', end='')";
    let output = Command::new(&python).args(["-c", program]).output().map_err(|_| "no Python package of DuckDB")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let [package, path, name] = text.lines().collect::<Vec<_>>()[..] else {
        return Err("no Python package of DuckDB".to_owned());
    };
    let flags = RTLD_LAZY | RTLD_GLOBAL;
    library::open_with(path, flags).or_else(|_| library::open_with(name, flags))?;
    Ok(PathBuf::from(package))
}

/// A message of DuckDB's.
///
/// # Safety
/// The pointer is null or points to a text that ends with a zero.
pub unsafe fn message(text: *const c_char) -> String {
    match text.is_null() {
        true => "no message".to_owned(),
        // SAFETY: the caller's promise.
        false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
    }
}

/// Text for an argument of C.
pub fn c_text(text: &str) -> CString {
    CString::new(text).expect("texts have no zero")
}
