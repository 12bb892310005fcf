//! Keyword arguments that have a few values.

use std::collections::HashMap;

use lath::{DecryptionKeys, Int96Unit, OpenOptions, Strings};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// How string and binary columns come.
pub(crate) fn strings(text: Option<&str>) -> PyResult<Option<Strings>> {
    match text {
        None => Ok(None),
        Some("views") => Ok(Some(Strings::Views)),
        Some("offsets") => Ok(Some(Strings::Offsets)),
        Some(other) => Err(PyValueError::new_err(format!("strings={other:?}: give \"views\" or \"offsets\""))),
    }
}

/// How files are decrypted and read, by keyword.
#[derive(Debug, Default)]
pub(crate) struct FileOptions {
    pub(crate) footer_key: Option<Vec<u8>>,
    pub(crate) column_keys: Option<HashMap<String, Vec<u8>>>,
    pub(crate) aad_prefix: Option<Vec<u8>>,
    pub(crate) int96_unit: Option<String>,
}

impl FileOptions {
    pub(crate) fn options(self) -> PyResult<OpenOptions> {
        let unit = match self.int96_unit.as_deref() {
            None => None,
            Some("ns") => Some(Int96Unit::Nanoseconds),
            Some("us") => Some(Int96Unit::Microseconds),
            Some("ms") => Some(Int96Unit::Milliseconds),
            Some(unit) => {
                return Err(PyValueError::new_err(format!("int96_unit={unit:?}: give \"ns\", \"us\" or \"ms\"")));
            }
        };
        let options = self.keys()?.into_iter().fold(OpenOptions::new(), OpenOptions::decryption);
        Ok(unit.into_iter().fold(options, OpenOptions::int96_unit))
    }

    fn keys(self) -> PyResult<Option<DecryptionKeys>> {
        let Some(footer_key) = self.footer_key else {
            if self.column_keys.is_some() || self.aad_prefix.is_some() {
                return Err(PyValueError::new_err("column_keys and aad_prefix need footer_key as well"));
            }
            return Ok(None);
        };
        let mut keys = DecryptionKeys::new(key("footer_key", footer_key)?);
        for (path, bytes) in self.column_keys.into_iter().flatten() {
            keys = keys.column_key(path, key("column_keys", bytes)?);
        }
        Ok(Some(self.aad_prefix.into_iter().fold(keys, DecryptionKeys::aad_prefix)))
    }
}

fn key(argument: &str, bytes: Vec<u8>) -> PyResult<Vec<u8>> {
    if matches!(bytes.len(), 16 | 24 | 32) {
        return Ok(bytes);
    }
    Err(PyValueError::new_err(format!("{argument}: an AES key has 16, 24 or 32 bytes")))
}
