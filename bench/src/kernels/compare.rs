//! Kernels that predicates call, compared with arrow-ord on arrays of the same values. Each row's bitmaps are compared.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Date32Type, Decimal128Type, Float64Type, Int64Type, UInt32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Datum, DictionaryArray, PrimitiveArray, Scalar, StringArray, StringViewArray,
};
use arrow_ord::cmp;
use lath_kernels::compare::{self, Comparison, Number, Truth, word_count};
use lath_kernels::{ByteStrings, KernelError};

use super::encode::{Goal, Row, Side};
use super::timing::time;
use super::workload::COUNT;
use crate::data::Random;

const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];

pub fn rows() -> Vec<Row> {
    let mut random = Random(71);
    let mut below = |limit: u64| -> Vec<u64> { (0..COUNT).map(|_| random.below(limit)).collect() };
    let dates: Vec<i32> = below(2_526).iter().map(|&day| 8_036 + day as i32).collect();
    let later: Vec<i32> = dates.iter().zip(below(60)).map(|(&day, ahead)| day + 30 - ahead as i32).collect();
    let keys: Vec<i64> = below(60_000_000).iter().map(|&key| key as i64).collect();
    let prices: Vec<f64> = below(10_000_000).iter().map(|&price| price as f64 / 100.0).collect();
    let decimals: Vec<i128> = below(10_000_000).iter().map(|&price| i128::from(price)).collect();
    let modes: Vec<&str> = below(7).iter().map(|&mode| MODES[mode as usize]).collect();
    let mut rows = vec![
        literal::<Date32Type>("date", 0.15, dates.clone(), 9_000),
        literal::<Int64Type>("i64", 0.3, keys.clone(), 9_000_000),
        literal::<Float64Type>("f64", 0.3, prices, 5_000.0),
        literal::<Decimal128Type>("decimal", 0.6, decimals, 500_000),
        columns(dates, later),
    ];
    rows.extend([2, 16].map(|count| in_numbers(keys.clone(), count)));
    rows.push(in_codes(&modes));
    rows.push(in_views(&modes));
    rows
}

/// Times a kernel, and checks its bitmap.
fn lath_side(expected: BooleanArray, kernel: impl Fn(&mut [u64]) -> Result<(), KernelError> + 'static) -> Side {
    Box::new(move |total: Duration| {
        let mut out = vec![0; word_count(COUNT)];
        let timing = time(total, || kernel(black_box(&mut out)).expect("values are sound"));
        assert!((0..COUNT).all(|row| (out[row / 64] >> (row % 64) & 1 == 1) == expected.value(row)));
        timing
    })
}

fn arrow_side(work: impl Fn() -> BooleanArray + 'static) -> Vec<(&'static str, Side)> {
    let side: Side = Box::new(move |total| time(total, || drop(black_box(work()))));
    vec![("arrow-ord", side)]
}

fn literal<T: ArrowPrimitiveType<Native: Number>>(
    name: &str,
    goal: f64,
    values: Vec<T::Native>,
    literal: T::Native,
) -> Row {
    let array = PrimitiveArray::<T>::from_iter_values(values.iter().copied());
    let scalar = PrimitiveArray::<T>::new_scalar(literal);
    let expected = cmp::lt(&array, &scalar).expect("types agree");
    Row {
        name: format!("compare-{name}"),
        what: format!("{name} < literal"),
        goal: Goal::NanosecondsPerValue(goal),
        lath: lath_side(expected, move |out| compare::compare(black_box(&values), Comparison::Less, literal, out)),
        peers: arrow_side(move || cmp::lt(black_box(&array), &scalar).expect("types agree")),
    }
}

