/// The style of the strings in a column. Equal keys give equal strings.
#[derive(Debug, Clone, Copy)]
pub(super) enum TextStyle {
    /// Up to 12 bytes, including the empty string: short enough for a view.
    Short,
    /// A shared prefix and a few digits: the case for DELTA_BYTE_ARRAY.
    Prefixed,
    /// Letters of two, three and four bytes.
    NonAscii,
    /// Mostly a few dozen bytes; one in sixteen has some thousands.
    Long,
}

impl TextStyle {
    pub(super) fn any(random: &mut fastrand::Rng) -> Self {
        super::pick(random, &[Self::Short, Self::Short, Self::Prefixed, Self::Prefixed, Self::NonAscii, Self::Long])
    }

    /// The string for `key`.
    pub(super) fn string(self, key: u64) -> String {
        let mut random = fastrand::Rng::with_seed(key);
        match self {
            Self::Short => {
                let len = random.usize(..=12);
                std::iter::repeat_with(|| random.alphanumeric()).take(len).collect()
            }
            Self::Prefixed => format!("https://example.org/a/rather/long/start/{key:020}"),
            Self::NonAscii => {
                let len = random.usize(..20);
                let letters = ['a', 'é', 'ß', 'Ω', '語', '€', '𝄞', '🦀', '\u{0}', '\u{10FFFF}'];
                std::iter::repeat_with(|| super::pick(&mut random, &letters)).take(len).collect()
            }
            Self::Long => {
                let len = if random.u8(..16) == 0 { random.usize(1000..6000) } else { random.usize(10..80) };
                let unit = format!("{key:x}-");
                unit.chars().cycle().take(len).collect()
            }
        }
    }

    /// The bytes for `key`: the bytes of the string, made invalid as UTF-8 for odd keys.
    pub(super) fn bytes(self, key: u64) -> Vec<u8> {
        let mut bytes = self.string(key).into_bytes();
        if key % 2 == 1 {
            bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_sub(0x60));
        }
        bytes
    }
}
