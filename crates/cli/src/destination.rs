//! Protection against overwriting files by mistake.

use std::fs;
use std::path::Path;

use crate::failure::{Failure, Result};
use crate::input::inputs::Inputs;

/// Refuses `output` if it is one of the inputs, or if it exists and `--force` was not given. Devices and pipes are always
/// accepted, because they hold nothing that could be lost.
pub(crate) fn check(output: &Path, force: bool, inputs: Option<&Inputs>) -> Result<()> {
    let Ok(metadata) = fs::metadata(output) else { return Ok(()) };
    if metadata.is_dir() {
        return Err(Failure::Usage(format!("{} is a directory; give -o the name of a file", output.display())));
    }
    if !metadata.is_file() {
        return Ok(());
    }
    if let Ok(output_file) = fs::canonicalize(output) {
        let same = |path: &&Path| fs::canonicalize(path).is_ok_and(|path| path == output_file);
        if inputs.is_some_and(|inputs| inputs.paths().any(|path| same(&path))) {
            return Err(Failure::Usage(format!(
                "{} is an input too, and inputs are never overwritten; give -o another name, or use lath rewrite --in-place",
                output.display()
            )));
        }
    }
    if force {
        return Ok(());
    }
    Err(Failure::Usage(format!("{} exists; add --force to replace it, or give -o another name", output.display())))
}
