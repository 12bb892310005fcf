//! Skips values in as few instructions as possible: opening a file skips every column chunk of its footer.

/// The end of the value of type `wire_type` at `position`; `None` if it is truncated or malformed, or has a map.
pub(super) fn end_of_value(bytes: &[u8], position: usize, wire_type: u8, depth: usize) -> Option<usize> {
    let depth = depth.checked_sub(1)?;
    let within = |end: usize| (end <= bytes.len()).then_some(end);
    match wire_type {
        1..=3 => within(position + 1),
        4..=6 => end_of_varint(bytes, position),
        7 => within(position + 8),
        8 => {
            let (len, start) = short_length(bytes, position)?;
            within(start.checked_add(len)?)
        }
        9 | 10 => {
            let header = *bytes.get(position)?;
            let (len, mut end) = match header >> 4 {
                15 => short_length(bytes, position + 1)?,
                len => (len.into(), position + 1),
            };
            for _ in 0..len {
                end = end_of_value(bytes, end, header & 0x0f, depth)?;
            }
            Some(end)
        }
        12 => {
            let mut end = position;
            loop {
                let header = *bytes.get(end)?;
                end += 1;
                if header & 0x0f == 0 {
                    return Some(end);
                }
                if header >> 4 == 0 {
                    end = end_of_varint(bytes, end)?;
                }
                end = match header & 0x0f {
                    1 | 2 => end,
                    4..=6 => end_of_varint(bytes, end)?,
                    wire_type => end_of_value(bytes, end, wire_type, depth)?,
                };
            }
        }
        13 => within(position + 16),
        _ => None,
    }
}

/// The end of the structure at `position`, and the 32-bit integers in its fields 1 and 5; `None` as for [`end_of_value`], or if one of these
/// integers is too long or follows a field number in the long form.
pub(super) fn integers_1_and_5(bytes: &[u8], position: usize, depth: usize) -> Option<(usize, [Option<i32>; 2])> {
    let (mut end, mut id, mut found) = (position, 0, [None; 2]);
    loop {
        let header = *bytes.get(end)?;
        end += 1;
        if header & 0x0f == 0 {
            return Some((end, found));
        }
        id += match header >> 4 {
            0 => return None,
            delta => u32::from(delta),
        };
        end = match (header & 0x0f, id) {
            (1 | 2, _) => end,
            (5, 1 | 5) => {
                let (zigzag, end) = short_length(bytes, end)?;
                found[usize::from(id == 5)] = Some((zigzag >> 1) as i32 ^ -((zigzag & 1) as i32));
                end
            }
            (4..=6, _) => end_of_varint(bytes, end)?,
            (wire_type, _) => end_of_value(bytes, end, wire_type, depth)?,
        };
    }
}

/// The continuation bit of each byte.
const CONTINUES: u64 = 0x8080_8080_8080_8080;

/// Reads eight bytes at a time, so that integers of different lengths do not cause mispredicted branches.
fn end_of_varint(bytes: &[u8], position: usize) -> Option<usize> {
    if let Some(window) = bytes.get(position..).and_then(<[u8]>::first_chunk::<8>) {
        let ends = !u64::from_le_bytes(*window) & CONTINUES;
        if ends != 0 {
            return Some(position + ends.trailing_zeros() as usize / 8 + 1);
        }
    }
    // An integer of 64 bits takes at most ten bytes.
    let rest = bytes.get(position..)?;
    let len = rest.iter().take(10).position(|&byte| byte < 0x80)?;
    Some(position + len + 1)
}

/// A length of up to four bytes, and its end.
fn short_length(bytes: &[u8], mut position: usize) -> Option<(usize, usize)> {
    let mut len = 0;
    for shift in [0, 7, 14, 21] {
        let byte = *bytes.get(position)?;
        position += 1;
        len |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some((len, position));
        }
    }
    None
}
