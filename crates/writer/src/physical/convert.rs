//! Converts numbers from their width in Arrow to the width of the column.

use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::{IntervalUnit, TimeUnit};
use lath_format::schema::PhysicalType;

use super::{Strings, Values};

/// A value that the column cannot hold.
#[derive(Debug)]
pub(crate) struct Misfit {
    /// Index of the value, without nulls.
    pub(crate) index: usize,
    pub(crate) what: String,
}

/// Arrow type of the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    I8,
    I16,
    U8,
    U16,
    I32,
    I64,
    I128,
    I256,
    /// Milliseconds, which are stored as days.
    Millis,
}

/// A change of width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Narrow {
    source: Source,
    target: Target,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Int32,
    Int64,
    /// Big-endian two's complement of this many bytes.
    Fixed(usize),
    /// Big-endian two's complement, with as many bytes as the number needs.
    Bytes,
}

impl Narrow {
    pub(super) fn new(physical: PhysicalType, length: usize, source: Source) -> Option<Self> {
        let target = match physical {
            PhysicalType::INT32 => Target::Int32,
            PhysicalType::INT64 => Target::Int64,
            PhysicalType::FIXED_LEN_BYTE_ARRAY if length > 0 => Target::Fixed(length),
            PhysicalType::BYTE_ARRAY => Target::Bytes,
            _ => return None,
        };
        Some(Self { source, target })
    }

    /// Bytes of a value in Arrow.
    pub(super) fn source_width(self) -> usize {
        match self.source {
            Source::I8 | Source::U8 => 1,
            Source::I16 | Source::U16 => 2,
            Source::I32 => 4,
            Source::I64 | Source::Millis => 8,
            Source::I128 => 16,
            Source::I256 => 32,
        }
    }

    pub(super) fn apply(self, src: &[u8]) -> Result<Values, Misfit> {
        match self.target {
            Target::Int32 => Ok(Values::Words32(match self.source {
                Source::I8 => map(src, |v| i32::from(i8::from_le_bytes(v)).cast_unsigned()),
                Source::I16 => map(src, |v| i32::from(i16::from_le_bytes(v)).cast_unsigned()),
                Source::U8 => map(src, |[v]: [u8; 1]| v.into()),
                Source::U16 => map(src, |v| u16::from_le_bytes(v).into()),
                Source::I32 => map(src, u32::from_le_bytes),
                Source::I64 => checked(src, |v| i64::from_le_bytes(v) as i32, i64::from, i64::from_le_bytes)?,
                Source::I128 => checked(src, |v| i128::from_le_bytes(v) as i32, i128::from, i128::from_le_bytes)?,
                Source::I256 => checked(src, |v| low_i128(v) as i32, |v| (v.into(), sign(v.into())), halves)?,
                Source::Millis => checked(
                    src,
                    |v| i64::from_le_bytes(v).div_euclid(MILLIS_PER_DAY) as i32,
                    i64::from,
                    |v| i64::from_le_bytes(v).div_euclid(MILLIS_PER_DAY),
                )?,
            })),
            Target::Int64 => Ok(Values::Words64(match self.source {
                Source::I8 => map(src, |v| i64::from(i8::from_le_bytes(v)).cast_unsigned()),
                Source::I16 => map(src, |v| i64::from(i16::from_le_bytes(v)).cast_unsigned()),
                Source::U8 => map(src, |[v]: [u8; 1]| v.into()),
                Source::U16 => map(src, |v| u16::from_le_bytes(v).into()),
                Source::I32 => map(src, |v| i64::from(i32::from_le_bytes(v)).cast_unsigned()),
                Source::I64 | Source::Millis => map(src, u64::from_le_bytes),
                Source::I128 => checked(src, |v| i128::from_le_bytes(v) as i64, i128::from, i128::from_le_bytes)?,
                Source::I256 => checked(src, |v| low_i128(v) as i64, |v| (v.into(), sign(v.into())), halves)?,
            })),
            Target::Fixed(width) => match self.source_width() {
                1 => big_endian::<1>(src, width),
                2 => big_endian::<2>(src, width),
                4 => big_endian::<4>(src, width),
                8 => big_endian::<8>(src, width),
                16 => big_endian::<16>(src, width),
                _ => big_endian::<32>(src, width),
            },
            Target::Bytes => Ok(Values::Strings(match self.source_width() {
                1 => shortest_big_endian::<1>(src),
                2 => shortest_big_endian::<2>(src),
                4 => shortest_big_endian::<4>(src),
                8 => shortest_big_endian::<8>(src),
                16 => shortest_big_endian::<16>(src),
                _ => shortest_big_endian::<32>(src),
            })),
        }
    }
}

