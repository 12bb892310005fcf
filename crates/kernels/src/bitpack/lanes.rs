//! Positions of the values in a group of eight: tables by width for tiers whose byte shuffle takes 16 bytes.

/// Moves a group of eight values to eight 32-bit lanes.
#[derive(Debug)]
#[repr(C, align(32))]
pub(super) struct Lanes32 {
    pub(super) shuffle: [u8; 32],
    pub(super) shift: [u32; 8],
    /// Left shift of the bytes from one further on.
    pub(super) shift_back: [u32; 8],
    pub(super) mask: [u32; 8],
}

/// Moves a group of eight values to two times four 64-bit lanes.
#[derive(Debug)]
#[repr(C, align(32))]
pub(super) struct Lanes64 {
    pub(super) halves: [Half64; 2],
    pub(super) mask: [u64; 4],
}

/// One half of a group's eight values.
#[derive(Debug)]
#[repr(C, align(32))]
pub(super) struct Half64 {
    pub(super) shuffle: [u8; 32],
    pub(super) shift: [u64; 4],
    pub(super) shift_back: [u64; 4],
}

/// By width, 0 to 32.
pub(super) static LANES32: [Lanes32; 33] = {
    let mut table = [const { Lanes32 { shuffle: [0; 32], shift: [0; 8], shift_back: [0; 8], mask: [0; 8] } }; 33];
    let mut width = 0;
    while width <= 32 {
        let entry = &mut table[width];
        let mut lane = 0;
        while lane < 8 {
            // The upper half's load begins at the byte of its first bit.
            let first = if lane < 4 { 0 } else { 4 * width / 8 * 8 };
            let bit = lane * width - first;
            let mut byte = 0;
            while byte < 4 {
                entry.shuffle[lane * 4 + byte] = (bit / 8 + byte) as u8;
                byte += 1;
            }
            entry.shift[lane] = (bit % 8) as u32;
            entry.shift_back[lane] = 8 - (bit % 8) as u32;
            entry.mask[lane] = ((1_u64 << width) - 1) as u32;
            lane += 1;
        }
        width += 1;
    }
    table
};

/// By width, 0 to 64.
pub(super) static LANES64: [Lanes64; 65] = {
    const HALF: Half64 = Half64 { shuffle: [0; 32], shift: [0; 4], shift_back: [0; 4] };
    let mut table = [const { Lanes64 { halves: [HALF; 2], mask: [0; 4] } }; 65];
    let mut width = 0;
    while width <= 64 {
        let mut value = 0;
        while value < 8 {
            let lane = value % 4;
            let entry = &mut table[width].halves[value / 4];
            // Each pair of values has a load, which begins at the byte of its first bit.
            let bit = value * width - value / 2 * 2 * width / 8 * 8;
            let mut byte = 0;
            while byte < 8 {
                entry.shuffle[lane * 8 + byte] = (bit / 8 + byte) as u8;
                byte += 1;
            }
            entry.shift[lane] = (bit % 8) as u64;
            entry.shift_back[lane] = 8 - (bit % 8) as u64;
            table[width].mask[lane] = ((1_u128 << width) - 1) as u64;
            value += 1;
        }
        width += 1;
    }
    table
};

/// Moves two groups of eight values to 16-bit lanes.
#[repr(C, align(32))]
pub(super) struct Lanes8 {
    pub(super) shuffle: [u8; 32],
    /// Multiplier that brings the value to the top of its lane.
    pub(super) raise: [u16; 16],
}

/// By width, 0 to 8.
pub(super) static LANES8: [Lanes8; 9] = {
    let mut table = [const { Lanes8 { shuffle: [0; 32], raise: [0; 16] } }; 9];
    let mut width = 0;
    while width <= 8 {
        let mut lane = 0;
        while lane < 16 {
            let bit = lane % 8 * width;
            table[width].shuffle[lane * 2] = (bit / 8) as u8;
            table[width].shuffle[lane * 2 + 1] = (bit / 8 + 1) as u8;
            table[width].raise[lane] = (1_u32 << (16 - width - bit % 8)) as u16;
            lane += 1;
        }
        width += 1;
    }
    table
};

/// The maximum width at which values lie within a 32-bit lane at any shift.
pub(crate) const NARROW32: usize = 25;
/// The maximum width at which values lie within a 64-bit lane at any shift.
pub(crate) const NARROW64: usize = 57;
/// The number of bytes from a group's first that loads for 32-bit lanes may access.
pub(crate) const WINDOW32: usize = 33;
/// The number of bytes from a group's first that loads for 64-bit lanes may access.
pub(crate) const WINDOW64: usize = 65;

/// The number of groups of `width` bytes, at most `wanted`, that have `window` bytes of a source of `len` bytes from
/// their first on.
#[inline(always)]
pub(crate) fn groups_within(len: usize, width: usize, window: usize, wanted: usize) -> usize {
    if len < window + wanted * width {
        len.saturating_sub(window - 1).div_ceil(width.max(1)).min(wanted)
    } else {
        wanted
    }
}
