//! Compares the evaluation of whole arrays with one value at a time.

use std::sync::Arc;

use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Date32Type, Decimal128Type, Float16Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray, PrimitiveArray, StringArray,
    StringViewArray,
};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;
use bytes::Bytes;
use half::f16;
use lath_kernels::compare::Comparison;
use lath_testkit::Seeded;

use super::{columns, test_values};
use crate::test::ValueTest;
use crate::value::{Pattern, Value, ValueSet};

fn holds(test: &ValueTest, value: &Value) -> bool {
    match test {
        ValueTest::Compare(op, literal) => op.holds(value.cmp(literal)),
        ValueTest::Between(low, high) => low <= value && value <= high,
        ValueTest::In(set) => set.values().iter().any(|wanted| wanted == value),
        ValueTest::Like(pattern) => matches!(value, Value::Bytes(bytes) if pattern.matches(bytes)),
        other => panic!("{other:?}"),
    }
}

fn expected(test: &ValueTest, values: &[Option<Value>]) -> BooleanArray {
    values.iter().map(|value| value.as_ref().map(|value| holds(test, value))).collect()
}

/// Runs every test on `array`, which has `values`, and on a slice of it. Literals come from `values` and `others`.
fn check(random: &mut Seeded, array: &ArrayRef, values: &[Option<Value>], others: &[Value]) {
    let pick = |random: &mut Seeded| match values.get(random.usize(..=values.len() * 2)) {
        Some(Some(value)) => value.clone(),
        _ => others[random.usize(..others.len())].clone(),
    };
    let mut tests: Vec<ValueTest> = Comparison::ALL.map(|op| ValueTest::Compare(op, pick(random))).to_vec();
    tests.push(ValueTest::Between(pick(random), pick(random)));
    for len in [0, 1, 2, 9, 60] {
        tests.push(ValueTest::In(ValueSet::new((0..len).map(|_| pick(random)).collect())));
    }
    if let Value::Bytes(bytes) = pick(random)
        && let Ok(text) = std::str::from_utf8(&bytes[..bytes.len().min(random.usize(..20))])
    {
        tests.push(ValueTest::Like(Pattern::new(&format!("{text}%"), false)));
        tests.push(ValueTest::Like(Pattern::new(text, false)));
    }
    let from = random.usize(..=values.len().min(70));
    for test in tests {
        let context = || format!("seed {:#x}, {} {test:?}", random.seed(), array.data_type());
        assert_eq!(test_values(&test, array).unwrap(), expected(&test, values), "{}", context());
        let part = array.slice(from, values.len() - from);
        assert_eq!(test_values(&test, &part).unwrap(), expected(&test, &values[from..]), "{}, sliced", context());
    }
}

/// The array, and dictionary arrays of its values.
fn check_all(random: &mut Seeded, array: &ArrayRef, values: &[Option<Value>], others: &[Value]) {
    check(random, array, values, others);
    check_dictionary::<Int32Type>(random, array, values, others);
    check_dictionary::<UInt8Type>(random, &array.slice(0, array.len().min(200)), values, others);
    check_dictionary::<Int64Type>(random, array, values, others);
}

fn check_dictionary<K: ArrowDictionaryKeyType>(
    random: &mut Seeded,
    entries: &ArrayRef,
    values: &[Option<Value>],
    others: &[Value],
) {
    let keys: Vec<Option<usize>> =
        (0..300).map(|_| (random.u8(..) > 30 && !entries.is_empty()).then(|| random.usize(..entries.len()))).collect();
    let rows: Vec<Option<Value>> = keys.iter().map(|key| key.and_then(|key| values[key].clone())).collect();
    let keys: PrimitiveArray<K> = keys.iter().map(|key| key.and_then(K::Native::from_usize)).collect();
    let array: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::clone(entries)));
    check(random, &array, &rows, others);
}

fn check_primitive<T: ArrowPrimitiveType>(
    data_type: &DataType,
    make: impl Fn(u128) -> T::Native,
    value: impl Fn(T::Native) -> Value,
    others: &[Value],
) {
    let mut random = Seeded::new(format!("evaluate::{data_type}"));
    for len in [0, 1, 63, 64, 65, 1000] {
        let native = |random: &mut Seeded| match random.u8(..8) {
            0 => None,
            1..4 => Some(make(u128::from(random.u8(..4)))),
            _ => Some(make(random.u128(..) >> random.u32(..128))),
        };
        let left: Vec<_> = (0..len).map(|_| native(&mut random)).collect();
        let right: Vec<_> = (0..len).map(|row| if random.bool() { left[row] } else { native(&mut random) }).collect();
        let array = |values: &[Option<T::Native>]| -> ArrayRef {
            Arc::new(values.iter().copied().collect::<PrimitiveArray<T>>().with_data_type(data_type.clone()))
        };
        let of =
            |values: &[Option<T::Native>]| -> Vec<Option<Value>> { values.iter().map(|v| v.map(&value)).collect() };
        check_all(&mut random, &array(&left), &of(&left), others);
        for op in Comparison::ALL {
            let pairs = of(&left).into_iter().zip(of(&right));
            let expected: BooleanArray = pairs.map(|(left, right)| Some(op.holds(left?.cmp(&right?)))).collect();
            let found = columns::compare(&array(&left), op, &array(&right)).unwrap();
            assert_eq!(found, expected, "seed {:#x}, {data_type} {op:?}", random.seed());
        }
    }
}

