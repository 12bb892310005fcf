//! Positions of packed bytes: tables by width for tiers whose byte shuffle takes 16 bytes.

/// No byte: a shuffle writes zero.
const NONE: u8 = 0x80;

/// Moves two lanes of 64 bits, each with half a group's bits, to a group's bytes: widths to 16.
#[repr(C, align(32))]
pub(super) struct Places16 {
    /// The bytes of the first lane, and of the second, for both halves of a register.
    pub(super) lanes: [[u8; 32]; 2],
    /// The shift of each lane that brings its first bit to its position in its byte.
    pub(super) shift: [u64; 4],
}

/// Moves four lanes of 64 bits to consecutive bits.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct Places {
    /// The bytes of the even lanes, and of the odd lanes, each within the 16 bytes of its half of the register.
    pub(super) lanes: [[u8; 32]; 2],
    /// The bits that the shift moved out of the lanes.
    pub(super) spilled: [u8; 32],
    pub(super) shift: [u64; 4],
    /// The first byte of a half, within the bytes of the half before it.
    pub(super) shared: [[u8; 16]; 2],
}

const NOWHERE: Places = Places { lanes: [[NONE; 32]; 2], spilled: [NONE; 32], shift: [0; 4], shared: [[NONE; 16]; 2] };

impl Places {
    /// For the lanes from `first_lane` on, among lanes that have `bits` bits each.
    const fn new(first_lane: usize, bits: usize) -> Self {
        let mut places = NOWHERE;
        let mut half = 0;
        while half < 2 {
            // Lanes before this half give its start and the start of the half before it.
            let lanes_before = first_lane + 2 * half;
            let begin = lanes_before * bits;
            if !begin.is_multiple_of(8) {
                places.shared[half][0] = (begin / 8 - (lanes_before - 2) * bits / 8) as u8;
            }
            let mut lane = 0;
            while lane < 2 {
                // Bits from the first byte of the half on.
                let first = begin % 8 + lane * bits;
                let mut byte = first / 8;
                while byte < (first + bits).div_ceil(8) && byte < 16 {
                    let from = byte - first / 8;
                    if from < 8 {
                        places.lanes[lane][half * 16 + byte] = (lane * 8 + from) as u8;
                    } else {
                        places.spilled[half * 16 + byte] = (lane * 8) as u8;
                    }
                    byte += 1;
                }
                places.shift[half * 2 + lane] = (first % 8) as u64;
                lane += 1;
            }
            half += 1;
        }
        places
    }
}

/// By width, 0 to 7: joins the bytes of two groups, from two 64-bit lanes.
pub(super) static COMPACT8: [[u8; 32]; 8] = {
    let mut table = [[NONE; 32]; 8];
    let mut width = 0;
    while width < 8 {
        let mut byte = 0;
        while byte < 2 * width {
            let from = if byte < width { byte } else { 8 + byte - width };
            table[width][byte] = from as u8;
            table[width][16 + byte] = from as u8;
            byte += 1;
        }
        width += 1;
    }
    table
};

/// By width, 0 to 16.
pub(super) static PLACES16: [Places16; 17] = {
    let mut table = [const { Places16 { lanes: [[NONE; 32]; 2], shift: [0; 4] } }; 17];
    let mut width = 0;
    while width <= 16 {
        let entry = &mut table[width];
        let mut lane = 0;
        while lane < 2 {
            let first = lane * 4 * width;
            let mut byte = first / 8;
            while byte < (first + 4 * width).div_ceil(8) {
                let from = (lane * 8 + byte - first / 8) as u8;
                entry.lanes[lane][byte] = from;
                entry.lanes[lane][16 + byte] = from;
                byte += 1;
            }
            entry.shift[lane] = (first % 8) as u64;
            entry.shift[2 + lane] = (first % 8) as u64;
            lane += 1;
        }
        width += 1;
    }
    table
};

/// By width, 0 to 32: a group's four pairs of values, joined.
pub(super) static PLACES32: [Places; 33] = {
    let mut table = [NOWHERE; 33];
    let mut width = 0;
    while width <= 32 {
        table[width] = Places::new(0, 2 * width);
        width += 1;
    }
    table
};

/// By width, 0 to 55: a group's first four values and its other four.
pub(super) static PLACES64: [[Places; 2]; 56] = {
    let mut table = [[NOWHERE; 2]; 56];
    let mut width = 0;
    while width <= 55 {
        table[width] = [Places::new(0, width), Places::new(4, width)];
        width += 1;
    }
    table
};

/// The width whose pairs do not fit 64 bits at every shift.
pub(super) const SPILLING32: usize = 31;
