//! Protection against overwriting files by mistake.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use lath_parquet::{DatasetOptions, is_store};

use crate::failure::{Failure, Result};
use crate::input::inputs::Inputs;

/// Refuses `output` if it is one of the inputs, or if it exists and `--force` was not given. Devices and pipes are always
/// accepted, because they hold nothing that could be lost.
pub(crate) fn check(output: &Path, force: bool, inputs: Option<&Inputs>) -> Result<()> {
    if let Some(url) = output.to_str().filter(|url| is_store(url)) {
        return check_object(url, force, inputs);
    }
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
            return Err(is_input(output));
        }
    }
    if force { Ok(()) } else { Err(exists(output)) }
}

/// As [`check`], for the URL of an object. Objects that come later are replaced.
fn check_object(url: &str, force: bool, inputs: Option<&Inputs>) -> Result<()> {
    if inputs.is_some_and(|inputs| (0..inputs.len()).any(|index| inputs.name(index) == url)) {
        return Err(is_input(Path::new(url)));
    }
    if force {
        return Ok(());
    }
    let store = DatasetOptions::new().object_store(url).map_err(|error| Failure::Usage(error.to_string()))?;
    if store.is_web() {
        return Err(Failure::Usage(format!(
            "{url}: files are not written to web servers, only to s3:, gs:, az: and abfss:"
        )));
    }
    match store.version() {
        Ok(_) => Err(exists(Path::new(url))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == ErrorKind::InvalidInput => Err(Failure::Usage(format!("{url}: {error}"))),
        // Credentials may allow to write alone.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(Failure::Io(format!(
            "{url}: cannot find out whether it exists: {error}; --force writes without looking"
        ))),
        Err(error) => Err(Failure::Io(format!("{url}: cannot find out whether it exists: {error}"))),
    }
}

fn is_input(output: &Path) -> Failure {
    Failure::Usage(format!(
        "{} is an input too, and inputs are never overwritten; give -o another name, or use lath rewrite --in-place",
        output.display()
    ))
}

fn exists(output: &Path) -> Failure {
    Failure::Usage(format!("{} exists; add --force to replace it, or give -o another name", output.display()))
}
