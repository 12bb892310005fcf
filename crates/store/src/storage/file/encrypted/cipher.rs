//! Encrypts the sectors of a store's files: AES-256 in XTS mode.

use std::fmt;

use aes::Aes256;
use aes::cipher::consts::{U32, U64};
use aes::cipher::{Array, KeyInit};
use xts_mode::{Xts128, get_tweak_default};

/// The length of the units that are encrypted by themselves. Disks write a sector as a whole, so a write that a power failure
/// interrupts leaves sectors that can be decrypted, as they were or as they are to be.
pub(super) const SECTOR: usize = 512;

/// Bytes of the keys of a [`SectorCipher`].
pub(super) const KEYS_LEN: usize = 64;

/// The cipher of the sectors of all files of a store.
pub(super) struct SectorCipher {
    xts: Xts128<Aes256>,
}

impl SectorCipher {
    pub(super) fn new(keys: &[u8; KEYS_LEN]) -> Self {
        let (blocks, tweaks) = Array::<u8, U64>(*keys).split::<U32>();
        Self { xts: Xts128::new(Aes256::new(&blocks), Aes256::new(&tweaks)) }
    }

    /// Encrypts whole sectors, the first of which has this number in `file`.
    pub(super) fn encrypt(&self, file: u8, first: u64, sectors: &mut [u8]) {
        self.xts.encrypt_area(sectors, SECTOR, tweak_number(file, first), get_tweak_default);
    }

    /// Decrypts whole sectors. A sector of zeros was never written, and stays one: a cipher text of zeros does not occur.
    pub(super) fn decrypt(&self, file: u8, first: u64, sectors: &mut [u8]) {
        for (number, sector) in (first..).zip(sectors.chunks_exact_mut(SECTOR)) {
            if sector.iter().any(|byte| *byte != 0) {
                self.xts.decrypt_sector(sector, get_tweak_default(tweak_number(file, number)));
            }
        }
    }
}

/// No two sectors of a store have the same number.
fn tweak_number(file: u8, sector: u64) -> u128 {
    u128::from(file) << 64 | u128::from(sector)
}

impl fmt::Debug for SectorCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SectorCipher").finish_non_exhaustive()
    }
}
