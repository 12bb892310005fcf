//! The keys and values, each a function of its number, so that no list of them has to be kept and every answer can be
//! checked.

/// The kind and order of keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// 8 bytes in random order.
    Random,
    /// 8 bytes, ascending.
    Sequential,
    /// Decimal numbers of 20 digits in random order.
    Strings,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Random, Kind::Sequential, Kind::Strings];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Random => "random",
            Kind::Sequential => "sequential",
            Kind::Strings => "strings",
        }
    }

    pub fn parse(text: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == text)
    }

    /// The number in the key of entry `number`.
    fn code(self, number: u64) -> u64 {
        match self {
            Kind::Sequential => 2 * number,
            // Even, so that there is room for a number between any two.
            Kind::Random | Kind::Strings => mixed(number) & !1,
        }
    }

    pub fn key(self, number: u64) -> Key {
        self.encode(self.code(number))
    }

    /// The greatest key less than the key of entry `number`; no entry has it.
    pub fn below(self, number: u64) -> Key {
        match self.code(number) {
            0 => self.encode(0),
            code => self.encode(code - 1),
        }
    }

    /// A key that no entry has.
    pub fn absent(self, number: u64) -> Key {
        self.encode(match self {
            Kind::Sequential => 2 * number + 1,
            Kind::Random | Kind::Strings => mixed(number) | 1,
        })
    }

    fn encode(self, code: u64) -> Key {
        let mut bytes = [0; 20];
        match self {
            Kind::Random | Kind::Sequential => {
                bytes[..8].copy_from_slice(&code.to_be_bytes());
                Key { bytes, len: 8 }
            }
            Kind::Strings => {
                let mut rest = code;
                for digit in bytes.iter_mut().rev() {
                    *digit = b'0' + (rest % 10) as u8;
                    rest /= 10;
                }
                Key { bytes, len: 20 }
            }
        }
    }

    /// Two keys with a share of all keys between them, and the number of those among `count` entries.
    pub fn range(self, count: u64, random: &mut Random, part: f64) -> (Key, Key, u64) {
        let all = if self == Kind::Sequential { 2 * count } else { u64::MAX };
        let width = (all as f64 * part) as u64;
        let low = random.below(all - width);
        let within = (0..count).filter(|&number| (low..low + width).contains(&self.code(number))).count() as u64;
        (self.encode(low), self.encode(low + width), within)
    }
}

/// A key's bytes.
#[derive(Clone, Copy)]
pub struct Key {
    bytes: [u8; 20],
    len: usize,
}

impl std::ops::Deref for Key {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// The value of entry `number`.
pub fn value(number: u64) -> u64 {
    number ^ 0x5DEE_CE66_D1CE_4E5B
}

/// A permutation of 64-bit numbers that leaves no pattern (Stafford's mix 13). Its upper 63 bits are not a permutation:
/// two of 20 million numbers share them with a chance of 1 in 46,000, and then a get finds the wrong value.
fn mixed(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// Numbers that choose entries, different in every call.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(mixed(seed) | 1)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(end)) >> 64) as u64
    }
}
