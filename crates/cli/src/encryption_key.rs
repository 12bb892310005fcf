//! The key of encrypted stores, tables and databases.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use lath_store::{EncryptionKey, Options, is_encrypted};
use lath_table::TableOptions;

use crate::failure::{Failure, Result};

/// The variable with the key.
const KEY: &str = "LATH_KEY";

/// The variable with a command that prints the key.
const KEY_COMMAND: &str = "LATH_KEY_COMMAND";

/// Options for opening tables and databases: encrypted ones with the key, and others without.
pub(crate) fn table_options() -> Result<TableOptions> {
    Ok(key()?.into_iter().fold(TableOptions::new(), TableOptions::available_key))
}

/// Options for opening the store at `path`, with the key if the store is encrypted or new.
pub(crate) fn store_options(path: &Path) -> Result<Options> {
    Ok(key_for(path)?.into_iter().fold(Options::new(), Options::encryption_key))
}

/// The key for the store at `path`, if the store is encrypted or new.
pub(crate) fn key_for(path: &Path) -> Result<Option<EncryptionKey>> {
    let Some(key) = key()? else { return Ok(None) };
    let is_plain = is_encrypted(path).map_err(|error| Failure::Io(error.to_string()))? == Some(false);
    Ok(Some(key).filter(|_| !is_plain))
}

/// The key in the environment, or the one that its command prints.
pub(crate) fn key() -> Result<Option<EncryptionKey>> {
    static KEY: OnceLock<Result<Option<EncryptionKey>, String>> = OnceLock::new();
    KEY.get_or_init(find).clone().map_err(Failure::Usage)
}

/// The failure of a key that is missing or wrong, with the place where the command takes it from.
pub(crate) fn key_failure(text: &str) -> Failure {
    Failure::Usage(format!("{text} ({KEY} has the key, or {KEY_COMMAND} a command that prints it)"))
}

fn find() -> Result<Option<EncryptionKey>, String> {
    let set = |name: &str| std::env::var_os(name);
    match (set(KEY), set(KEY_COMMAND)) {
        (Some(text), _) if text.is_empty() => Err(format!("{KEY} is empty: give the key, or unset the variable")),
        (_, Some(text)) if text.is_empty() => {
            Err(format!("{KEY_COMMAND} is empty: give a command, or unset the variable"))
        }
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(format!("both {KEY} and {KEY_COMMAND} are set: unset one of them")),
        (Some(text), None) => parse(KEY, text.as_encoded_bytes()).map(Some),
        (None, Some(command)) => parse(KEY_COMMAND, &output(&command)?).map(Some),
    }
}

fn parse(name: &str, text: &[u8]) -> Result<EncryptionKey, String> {
    EncryptionKey::from_hex(&String::from_utf8_lossy(text)).map_err(|error| format!("{name}: {error}"))
}

/// The output of the command. It may ask at the terminal, and cannot read standard input, which may have rows.
fn output(command: &OsStr) -> Result<Vec<u8>, String> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = shell.output().map_err(|error| format!("{KEY_COMMAND} cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(format!("the command of {KEY_COMMAND} failed: {}", output.status));
    }
    Ok(output.stdout)
}
