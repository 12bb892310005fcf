use crate::error::{Error, Result};
use crate::page::ChunkSpec;

/// Checks that the chunk lies within the file. Called when the chunk is needed, so that a damaged one does not prevent reading
/// others.
pub(super) fn check_range(spec: &ChunkSpec, file_bytes: u64) -> Result<()> {
    match spec.start.checked_add(spec.len) {
        Some(end) if end <= file_bytes => Ok(()),
        _ => {
            let what = format!("a column chunk of {} bytes ends past the file's {file_bytes} bytes", spec.len);
            Err(Error::corrupt(what).locate(|at| at.offset = Some(spec.start)))
        }
    }
}
