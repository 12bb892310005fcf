//! One 16-byte load per value, moved up by four bytes and cut to the value's length by one table
//! lookup, for which every index past 15 gives zero.
#![expect(unsafe_code, reason = "vector loads and stores within limits that the loop keeps")]

use std::arch::aarch64::{vcombine_u64, vcreate_u64, vld1q_u8, vorrq_u8, vqtbl1q_u8, vreinterpretq_u8_u64, vst1q_u8};

use super::{scalar, view};

/// By length, up to one over the maximum within a view: the loaded byte for each byte of the view, or none.
static PLACES: [[u8; 16]; view::INLINE_LEN + 2] = {
    let mut places = [[0x80; 16]; view::INLINE_LEN + 2];
    let mut len = 0;
    while len < places.len() {
        let kept = if len > view::INLINE_LEN { 4 } else { len };
        let mut i = 0;
        while i < kept {
            places[len][4 + i] = i as u8;
            i += 1;
        }
        len += 1;
    }
    places
};

#[target_feature(enable = "neon")]
pub(super) fn build(data: &[u8], base: usize, lengths: &[i32], buffer_index: u32, out: &mut [u128]) {
    let mut at = base;
    let mut done = 0;
    for (slot, &len) in out.iter_mut().zip(lengths) {
        if at + 16 > data.len() {
            break;
        }
        // SAFETY: 16 bytes from `at` on are in `data`.
        let start = unsafe { data.as_ptr().add(at) };
        // SAFETY: as above.
        let bytes = unsafe { vld1q_u8(start) };
        let places = &PLACES[(len as usize).min(view::INLINE_LEN + 1)];
        // SAFETY: the reference is to 16 readable bytes.
        let places = unsafe { vld1q_u8(places.as_ptr()) };
        let upper = (at as u64) << 32 | u64::from(buffer_index);
        let upper = if len as usize > view::INLINE_LEN { upper } else { 0 };
        let rest = vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(len as u64), vcreate_u64(upper)));
        let view = vorrq_u8(vqtbl1q_u8(bytes, places), rest);
        // SAFETY: the reference is to 16 writable bytes.
        unsafe { vst1q_u8(std::ptr::from_mut(slot).cast(), view) };
        at += len as usize;
        done += 1;
    }
    scalar::build(data, at, &lengths[done..], buffer_index, &mut out[done..]);
}
