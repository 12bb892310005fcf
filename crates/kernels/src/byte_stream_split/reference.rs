//! The specification transliterated: byte `k` of value `i` is byte `i` of stream `k`.

pub(super) fn decode(src: &[u8], value_count: usize, width: usize, first: usize, count: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for i in first..first + count {
        for k in 0..width {
            out.push(src[k * value_count + i]);
        }
    }
    out
}

pub(super) fn encode(values: &[u8], width: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for k in 0..width {
        for value in values.chunks(width) {
            out.push(value[k]);
        }
    }
    out
}
