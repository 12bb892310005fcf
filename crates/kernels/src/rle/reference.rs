//! The specification, run by run and value by value.

use crate::bitpack;

/// All values of well-formed runs.
pub(super) fn decode(src: &[u8], width: u32) -> Vec<u32> {
    let mut values = Vec::new();
    let mut bytes = src.iter().copied();
    while bytes.len() > 0 {
        let mut header = 0_u64;
        for place in (0..).step_by(7) {
            let byte = bytes.next().unwrap();
            header |= u64::from(byte & 0x7f) << place;
            if byte < 0x80 {
                break;
            }
        }
        let length = (header >> 1) as usize;
        if header & 1 == 0 {
            let value: u32 = (0..width.div_ceil(8)).map(|place| u32::from(bytes.next().unwrap()) << (8 * place)).sum();
            values.extend(std::iter::repeat_n(value, length));
        } else {
            let packed: Vec<u8> = bytes.by_ref().take(length * width as usize).collect();
            let stored = packed.len() * 8 / width as usize;
            values.extend(
                bitpack::reference::unpack(&packed, width, stored.min(length * 8))
                    .into_iter()
                    .map(|value| value as u32),
            );
        }
    }
    values
}