const MILLIS_PER_DAY: i64 = 86_400_000;

fn map<const N: usize, T: arrow_buffer::ArrowNativeType>(src: &[u8], f: impl Fn([u8; N]) -> T) -> ScalarBuffer<T> {
    src.as_chunks::<N>().0.iter().map(|value| f(*value)).collect::<Vec<T>>().into()
}

/// A stored word, as a signed integer and as bits.
trait StoredWord: Copy {
    type Word: arrow_buffer::ArrowNativeType;
    fn word(self) -> Self::Word;
}

impl StoredWord for i32 {
    type Word = u32;
    fn word(self) -> u32 {
        self.cast_unsigned()
    }
}

impl StoredWord for i64 {
    type Word = u64;
    fn word(self) -> u64 {
        self.cast_unsigned()
    }
}

/// Narrows values with `cut` and refuses the first that `widen` does not restore.
fn checked<const N: usize, T: StoredWord, W: PartialEq>(
    src: &[u8],
    cut: impl Fn([u8; N]) -> T,
    widen: impl Fn(T) -> W,
    whole: impl Fn([u8; N]) -> W,
) -> Result<ScalarBuffer<T::Word>, Misfit> {
    let values = src.as_chunks::<N>().0;
    let fits = |value: &[u8; N]| widen(cut(*value)) == whole(*value);
    // Without a branch on each value: they nearly always fit.
    let mut all_fit = true;
    let words: Vec<T::Word> = values
        .iter()
        .map(|value| {
            all_fit &= fits(value);
            cut(*value).word()
        })
        .collect();
    if all_fit {
        return Ok(words.into());
    }
    let index = values.iter().position(|value| !fits(value)).unwrap_or(0);
    let bits = 8 * size_of::<T>();
    Err(Misfit { index, what: format!("{} does not fit into {bits} bits", decimal(&values[index])) })
}

fn low_i128(value: [u8; 32]) -> i128 {
    halves(value).0
}

/// Lower and upper half of a 256-bit integer.
fn halves(value: [u8; 32]) -> (i128, i128) {
    let (low, high) = value.split_at(16);
    let half = |bytes: &[u8]| i128::from_le_bytes(std::array::from_fn(|i| bytes[i]));
    (half(low), half(high))
}

fn sign(value: i128) -> i128 {
    value >> 127
}

fn big_endian<const N: usize>(src: &[u8], width: usize) -> Result<Values, Misfit> {
    let values = src.as_chunks::<N>().0;
    let mut out = vec![0; values.len() * width];
    let kept = width.min(N);
    let mut all_fit = true;
    for (slot, value) in out.chunks_exact_mut(width).zip(values) {
        let fill = if value[N - 1] & 0x80 == 0 { 0 } else { 0xFF };
        let (before, number) = slot.split_at_mut(width - kept);
        before.fill(fill);
        for (byte, from) in number.iter_mut().zip(value[..kept].iter().rev()) {
            *byte = *from;
        }
        all_fit &= fits(value, kept);
    }
    if !all_fit {
        let index = values.iter().position(|value| !fits(value, kept)).unwrap_or(0);
        return Err(Misfit { index, what: format!("{} does not fit into {width} bytes", decimal(&values[index])) });
    }
    Ok(Values::Fixed { width, len: values.len(), bytes: Buffer::from_vec(out) })
}

fn shortest_big_endian<const N: usize>(src: &[u8]) -> Strings {
    let values = src.as_chunks::<N>().0;
    let mut data: Vec<u8> = Vec::with_capacity(src.len());
    let mut offsets = Vec::with_capacity(values.len() + 1);
    offsets.push(0);
    for value in values {
        let len = (1..N).find(|&len| fits(value, len)).unwrap_or(N);
        data.extend(value[..len].iter().rev());
        offsets.push(data.len() as i64);
    }
    Strings::Offsets64 { offsets: offsets.into(), data: Buffer::from_vec(data) }
}

