//! Keys of encrypted stores and tables.

use lath::store::EncryptionKey;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// The key in an argument: bytes, or a text of hexadecimal digits.
///
/// # Errors
/// `TypeError` and `ValueError` for anything else.
pub fn encryption_key(argument: Option<&Bound<'_, PyAny>>) -> PyResult<Option<EncryptionKey>> {
    let Some(argument) = argument else { return Ok(None) };
    if let Ok(bytes) = argument.cast::<PyBytes>() {
        let key = bytes.as_bytes().try_into().map(EncryptionKey::new);
        let len = bytes.as_bytes().len();
        return key.map(Some).map_err(|_| {
            PyValueError::new_err(format!("encryption_key has {len} bytes, and a key has {}", EncryptionKey::LEN))
        });
    }
    let Ok(text) = argument.cast::<PyString>() else {
        return Err(PyTypeError::new_err("encryption_key is bytes, or a text of hexadecimal digits"));
    };
    let key = EncryptionKey::from_hex(text.to_str()?);
    key.map(Some).map_err(|error| PyValueError::new_err(format!("encryption_key: {error}")))
}
