//! Values to the bytes of a page, one module per encoding.
//!
//! The values of a page come in pieces, as batches brought them; nothing is copied before the encoding copies it.
//!
//! <https://parquet.apache.org/docs/file-format/data-pages/encodings/>

pub(super) mod dictionary;
pub(super) mod levels;
mod plain;

use parquet::basic::{Encoding, Type as PhysicalType};

use super::options::ValueEncoding;
use super::physical::Values;
use crate::error::{Error, Result};

/// How the values of a page are encoded that has no dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageEncoding {
    Plain,
}

impl PageEncoding {
    /// The encoding as metadata names it.
    pub(super) fn id(self) -> Encoding {
        match self {
            Self::Plain => Encoding::PLAIN,
        }
    }

    /// The encoding asked for, if `physical` has it.
    pub(super) fn new(encoding: ValueEncoding, _physical: PhysicalType) -> Option<Self> {
        match encoding {
            ValueEncoding::Plain => Some(Self::Plain),
            _ => None,
        }
    }
}

/// Encodes pages of values; keeps the memory that encodings need beside.
#[derive(Debug, Default)]
pub(super) struct ValueEncoder {}

impl ValueEncoder {
    /// The most bytes that the values can become.
    pub(super) fn max_len(&self, encoding: PageEncoding, pieces: &[Values]) -> usize {
        match encoding {
            PageEncoding::Plain => plain::len(pieces),
        }
    }

    /// Encodes to the front of `out`, of at least [`max_len`](Self::max_len) bytes; returns how many were written.
    pub(super) fn encode(&mut self, encoding: PageEncoding, pieces: &[Values], out: &mut [u8]) -> Result<usize> {
        match encoding {
            PageEncoding::Plain => plain::encode(pieces, out),
        }
    }
}

fn not_encoded(encoding: &str) -> Error {
    Error::unsupported(format!("{encoding} for values of this type"))
}
