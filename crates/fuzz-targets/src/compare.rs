//! `kind | operator | literal | values`: comparisons of every type, and of strings, agree with comparing one value at a
//! time.

use std::cmp::Ordering;

use crate::Input;
use lath_kernels::ByteStrings;
use lath_kernels::compare::{
    Comparison, Number, NumberSet, Truth, between, codes, compare, compare_slices, compare_strings, in_set,
    set_slot_count, strings_in_set, strings_start_with, word_count,
};

fn holds(order: Ordering, op: Comparison) -> bool {
    match op {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }
}

/// The answers of a kernel that writes over garbage, one for each value.
fn answers(count: usize, kernel: impl FnOnce(&mut [u64])) -> Vec<bool> {
    let mut words = vec![u64::MAX; word_count(count)];
    kernel(&mut words);
    let bit = |index: usize| words[index / 64] >> (index % 64) & 1 == 1;
    assert!((count..words.len() * 64).all(|index| !bit(index)), "padding is not zero");
    (0..count).map(bit).collect()
}

fn numbers<T: Number>(op: Comparison, values: &[T], order: fn(T, T) -> Ordering) {
    let [literal, high, rest @ ..] = values else { return };
    let (literal, high) = (*literal, *high);
    let each = |holds: &dyn Fn(T) -> bool| values.iter().map(|&value| holds(value)).collect::<Vec<_>>();

    let found = answers(values.len(), |out| compare(values, op, literal, out).unwrap());
    assert_eq!(found, each(&|value| holds(order(value, literal), op)));
    let found = answers(values.len(), |out| between(values, literal, high, out).unwrap());
    assert_eq!(found, each(&|value| order(value, literal).is_ge() && order(value, high).is_le()));
    let set = &rest[..rest.len().min(20)];
    let expected = each(&|value| set.iter().any(|&wanted| order(value, wanted).is_eq()));
    assert_eq!(answers(values.len(), |out| in_set(values, set, out).unwrap()), expected);
    let mut slots = vec![literal; set_slot_count(set.len())];
    let table = NumberSet::new(set, &mut slots).unwrap();
    assert_eq!(answers(values.len(), |out| table.find(values, out).unwrap()), expected);
    let (left, right) = values.split_at(values.len() / 2);
    let right = &right[..left.len()];
    let found = answers(left.len(), |out| compare_slices(left, op, right, out).unwrap());
    let expected: Vec<bool> = left.iter().zip(right).map(|(&a, &b)| holds(order(a, b), op)).collect();
    assert_eq!(found, expected);
}

/// Strings with offsets from the input, valid or not, and strings of fixed length.
fn strings(op: Comparison, literal: &[u8], width: usize, bytes: &[u8]) {
    let (offsets, data) = bytes.split_at(bytes.len() / 4);
    let offsets: Vec<i32> = offsets.iter().map(|&byte| i32::from(byte) - 2).collect();
    let string = |at: usize| {
        let (start, end) = (usize::try_from(offsets[at]).ok()?, usize::try_from(offsets[at + 1]).ok()?);
        data.get(start..end)
    };
    let behind: Option<Vec<&[u8]>> = (0..offsets.len().saturating_sub(1)).map(string).collect();
    check_strings(ByteStrings::Offsets32 { data, offsets: &offsets }, behind, op, literal);
    let whole = data.len() / width * width;
    let fixed = data[..whole].chunks_exact(width).collect();
    check_strings(ByteStrings::Fixed { data: &data[..whole], width }, Some(fixed), op, literal);
}

/// `expected` is `None` if a string lies outside of its bytes: then the result may be anything, but the kernel must not
/// panic.
fn check_strings(strings: ByteStrings<'_>, expected: Option<Vec<&[u8]>>, op: Comparison, literal: &[u8]) {
    let mut out = vec![0; word_count(strings.len())];
    let mut set = [literal, b"", &literal[..literal.len() / 2]];
    set.sort_unstable();
    let Some(expected) = expected else {
        let _ = compare_strings(strings, op, literal, &mut out);
        let _ = strings_in_set(strings, &set, &mut out);
        let _ = strings_start_with(strings, literal, &mut out);
        return;
    };
    let count = expected.len();
    let each = |holds: &dyn Fn(&[u8]) -> bool| expected.iter().map(|string| holds(string)).collect::<Vec<_>>();
    let found = answers(count, |out| compare_strings(strings, op, literal, out).unwrap());
    assert_eq!(found, each(&|string| holds(string.cmp(literal), op)));
    let found = answers(count, |out| strings_in_set(strings, &set, out).unwrap());
    assert_eq!(found, each(&|string| set.contains(&string)));
    let found = answers(count, |out| strings_start_with(strings, literal, out).unwrap());
    assert_eq!(found, each(&|string| string.starts_with(literal)));
}

macro_rules! of {
    ($number:ty, $bytes:expr) => {
        $bytes.as_chunks().0.iter().map(|bytes| <$number>::from_le_bytes(*bytes)).collect::<Vec<_>>()
    };
}

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let what = input.byte();
    let op = Comparison::ALL[usize::from(input.byte()) % Comparison::ALL.len()];
    let literal_len = usize::from(input.byte()) % 24;
    let bytes = input.rest();
    match what % 12 {
        0 => numbers(op, &of!(i8, bytes), |a, b| a.cmp(&b)),
        1 => numbers(op, &of!(i16, bytes), |a, b| a.cmp(&b)),
        2 => numbers(op, &of!(i32, bytes), |a, b| a.cmp(&b)),
        3 => numbers(op, &of!(i64, bytes), |a, b| a.cmp(&b)),
        4 => numbers(op, &of!(i128, bytes), |a, b| a.cmp(&b)),
        5 => numbers(op, &of!(u8, bytes), |a, b| a.cmp(&b)),
        6 => numbers(op, &of!(u32, bytes), |a, b| a.cmp(&b)),
        7 => numbers(op, &of!(u64, bytes), |a, b| a.cmp(&b)),
        8 => {
            let order = |a: f32, b: f32| a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()));
            numbers(op, &of!(f32, bytes), order);
        }
        9 => {
            let order = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()));
            numbers(op, &of!(f64, bytes), order);
        }
        10 => {
            let indices = of!(u32, bytes).into_iter().map(|code| code % 300).collect::<Vec<_>>();
            let words: Vec<u64> = of!(u64, bytes).into_iter().chain([0; 5]).take(5).collect();
            let entries = 1 + usize::from(data[0]) + literal_len;
            let truth = Truth::new(&words, entries).unwrap();
            let mut out = vec![0; word_count(indices.len())];
            let sound = indices.iter().all(|&code| (code as usize) < entries);
            assert_eq!(codes(&indices, truth, &mut out).is_ok(), sound);
            if sound {
                let found = answers(indices.len(), |out| codes(&indices, truth, out).unwrap());
                let bit = |&code: &u32| words[code as usize / 64] >> (code % 64) & 1 == 1;
                assert_eq!(found, indices.iter().map(bit).collect::<Vec<_>>());
            }
        }
        _ => {
            let (literal, bytes) = bytes.split_at(literal_len.min(bytes.len()));
            strings(op, literal, 1 + literal_len, bytes);
        }
    }
}