fn columns(left: Vec<i32>, right: Vec<i32>) -> Row {
    let array = |values: &[i32]| PrimitiveArray::<Date32Type>::from_iter_values(values.iter().copied());
    let (a, b) = (array(&left), array(&right));
    let expected = cmp::lt(&a, &b).expect("types agree");
    Row {
        name: "compare-columns".to_owned(),
        what: "date < date".to_owned(),
        goal: Goal::NanosecondsPerValue(0.15),
        lath: lath_side(expected, move |out| {
            compare::compare_slices(black_box(&left), Comparison::Less, black_box(&right), out)
        }),
        peers: arrow_side(move || cmp::lt(black_box(&a), black_box(&b)).expect("types agree")),
    }
}

/// An equality for each value of the set, with their bitmaps combined: arrow-ord has no IN.
fn arrow_in(array: &dyn Datum, set: &[Scalar<ArrayRef>]) -> BooleanArray {
    let bits = set.iter().map(|wanted| cmp::eq(array, wanted).expect("types agree").values().clone());
    BooleanArray::new(bits.reduce(|a, b| &a | &b).expect("a set has values"), None)
}

fn in_numbers(values: Vec<i64>, count: usize) -> Row {
    let array = PrimitiveArray::<Int64Type>::from_iter_values(values.iter().copied());
    let set = values[..count].to_vec();
    let scalar = |&value: &i64| Scalar::new(Arc::new(PrimitiveArray::<Int64Type>::from(vec![value])) as ArrayRef);
    let scalars: Vec<Scalar<ArrayRef>> = set.iter().map(scalar).collect();
    let expected = arrow_in(&array, &scalars);
    Row {
        name: format!("compare-in-{count}"),
        what: format!("i64 IN {count} values"),
        goal: Goal::None,
        lath: lath_side(expected, move |out| compare::in_set(black_box(&values), &set, out)),
        peers: arrow_side(move || arrow_in(black_box(&array), &scalars)),
    }
}

fn wanted_modes() -> Vec<Scalar<ArrayRef>> {
    ["MAIL", "SHIP"].map(|mode| Scalar::new(Arc::new(StringArray::from(vec![mode])) as ArrayRef)).to_vec()
}

fn in_codes(modes: &[&str]) -> Row {
    let array: DictionaryArray<UInt32Type> = modes.iter().copied().collect();
    let entries = array.values().clone();
    let entries = entries.as_string::<i32>();
    let passes = |code: usize| u64::from(matches!(entries.value(code), "MAIL" | "SHIP"));
    let truth = vec![(0..entries.len()).fold(0, |word, code| word | passes(code) << code)];
    let (keys, len) = (array.keys().values().to_vec(), entries.len());
    let wanted = wanted_modes();
    let expected = arrow_in(&array, &wanted);
    Row {
        name: "compare-codes".to_owned(),
        what: "dictionary of 7 ship modes IN 2".to_owned(),
        goal: Goal::NanosecondsPerValue(0.15),
        lath: lath_side(expected, move |out| compare::codes(black_box(&keys), Truth::new(&truth, len)?, out)),
        peers: arrow_side(move || arrow_in(black_box(&array), &wanted)),
    }
}

fn in_views(modes: &[&str]) -> Row {
    let array: StringViewArray = modes.iter().map(|&mode| Some(mode)).collect();
    let scalar = |mode: &str| Scalar::new(Arc::new(StringViewArray::from(vec![mode])) as ArrayRef);
    let wanted = ["MAIL", "SHIP"].map(scalar).to_vec();
    let expected = arrow_in(&array, &wanted);
    let views = array.views().to_vec();
    Row {
        name: "compare-views".to_owned(),
        what: "views of ship modes IN 2".to_owned(),
        goal: Goal::NanosecondsPerValue(0.8),
        lath: lath_side(expected, move |out| {
            let strings = ByteStrings::Views { views: black_box(&views), buffers: &[] };
            compare::strings_in_set(strings, &[b"MAIL", b"SHIP"], out)
        }),
        peers: arrow_side(move || arrow_in(black_box(&array), &wanted)),
    }
}