#[test]
fn integers_of_every_type_are_tested_alike() {
    // The last ones are outside the range of every type.
    let others = [0, 3, 100, i128::MIN, i128::MAX].map(Value::Int);
    macro_rules! integers {
        ($($t:ty, $data_type:expr;)*) => {
            $(check_primitive::<$t>(&$data_type, |bits| bits as _, |value| Value::Int(value.into()), &others);)*
        };
    }
    integers! {
        Int8Type, DataType::Int8;
        Int16Type, DataType::Int16;
        Int32Type, DataType::Int32;
        Int64Type, DataType::Int64;
        UInt8Type, DataType::UInt8;
        UInt16Type, DataType::UInt16;
        UInt32Type, DataType::UInt32;
        UInt64Type, DataType::UInt64;
        Date32Type, DataType::Date32;
        Decimal128Type, DataType::Decimal128(38, 2);
        TimestampMicrosecondType, DataType::Timestamp(arrow_schema::TimeUnit::Microsecond, Some("UTC".into()));
    }
}

#[test]
fn floats_of_every_width_are_tested_alike() {
    // Some are between the values of narrower types, or outside their range.
    let others =
        [0.0, -0.0, 0.1, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, 1e-300, 65519.9]
            .map(Value::Float);
    let to_f16 = |bits: u128| f16::from_bits(bits as u16);
    check_primitive::<Float16Type>(&DataType::Float16, to_f16, |value| Value::Float(value.into()), &others);
    let to_f32 = |bits: u128| f32::from_bits(bits as u32);
    check_primitive::<Float32Type>(&DataType::Float32, to_f32, |value| Value::Float(value.into()), &others);
    let to_f64 = |bits: u128| f64::from_bits(bits as u64);
    check_primitive::<Float64Type>(&DataType::Float64, to_f64, Value::Float, &others);
}

#[test]
fn byte_strings_of_every_layout_are_tested_alike() {
    let mut random = Seeded::new("evaluate::byte_strings");
    for (len, longest) in [(0, 5), (1, 5), (64, 3), (65, 13), (500, 14), (1000, 30)] {
        let strings: Vec<Option<String>> = (0..len)
            .map(|_| {
                let len = random.usize(..=longest);
                let shared = random.usize(..=len);
                let is_null = random.u8(..8) == 0;
                let letters =
                    (0..len).map(|at| if at < shared { 'p' } else { *random.choice(&['\0', 'a', 'ö']).unwrap() });
                (!is_null).then(|| letters.collect::<String>())
            })
            .collect::<Vec<_>>();
        let value =
            |text: &Option<String>| text.as_ref().map(|text| Value::Bytes(Bytes::from(text.clone().into_bytes())));
        let values: Vec<Option<Value>> = strings.iter().map(value).collect();
        let others = ["", "p", "pppp", "ppppp", "pppppppppppp", "ppppppppppppp", "pppppppppppppppppp", "\0", "pa"]
            .map(|text| Value::Bytes(Bytes::from_static(text.as_bytes())));
        let bytes = |text: &Option<String>| text.as_ref().map(|text| text.as_bytes().to_vec());
        let arrays: [ArrayRef; 4] = [
            Arc::new(strings.iter().collect::<StringArray>()),
            Arc::new(strings.iter().collect::<StringViewArray>()),
            Arc::new(strings.iter().map(bytes).collect::<BinaryArray>()),
            Arc::new(arrow_cast::cast(&strings.iter().collect::<StringArray>(), &DataType::LargeUtf8).unwrap()),
        ];
        for array in &arrays {
            check_all(&mut random, array, &values, &others);
        }
    }
}

#[test]
fn byte_strings_of_every_fixed_length_are_tested_alike() {
    let mut random = Seeded::new("evaluate::fixed_byte_strings");
    for width in [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 20, 32, 33] {
        let few: Vec<Vec<u8>> = (0..4).map(|_| (0..width).map(|_| random.u8(..)).collect()).collect();
        let string = |random: &mut Seeded| {
            let mut string = few[random.usize(..4)].clone();
            if random.bool() {
                string[random.usize(..width)] ^= 1 << random.u8(..8);
            }
            (random.u8(..8) > 0).then_some(string)
        };
        let strings: Vec<Option<Vec<u8>>> = (0..400).map(|_| string(&mut random)).collect();
        let values: Vec<Option<Value>> =
            strings.iter().map(|string| string.clone().map(|string| Value::Bytes(string.into()))).collect();
        let others = [Bytes::new(), Bytes::from(vec![0; width]), Bytes::from(vec![0xff; width + 1])].map(Value::Bytes);
        let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(strings.into_iter(), width as i32).unwrap();
        check_all(&mut random, &(Arc::new(array) as ArrayRef), &values, &others);
    }
}

#[test]
fn keys_of_nulls_may_name_no_entry() {
    let keys = PrimitiveArray::<Int32Type>::new(vec![0, 77, 1, -5].into(), Some(vec![true, false, true, false].into()));
    let entries: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let array = DictionaryArray::new(keys, entries);
    let test = ValueTest::Compare(Comparison::Equal, Value::Bytes(Bytes::from_static(b"b")));
    let found = test_values(&test, &array).unwrap();
    assert_eq!(found, BooleanArray::from(vec![Some(false), None, Some(true), None]));
}
