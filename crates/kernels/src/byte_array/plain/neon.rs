//! Bytes are copied 16 at a time, past the end of a value into the room of later values, which are written afterwards.
//! Walks are bound by their chain of loads and use the portable code.
#![expect(unsafe_code, reason = "vector loads and stores within limits that the loop keeps")]

use std::arch::aarch64::{vld1q_u8, vst1q_u8};

use super::scalar;

#[target_feature(enable = "neon")]
pub(super) fn copy_values(values: &[u8], lengths: &[i32], out: &mut [u8]) {
    let mut done = 0;
    let mut to = 0;
    for &len in lengths {
        let len = len as usize;
        if to + len + 16 > out.len() {
            break;
        }
        let from = to + 4 * (done + 1);
        let mut copied = 0;
        loop {
            // SAFETY: up to 15 bytes after the value are in `out`, and `values` has as many bytes as `out` after it.
            let source = unsafe { values.as_ptr().add(from + copied) };
            // SAFETY: as above.
            let vector = unsafe { vld1q_u8(source) };
            // SAFETY: as above.
            let target = unsafe { out.as_mut_ptr().add(to + copied) };
            // SAFETY: as above.
            unsafe { vst1q_u8(target, vector) };
            copied += 16;
            if copied >= len {
                break;
            }
        }
        to += len;
        done += 1;
    }
    scalar::copy_values(&values[to + 4 * done..], &lengths[done..], &mut out[to..]);
}
