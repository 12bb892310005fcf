//! Expands codes to values.

use std::sync::Arc;

use arrow_buffer::{Buffer, ScalarBuffer};
use lath_kernels::gather;
use lath_parquet::{Error, Result};

use super::{Strings, Values};

/// Maximum length of a string that a view contains inline.
const INLINE_LEN: usize = 12;

/// The entries of `codes`.
pub(super) fn expand(codes: &[u32], entries: &Values) -> Result<Values> {
    if codes.iter().any(|&code| code as usize >= entries.len()) {
        return Err(Error::invalid(format!("a dictionary key over its {} values", entries.len())));
    }
    Ok(match entries {
        Values::Words32(words) => {
            let mut out = vec![0; codes.len()];
            gather::gather_u32(words, codes, &mut out)?;
            Values::Words32(out.into())
        }
        Values::Words64(words) => {
            let mut out = vec![0; codes.len()];
            gather::gather_u64(words, codes, &mut out)?;
            Values::Words64(out.into())
        }
        Values::Fixed { width, bytes, .. } => {
            let mut out = Vec::with_capacity(codes.len() * width);
            for &code in codes {
                out.extend_from_slice(&bytes[code as usize * width..][..*width]);
            }
            Values::Fixed { width: *width, len: codes.len(), bytes: Buffer::from_vec(out) }
        }
        Values::Strings(strings) => {
            let (views, buffers) = views(strings);
            let views: Vec<u128> = codes.iter().map(|&code| views[code as usize]).collect();
            Values::Strings(Strings::Views { views: views.into(), buffers })
        }
        Values::Booleans(bits) => Values::Booleans(codes.iter().map(|&code| bits.value(code as usize)).collect()),
        Values::Codes { codes: inner, entries } => {
            let codes: Vec<u32> = codes.iter().map(|&code| inner[code as usize]).collect();
            expand(&codes, &entries.values)?
        }
        Values::Nothing => Values::Nothing,
    })
}

/// Views of strings, and the buffers that they refer to.
fn views(strings: &Strings) -> (ScalarBuffer<u128>, Arc<[Buffer]>) {
    let data = match strings {
        Strings::Views { views, buffers } => return (views.clone(), Arc::clone(buffers)),
        Strings::Offsets32 { data, .. } | Strings::Offsets64 { data, .. } => data,
    };
    // A view's offset has 32 bits: one buffer for each block of bytes, extended by the longest string that may start in it.
    let base = data.as_ptr() as usize;
    let mut buffers: Vec<Buffer> = Vec::new();
    let mut starts: Vec<usize> = Vec::new();
    let views = strings
        .iter()
        .map(|string| {
            let len = string.len();
            let mut view = [0; 16];
            view[..4].copy_from_slice(&(len as u32).to_le_bytes());
            if len <= INLINE_LEN {
                view[4..4 + len].copy_from_slice(string);
                return u128::from_le_bytes(view);
            }
            let at = string.as_ptr() as usize - base;
            if starts.last().is_none_or(|&start| at < start || at - start > i32::MAX as usize) {
                starts.push(at);
                buffers.push(data.slice(at));
            }
            let start = starts.last().copied().unwrap_or(0);
            view[4..8].copy_from_slice(&string[..4]);
            view[8..12].copy_from_slice(&(buffers.len() as u32 - 1).to_le_bytes());
            view[12..].copy_from_slice(&((at - start) as u32).to_le_bytes());
            u128::from_le_bytes(view)
        })
        .collect();
    (views, buffers.into())
}
