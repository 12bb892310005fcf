//! The definitions, slot by slot.

pub(super) fn find_u32x16(values: &[u32; 16], wanted: u32) -> usize {
    let mut found = 16;
    for (i, &value) in values.iter().enumerate().rev() {
        if value == wanted {
            found = i;
        }
    }
    found
}

pub(super) fn min_index(values: &[u16]) -> usize {
    let mut least = 0;
    for (i, &value) in values.iter().enumerate() {
        if value < values[least] {
            least = i;
        }
    }
    least
}

pub(super) fn slot_ranks(taken: u16) -> [u8; 16] {
    let mut ranks = [0; 16];
    let mut before = 0;
    for (i, rank) in ranks.iter_mut().enumerate() {
        *rank = before;
        before += u8::from(taken & 1 << i != 0);
    }
    ranks
}

pub(super) fn remap_branches(branches: &[u8], table: &[u8; 16]) -> Vec<u8> {
    branches.iter().map(|branch| table[usize::from(branch / 16)] % 16 * 16 + branch % 16).collect()
}
