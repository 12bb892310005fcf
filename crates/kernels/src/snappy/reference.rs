//! The format description transliterated, one byte at a time. `None` for anything that it does not allow.

pub(super) fn decompress(src: &[u8]) -> Option<Vec<u8>> {
    let mut src = src.iter().copied();
    let mut len = 0_u64;
    for position in 0..5 {
        let byte = src.next()?;
        len += u64::from(byte % 128) << (7 * position);
        if byte < 128 {
            break;
        }
        if position == 4 {
            return None;
        }
    }
    if len > u64::from(u32::MAX) {
        return None;
    }
    let mut output = Vec::new();
    while let Some(tag) = src.next() {
        let mut number =
            |bytes: u32| (0..bytes).try_fold(0, |sum, at| Some(sum + (u64::from(src.next()?) << (8 * at))));
        let (offset, count) = match (tag % 4, u64::from(tag / 4)) {
            (0, high) if high < 60 => (None, high + 1),
            (0, high) => (None, number(high as u32 - 59)? + 1),
            (1, high) => (Some(number(1)? + high / 8 * 256), high % 8 + 4),
            (2, high) => (Some(number(2)?), high + 1),
            (_, high) => (Some(number(4)?), high + 1),
        };
        for _ in 0..count {
            let byte = match offset {
                None => src.next()?,
                Some(0) => return None,
                Some(offset) => output[output.len().checked_sub(offset as usize)?],
            };
            output.push(byte);
            if output.len() as u64 > len {
                return None;
            }
        }
    }
    (output.len() as u64 == len).then_some(output)
}