/// Whether the bytes above the first `kept` only repeat the sign.
fn fits<const N: usize>(value: &[u8; N], kept: usize) -> bool {
    let fill = if value[kept - 1] & 0x80 == 0 { 0 } else { 0xFF };
    value[kept..].iter().all(|&byte| byte == fill)
}

/// The digits of a little-endian integer, for a message.
fn decimal(value: &[u8]) -> String {
    let fill = if value.last().is_some_and(|last| last & 0x80 != 0) { 0xFF } else { 0 };
    let wide: [u8; 32] = std::array::from_fn(|i| value.get(i).copied().unwrap_or(fill));
    arrow_buffer::i256::from_le_bytes(wide).to_string()
}

/// The Julian day of 1970-01-01.
const EPOCH_JULIAN_DAY: i64 = 2_440_588;

/// INT96: nanoseconds of the day, then the Julian day, both little-endian.
pub(super) fn int96(unit: TimeUnit, src: &[u8]) -> Result<Values, Misfit> {
    let (units_per_day, nanos_per_unit) = match unit {
        TimeUnit::Second => (86_400, 1_000_000_000),
        TimeUnit::Millisecond => (MILLIS_PER_DAY, 1_000_000),
        TimeUnit::Microsecond => (86_400_000_000, 1_000),
        TimeUnit::Nanosecond => (86_400_000_000_000, 1),
    };
    let mut out = Vec::with_capacity(src.len() / 8 * 12);
    for (index, value) in src.as_chunks::<8>().0.iter().enumerate() {
        let moment = i64::from_le_bytes(*value);
        let nanos = moment.rem_euclid(units_per_day) * nanos_per_unit;
        let Ok(day) = i32::try_from(moment.div_euclid(units_per_day) + EPOCH_JULIAN_DAY) else {
            return Err(Misfit { index, what: format!("the timestamp {moment} has no Julian day of 32 bits") });
        };
        out.extend_from_slice(&nanos.to_le_bytes());
        out.extend_from_slice(&day.to_le_bytes());
    }
    Ok(Values::Fixed { width: 12, len: out.len() / 12, bytes: Buffer::from_vec(out) })
}

/// INTERVAL: months, days and milliseconds, three little-endian unsigned integers of 32 bits.
pub(super) fn intervals(unit: IntervalUnit, src: &[u8]) -> Result<Values, Misfit> {
    let out = match unit {
        IntervalUnit::YearMonth => stored(src.as_chunks().0, |value: [u8; 4]| (i32::from_le_bytes(value), 0, 0)),
        IntervalUnit::DayTime => {
            stored(src.as_chunks().0, |value: [u8; 8]| (0, part(&value, 0), i64::from(part(&value, 4)) * 1_000_000))
        }
        IntervalUnit::MonthDayNano => stored(src.as_chunks().0, |value: [u8; 16]| {
            (part(&value, 0), part(&value, 4), i64::from_le_bytes(std::array::from_fn(|i| value[8 + i])))
        }),
    }?;
    Ok(Values::Fixed { width: 12, len: out.len() / 12, bytes: Buffer::from_vec(out) })
}

/// The 32 bits of an interval that begin at byte `at`.
fn part(value: &[u8], at: usize) -> i32 {
    i32::from_le_bytes(std::array::from_fn(|i| value[at + i]))
}

/// Intervals as they are stored; `parts` gives months, days and nanoseconds.
fn stored<const N: usize>(values: &[[u8; N]], parts: impl Fn([u8; N]) -> (i32, i32, i64)) -> Result<Vec<u8>, Misfit> {
    let mut out = Vec::with_capacity(12 * values.len());
    for (index, value) in values.iter().enumerate() {
        let (months, days, nanos) = parts(*value);
        let millis = if nanos % 1_000_000 == 0 { u32::try_from(nanos / 1_000_000).ok() } else { None };
        let (Ok(stored_months), Ok(stored_days), Some(millis)) = (u32::try_from(months), u32::try_from(days), millis)
        else {
            let what = format!(
                "an interval of {months} months, {days} days and {nanos} ns, where Parquet has no negative parts, and whole \
                 milliseconds of 32 bits"
            );
            return Err(Misfit { index, what });
        };
        [stored_months, stored_days, millis].iter().for_each(|part| out.extend_from_slice(&part.to_le_bytes()));
    }
    Ok(out)
}
