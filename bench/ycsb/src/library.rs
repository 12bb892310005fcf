//! Shared libraries of peers, loaded when a peer is measured: the benchmark compiles and runs without them.

use std::ffi::OsStr;
use std::fs;

use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};

/// Loads a library for the life of the process.
///
/// # Errors
/// The loader's message.
pub fn open(path: impl AsRef<OsStr>) -> Result<&'static Library, String> {
    open_with(path, RTLD_LAZY | RTLD_LOCAL)
}

/// [`open`], with flags of `dlopen`.
pub fn open_with(path: impl AsRef<OsStr>, flags: i32) -> Result<&'static Library, String> {
    // SAFETY: the constructors of databases' libraries and of Python's have no conditions.
    let library = unsafe { Library::open(Some(path), flags) }.map_err(|error| error.to_string())?;
    Ok(Box::leak(Box::new(library)))
}

/// The file name of a loaded library whose name begins with `name`, without links: it has the whole version.
pub fn file_name(name: &str) -> Option<String> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().filter_map(|line| line.rsplit('/').next()).find(|file| file.starts_with(name)).map(str::to_owned)
}

/// Declares functions of a C library, and a type that finds them in the loaded library.
macro_rules! c_functions {
    ($api:ident: $(fn $function:ident($($argument:ty),*) $(-> $answer:ty)?;)*) => {
        pub struct $api {
            $(pub $function: unsafe extern "C" fn($($argument),*) $(-> $answer)?,)*
        }

        impl $api {
            /// # Errors
            /// The loader's message about the first function that the library lacks.
            ///
            /// # Safety
            /// The functions of the library have the declared types.
            pub unsafe fn find(library: &'static libloading::os::unix::Library) -> Result<Self, String> {
                Ok(Self {
                    // SAFETY: the caller's promise.
                    $($function: *unsafe { library.get(concat!(stringify!($function), "\0").as_bytes()) }
                        .map_err(|error| error.to_string())?,)*
                })
            }
        }
    };
}

pub(crate) use c_functions;
