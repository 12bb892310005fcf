//! The specification, value by value.

use crate::bitpack::reference::{pack, unpack};

/// The specification's parameters of each type.
pub(super) trait Spec: Copy + PartialEq + std::fmt::Debug + std::str::FromStr<Err: std::fmt::Debug> {
    const SIZE: usize = size_of::<Self>();
    const MAX_EXPONENT: u8;
    fn from_integer(value: i64) -> Self;
    fn times(self, other: Self) -> Self;
    fn from_raw_bits(bits: u64) -> Self;
    fn bits(self) -> u64;
    /// The nearest integer, ties to even, if the type of integers has it.
    fn nearest_integer(self) -> Option<i64>;
}

impl Spec for f32 {
    const MAX_EXPONENT: u8 = 10;

    fn from_integer(value: i64) -> Self {
        value as i32 as Self
    }

    fn times(self, other: Self) -> Self {
        self * other
    }

    fn from_raw_bits(bits: u64) -> Self {
        Self::from_bits(bits as u32)
    }

    fn bits(self) -> u64 {
        self.to_bits().into()
    }

    fn nearest_integer(self) -> Option<i64> {
        // Everything below the range becomes the smallest integer; processors' conversions do not report it.
        (self < 2_f32.powi(31)).then(|| i64::from(self.round_ties_even() as i32))
    }
}

impl Spec for f64 {
    const MAX_EXPONENT: u8 = 18;

    fn from_integer(value: i64) -> Self {
        value as Self
    }

    fn times(self, other: Self) -> Self {
        self * other
    }

    fn from_raw_bits(bits: u64) -> Self {
        Self::from_bits(bits)
    }

    fn bits(self) -> u64 {
        self.to_bits()
    }

    fn nearest_integer(self) -> Option<i64> {
        (self.abs() < 2_f64.powi(63)).then(|| self.round_ties_even() as i64)
    }
}

/// The nearest value to `10^power`.
pub(super) fn power<T: Spec>(power: i32) -> T {
    format!("1e{power}").parse().unwrap()
}

/// A pair of exponent and factor, with its powers of ten.
pub(super) struct Pair<T> {
    up: [T; 2],
    down: [T; 2],
}

impl<T: Spec> Pair<T> {
    pub(super) fn new(exponent: u8, factor: u8) -> Self {
        let (exponent, factor) = (i32::from(exponent), i32::from(factor));
        Self { up: [power(exponent), power(-factor)], down: [power(factor), power(-exponent)] }
    }

    /// The value that the integer represents.
    fn value(&self, integer: i64) -> T {
        T::from_integer(integer).times(self.down[0]).times(self.down[1])
    }

    /// The integer that represents the value and gives it back bit by bit, if there is one.
    pub(super) fn integer(&self, value: T) -> Option<i64> {
        let integer = value.times(self.up[0]).times(self.up[1]).nearest_integer()?;
        (self.value(integer).bits() == value.bits()).then_some(integer)
    }
}

/// A vector of a page, before it is serialised.
#[derive(Debug, Clone)]
pub(super) struct Vector<T> {
    pub(super) exponent: u8,
    pub(super) factor: u8,
    pub(super) base: u64,
    pub(super) width: u32,
    pub(super) packed: Vec<u64>,
    pub(super) exceptions: Vec<(u16, T)>,
}

impl<T: Spec> Vector<T> {
    pub(super) fn values(&self) -> Vec<T> {
        let pair = Pair::new(self.exponent, self.factor);
        let value = |&packed: &u64| pair.value(self.base.wrapping_add(packed).cast_signed());
        let mut values: Vec<T> = self.packed.iter().map(value).collect();
        for &(position, exception) in &self.exceptions {
            values[usize::from(position)] = exception;
        }
        values
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.exponent, self.factor];
        bytes.extend((self.exceptions.len() as u16).to_le_bytes());
        bytes.extend(&self.base.to_le_bytes()[..T::SIZE]);
        bytes.push(self.width as u8);
        bytes.extend(pack(&self.packed, self.width));
        for (position, _) in &self.exceptions {
            bytes.extend(position.to_le_bytes());
        }
        for (_, value) in &self.exceptions {
            bytes.extend(&value.bits().to_le_bytes()[..T::SIZE]);
        }
        bytes
    }
}

/// A page of vectors, each but the last with `2^log_vector_len` values.
pub(super) fn page<T: Spec>(vectors: &[Vector<T>], log_vector_len: u8) -> Vec<u8> {
    let value_count: usize = vectors.iter().map(|vector| vector.packed.len()).sum();
    let mut page = vec![0, 0, log_vector_len];
    page.extend((value_count as i32).to_le_bytes());
    let mut offset = vectors.len() * 4;
    for vector in vectors {
        page.extend((offset as u32).to_le_bytes());
        offset += vector.bytes().len();
    }
    page.extend(vectors.iter().flat_map(Vector::bytes));
    page
}

/// All vectors of a valid page.
pub(super) fn vectors<T: Spec>(page: &[u8]) -> Vec<Vector<T>> {
    assert_eq!(page[..2], [0, 0]);
    let vector_len = 1 << page[2];
    let mut left = i32::from_le_bytes(page[3..7].try_into().unwrap()) as usize;
    let body = &page[7..];
    let number = |at: usize, len: usize| (0..len).map(|i| u64::from(body[at + i]) << (8 * i)).sum::<u64>();
    let mut vectors = Vec::new();
    while left > 0 {
        let mut at = number(vectors.len() * 4, 4) as usize;
        let len = left.min(vector_len);
        let (exponent, factor, exception_count) = (body[at], body[at + 1], number(at + 2, 2) as usize);
        let (base, width) = (number(at + 4, T::SIZE), u32::from(body[at + 4 + T::SIZE]));
        at += 5 + T::SIZE;
        let packed = unpack(&body[at..], width, len);
        at += (len * width as usize).div_ceil(8);
        let values_at = at + 2 * exception_count;
        let exception =
            |i: usize| (number(at + 2 * i, 2) as u16, T::from_raw_bits(number(values_at + T::SIZE * i, T::SIZE)));
        let exceptions = (0..exception_count).map(exception).collect();
        vectors.push(Vector { exponent, factor, base, width, packed, exceptions });
        left -= len;
    }
    vectors
}

/// All values of a valid page.
pub(super) fn decode<T: Spec>(page: &[u8]) -> Vec<T> {
    vectors(page).iter().flat_map(Vector::values).collect()
}
