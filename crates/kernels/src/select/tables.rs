//! Permutations by bitmap, computed at compile time. Lanes are bytes; `ABSENT` has the high bit set, which byte
//! shuffles treat as zero and which wider permutations turn into a mask.

pub(super) const ABSENT: u8 = 0x80;

/// For every bitmap of eight: lane `i` holds the rank of bit `i` among the set bits, or `ABSENT`. 2 KiB.
pub(super) static RANKS: [[u8; 8]; 256] = {
    let mut table = [[ABSENT; 8]; 256];
    let mut bits = 0;
    while bits < 256 {
        let (mut lane, mut rank) = (0, 0);
        while lane < 8 {
            if bits >> lane & 1 == 1 {
                table[bits][lane] = rank;
                rank += 1;
            }
            lane += 1;
        }
        bits += 1;
    }
    table
};

/// For every bitmap of eight: the positions of the set bits in order, then `ABSENT`. 2 KiB.
pub(super) static POSITIONS: [[u8; 8]; 256] = {
    let mut table = [[ABSENT; 8]; 256];
    let mut bits = 0;
    while bits < 256 {
        let (mut lane, mut rank) = (0, 0);
        while lane < 8 {
            if bits >> lane & 1 == 1 {
                table[bits][rank] = lane;
                rank += 1;
            }
            lane += 1;
        }
        bits += 1;
    }
    table
};

/// `lanes` of a row of eight, as byte lanes of elements of `WIDTH` bytes.
const fn widen<const ROWS: usize, const BYTES: usize, const WIDTH: usize>(
    narrow: &[[u8; 8]; 256],
) -> [[u8; BYTES]; ROWS] {
    let mut table = [[ABSENT; BYTES]; ROWS];
    let mut bits = 0;
    while bits < ROWS {
        let mut byte = 0;
        while byte < BYTES {
            let lane = narrow[bits][byte / WIDTH];
            if lane != ABSENT {
                table[bits][byte] = lane * WIDTH as u8 + (byte % WIDTH) as u8;
            }
            byte += 1;
        }
        bits += 1;
    }
    table
}

/// The tables for eight elements of two bytes: 4 KiB each.
pub(super) static RANKS_U16: [[u8; 16]; 256] = widen::<256, 16, 2>(&RANKS);
pub(super) static POSITIONS_U16: [[u8; 16]; 256] = widen::<256, 16, 2>(&POSITIONS);

/// For 32 bytes as lanes of four, of which `WORDS` make an element: 2 elements of 16 bytes or 4 of 8.
#[cfg(target_arch = "x86_64")]
const fn words<const ROWS: usize, const WORDS: usize>(narrow: &[[u8; 8]; 256]) -> [[u32; 8]; ROWS] {
    let mut table = [[1 << 31; 8]; ROWS];
    let mut bits = 0;
    while bits < ROWS {
        let mut word = 0;
        while word < 8 {
            let lane = narrow[bits][word / WORDS];
            if lane != ABSENT {
                table[bits][word] = lane as u32 * WORDS as u32 + (word % WORDS) as u32;
            }
            word += 1;
        }
        bits += 1;
    }
    table
}

#[cfg(target_arch = "x86_64")]
pub(super) static RANKS_U64: [[u32; 8]; 16] = words::<16, 2>(&RANKS);
#[cfg(target_arch = "x86_64")]
pub(super) static POSITIONS_U64: [[u32; 8]; 16] = words::<16, 2>(&POSITIONS);
#[cfg(target_arch = "x86_64")]
pub(super) static RANKS_U128: [[u32; 8]; 4] = words::<4, 4>(&RANKS);
#[cfg(target_arch = "x86_64")]
pub(super) static POSITIONS_U128: [[u32; 8]; 4] = words::<4, 4>(&POSITIONS);

#[cfg(target_arch = "aarch64")]
pub(super) static RANKS_U32: [[u8; 16]; 16] = widen::<16, 16, 4>(&RANKS);
#[cfg(target_arch = "aarch64")]
pub(super) static POSITIONS_U32: [[u8; 16]; 16] = widen::<16, 16, 4>(&POSITIONS);
#[cfg(target_arch = "aarch64")]
pub(super) static RANKS_U64: [[u8; 16]; 4] = widen::<4, 16, 8>(&RANKS);
#[cfg(target_arch = "aarch64")]
pub(super) static POSITIONS_U64: [[u8; 16]; 4] = widen::<4, 16, 8>(&POSITIONS);
