//! A file: opened and read to its end, and some rows of it by the offset index.
#![no_main]

use std::sync::Once;

use bytes::Bytes;
use lath_fuzz::file::{read, read_some};
use lath_parquet::Strings;
use libfuzzer_sys::fuzz_target;

static HOOK: Once = Once::new();

/// Where panics are caught and turned into errors: the crates that parse footers and schemas.
const ENVELOPE: [&str; 4] = ["/parquet-59", "/arrow-ipc-59", "/arrow-schema-59", "/flatbuffers-"];

fuzz_target!(|data: &[u8]| {
    // The fuzzer's own hook aborts at every panic, caught or not.
    HOOK.call_once(|| {
        let abort = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let file = info.location().map_or("", |location| location.file());
            if !ENVELOPE.iter().any(|part| file.contains(part)) {
                abort(info);
            }
        }));
    });
    let bytes = Bytes::copy_from_slice(data);
    read(bytes.clone(), Strings::Views, 8192);
    read(bytes.clone(), Strings::Offsets, 50);
    read_some(bytes);
});
