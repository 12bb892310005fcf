//! Where the bytes of packed values go: tables by width for tiers whose byte shuffle takes 16 bytes.

/// Takes no byte: a shuffle writes zero.
const NONE: u8 = 0x80;

/// How two lanes of 64 bits, each with half a group's bits, come to a group's bytes: widths 9 to 16.
#[repr(C, align(32))]
pub(super) struct Places16 {
    /// The first lane's bytes, and the second's, of both halves of a register.
    pub(super) lanes: [[u8; 32]; 2],
    /// Shift of each lane, so that its first bit stands where it does in its byte.
    pub(super) shift: [u64; 4],
}

/// How four lanes of 64 bits, each with two values' bits, come to a group's bytes: widths to 32.
#[repr(C, align(32))]
pub(super) struct Places32 {
    /// The even lanes' bytes, and the odd lanes', each within its half of the group.
    pub(super) lanes: [[u8; 32]; 2],
    /// What shifting drove out of the lanes.
    pub(super) spilled: [u8; 32],
    pub(super) shift: [u64; 4],
    /// The byte of the lower half that the upper half begins in.
    pub(super) middle: [u8; 16],
}

/// By width, 0 to 8: the bytes of two groups, of two 64-bit lanes, behind each other.
pub(super) static COMPACT8: [[u8; 32]; 9] = {
    let mut table = [[NONE; 32]; 9];
    let mut width = 0;
    while width <= 8 {
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

/// By width, 0 to 32.
pub(super) static PLACES32: [Places32; 33] = {
    let mut table =
        [const { Places32 { lanes: [[NONE; 32]; 2], spilled: [NONE; 32], shift: [0; 4], middle: [NONE; 16] } }; 33];
    let mut width = 0;
    while width <= 32 {
        let entry = &mut table[width];
        let mut lane = 0;
        while lane < 4 {
            let half = lane / 2;
            // Bits from the byte on in which the half begins.
            let first = lane * 2 * width - half * (4 * width / 8 * 8);
            let mut byte = first / 8;
            while byte < (first + 2 * width).div_ceil(8) {
                let from = byte - first / 8;
                if from < 8 {
                    entry.lanes[lane % 2][half * 16 + byte] = (lane % 2 * 8 + from) as u8;
                } else {
                    entry.spilled[half * 16 + byte] = (lane % 2 * 8) as u8;
                }
                byte += 1;
            }
            entry.shift[lane] = (first % 8) as u64;
            lane += 1;
        }
        if width % 2 == 1 {
            entry.middle[0] = (width / 2) as u8;
        }
        width += 1;
    }
    table
};

/// Widest width whose pairs lie within 64 bits at any shift that occurs.
pub(super) const NARROW: usize = 30;
