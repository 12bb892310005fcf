//! Hand-made statistics, each for one rule of the specification.

use std::sync::Arc;

use arrow_schema::{DataType, TimeUnit};
use bytes::Bytes;
use lath_format::ColumnOrder;
use lath_kernels::compare::Comparison;
use lath_predicate::{Pattern, Value, ValueSet, ValueTest};
use parquet::basic::Type as PhysicalType;
use parquet::data_type::{ByteArray, FixedLenByteArray, Int96};
use parquet::file::statistics::Statistics;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

use super::super::bound::{Bound, Interval};
use super::super::bounds::{BoundReader, DecodedBounds};
use super::super::domain::Domain;
use super::super::outcomes::Outcomes;

fn column(text: &str) -> SchemaDescriptor {
    let message = parse_message_type(&format!("message m {{ optional {text}; }}")).unwrap();
    SchemaDescriptor::new(Arc::new(message))
}

fn reader(text: &str, data_type: &DataType, order: ColumnOrder) -> Option<BoundReader> {
    BoundReader::new(&column(text).column(0), data_type, order)
}

fn by_type(text: &str, data_type: &DataType) -> BoundReader {
    reader(text, data_type, ColumnOrder::TypeDefined).unwrap()
}

/// Statistics of the `parquet` crate, whose types keep bounds from having another type than their column.
trait DecodeLibrary {
    fn decode_library<'a>(&self, statistics: &'a Statistics) -> DecodedBounds<'a>;
}

impl DecodeLibrary for BoundReader {
    fn decode_library<'a>(&self, statistics: &'a Statistics) -> DecodedBounds<'a> {
        let text = match statistics.physical_type() {
            PhysicalType::FIXED_LEN_BYTE_ARRAY => "fixed_len_byte_array(2) a".to_owned(),
            PhysicalType::BYTE_ARRAY => "binary a".to_owned(),
            other => format!("{} a", other.to_string().to_lowercase()),
        };
        let ours = lath_format::Statistics {
            min: statistics.min_bytes_opt(),
            max: statistics.max_bytes_opt(),
            null_count: statistics.null_count_opt(),
            min_is_exact: statistics.min_is_exact(),
            max_is_exact: statistics.max_is_exact(),
            is_deprecated: statistics.is_min_max_deprecated(),
        };
        self.chunk_bounds(&column(&text).column(0), &ours)
    }
}

fn interval<'a>(lower: impl Into<Option<Bound<'a>>>, upper: impl Into<Option<Bound<'a>>>) -> DecodedBounds<'a> {
    DecodedBounds { values: Some(Interval { lower: lower.into(), upper: upper.into() }) }
}

fn bytes(min: &[u8], max: &[u8]) -> Statistics {
    let value = |bytes: &[u8]| Some(ByteArray::from(bytes.to_vec()));
    Statistics::byte_array(value(min), value(max), None, Some(0), false)
}

fn fixed(min: &[u8], max: &[u8]) -> Statistics {
    let value = |bytes: &[u8]| Some(FixedLenByteArray::from(bytes.to_vec()));
    Statistics::fixed_len_byte_array(value(min), value(max), None, Some(0), false)
}

#[test]
fn integers_are_signed_or_not_as_their_type_says() {
    let ints = Statistics::int32(Some(-1), Some(5), None, None, false);
    let read = by_type("int32 a", &DataType::Int32).decode_library(&ints).values;
    assert_eq!(read, interval(Bound::Int(-1), Bound::Int(5)).values);
    // As unsigned integers, −1 is the maximum: min and max in that order.
    let unsigned = Statistics::int32(Some(5), Some(-1), None, None, false);
    let read = by_type("int32 a (INTEGER(32, false))", &DataType::UInt32).decode_library(&unsigned).values;
    assert_eq!(read, interval(Bound::Int(5), Bound::Int(u32::MAX.into())).values);
    let longs = Statistics::int64(Some(5), Some(-1), None, None, false);
    let read = by_type("int64 a (INTEGER(64, false))", &DataType::UInt64).decode_library(&longs).values;
    assert_eq!(read, interval(Bound::Int(5), Bound::Int(u64::MAX.into())).values);
    // A signed column read as an unsigned one has another order.
    assert!(reader("int32 a", &DataType::UInt32, ColumnOrder::TypeDefined).is_none());
    assert!(reader("int32 a (INTEGER(32, false))", &DataType::Int32, ColumnOrder::TypeDefined).is_none());
}

#[test]
fn integers_that_are_narrowed_need_two_bounds_that_fit() {
    let narrow = by_type("int32 a (INTEGER(8, true))", &DataType::Int8);
    let of = |min, max| Statistics::int32(min, max, None, None, false);
    let all = interval(Bound::Int(-128), Bound::Int(127));
    assert_eq!(narrow.decode_library(&of(Some(-128), Some(127))), all);
    for (min, max) in [(Some(-129), Some(0)), (Some(0), Some(128)), (Some(0), None), (None, Some(0))] {
        assert_eq!(narrow.decode_library(&of(min, max)), DecodedBounds::UNKNOWN, "{min:?} {max:?}");
    }
    let wide = by_type("int32 a", &DataType::Int32);
    assert_eq!(wide.decode_library(&of(Some(3), None)), interval(Bound::Int(3), None));
    let days = by_type("int32 a (DATE)", &DataType::Date64);
    let expected = interval(Bound::Int(-86_400_000), Bound::Int(172_800_000));
    assert_eq!(days.decode_library(&of(Some(-1), Some(2))), expected);
}

#[test]
fn deprecated_bounds_are_read_for_signed_numbers_only() {
    let old = Statistics::int32(Some(1), Some(5), None, None, true);
    assert_eq!(by_type("int32 a", &DataType::Int32).decode_library(&old), interval(Bound::Int(1), Bound::Int(5)));
    let float = Statistics::float(Some(1.0), Some(5.0), None, None, true);
    let expected = interval(Bound::Float(1.0), Bound::Float(5.0));
    assert_eq!(by_type("float a", &DataType::Float32).decode_library(&float), expected);
    assert_eq!(by_type("int32 a (INTEGER(32, false))", &DataType::UInt32).decode_library(&old), DecodedBounds::UNKNOWN);
    let text = Statistics::byte_array(Some(ByteArray::from("a")), Some(ByteArray::from("b")), None, None, true);
    assert_eq!(by_type("binary a (STRING)", &DataType::Utf8View).decode_library(&text), DecodedBounds::UNKNOWN);
    let flags = Statistics::boolean(Some(false), Some(false), None, None, true);
    assert_eq!(by_type("boolean a", &DataType::Boolean).decode_library(&flags), DecodedBounds::UNKNOWN);
    let total = reader("float a", &DataType::Float32, ColumnOrder::Ieee754Total).unwrap();
    assert_eq!(total.decode_library(&float), DecodedBounds::UNKNOWN);
}

#[test]
fn without_a_column_order_only_signed_numbers_have_bounds() {
    let unsaid = |text: &str, data_type: &DataType| reader(text, data_type, ColumnOrder::Undefined).unwrap();
    let ints = Statistics::int64(Some(1), Some(5), None, None, false);
    assert_eq!(unsaid("int64 a", &DataType::Int64).decode_library(&ints), interval(Bound::Int(1), Bound::Int(5)));
    assert_eq!(
        unsaid("binary a (STRING)", &DataType::Utf8View).decode_library(&bytes(b"a", b"b")),
        DecodedBounds::UNKNOWN
    );
    let text = column("binary a (STRING)");
    assert_eq!(
        unsaid("binary a (STRING)", &DataType::Utf8View).page_bounds(&text.column(0), b"a", b"b"),
        DecodedBounds::UNKNOWN
    );
    for (text, data_type) in [("int64 a", DataType::Int64), ("double a", DataType::Float64)] {
        assert!(reader(text, &data_type, ColumnOrder::Unknown).is_none());
    }
    assert!(reader("int64 a", &DataType::Int64, ColumnOrder::Ieee754Total).is_none());
}

#[test]
fn types_without_an_order_have_no_bounds() {
    let timestamp = DataType::Timestamp(TimeUnit::Nanosecond, None);
    assert!(reader("int96 a", &timestamp, ColumnOrder::TypeDefined).is_none());
    let interval = DataType::Interval(arrow_schema::IntervalUnit::DayTime);
    assert!(reader("fixed_len_byte_array(12) a (INTERVAL)", &interval, ColumnOrder::TypeDefined).is_none());
    let statistics = Statistics::int96(Some(Int96::new()), Some(Int96::new()), None, None, false);
    assert_eq!(by_type("int64 a", &DataType::Int64).decode_library(&statistics), DecodedBounds::UNKNOWN);
}

#[test]
fn bounds_that_are_nan_say_nothing_except_in_total_order() {
    let statistics = |min: f64, max: f64| Statistics::double(Some(min), Some(max), None, None, false);
    let plain = by_type("double a", &DataType::Float64);
    let total = reader("double a", &DataType::Float64, ColumnOrder::Ieee754Total).unwrap();
    assert_eq!(plain.decode_library(&statistics(f64::NAN, f64::NAN)), DecodedBounds::UNKNOWN);
    assert_eq!(plain.decode_library(&statistics(f64::NAN, 2.0)), interval(None, Bound::Float(2.0)));
    assert_eq!(total.decode_library(&statistics(-f64::NAN, f64::NAN)), DecodedBounds { values: None });
    assert_eq!(total.decode_library(&statistics(1.0, f64::NAN)), interval(Bound::Float(1.0), None));
    let half = by_type("fixed_len_byte_array(2) a (FLOAT16)", &DataType::Float16);
    let (one, nan) = (0x3C00_u16.to_le_bytes(), 0x7E00_u16.to_le_bytes());
    assert_eq!(half.decode_library(&fixed(&one, &nan)), interval(Bound::Float(1.0), None));
    assert_eq!(half.decode_library(&fixed(&one[..1], &one)), DecodedBounds::UNKNOWN);
}

#[test]
fn decimals_in_bytes_are_two_s_complement() {
    let any = by_type("binary a (DECIMAL(9, 2))", &DataType::Decimal128(9, 2));
    assert_eq!(any.decode_library(&bytes(&[0xFF, 0x85], &[0x00, 0x7B])), interval(Bound::Int(-123), Bound::Int(123)));
    // A value of more bytes than Arrow can hold wraps around.
    let mut large = [0; 17];
    large[0] = 1;
    assert_eq!(any.decode_library(&bytes(&[0], &large)), DecodedBounds::UNKNOWN);
    assert_eq!(any.decode_library(&bytes(&[], &[1])), DecodedBounds::UNKNOWN);
    let fixed_five = by_type("fixed_len_byte_array(5) a (DECIMAL(9, 2))", &DataType::Decimal128(9, 2));
    let read = interval(Bound::Int(-1), Bound::Int(256));
    assert_eq!(fixed_five.decode_library(&fixed(&[0xFF; 5], &[0, 0, 0, 1, 0])), read);
    // A truncated one is another number.
    assert_eq!(fixed_five.decode_library(&fixed(&[0xFF; 5], &[0, 0, 1])), DecodedBounds::UNKNOWN);
    let narrow = by_type("fixed_len_byte_array(5) a (DECIMAL(9, 2))", &DataType::Decimal32(9, 2));
    assert_eq!(narrow.decode_library(&fixed(&[0xFF; 5], &[0, 0, 0, 1, 0])), read);
    assert_eq!(narrow.decode_library(&fixed(&[0xFF; 5], &[1, 0, 0, 0, 0])), DecodedBounds::UNKNOWN);
}

#[test]
fn pages_are_read_as_the_index_has_them() {
    let check = |text: &str, data_type: DataType, min: &[u8], max: &[u8], expected: DecodedBounds<'_>| {
        let descriptor = column(text);
        assert_eq!(by_type(text, &data_type).page_bounds(&descriptor.column(0), min, max), expected, "{text}");
    };
    check("boolean a", DataType::Boolean, &[0], &[1], interval(Bound::Boolean(false), Bound::Boolean(true)));
    check("boolean a", DataType::Boolean, &[], &[1], DecodedBounds::UNKNOWN);
    check("int32 a", DataType::Int32, &[1, 0, 0, 0], &[0, 1, 0, 0], interval(Bound::Int(1), Bound::Int(256)));
    check("int32 a", DataType::Int32, &[1, 0, 0], &[0, 1, 0, 0], DecodedBounds::UNKNOWN);
    check("int64 a", DataType::Int64, &[0xFF; 8], &[0; 8], interval(Bound::Int(-1), Bound::Int(0)));
    let (one, two) = (1f64.to_le_bytes(), 2f64.to_le_bytes());
    check("double a", DataType::Float64, &one, &two, interval(Bound::Float(1.0), Bound::Float(2.0)));
    check("binary a (STRING)", DataType::Utf8View, b"a", b"b", interval(Bound::Bytes(b"a"), Bound::Bytes(b"b")));
    // A minimum above the maximum: unsigned integers and bytes that were ordered as signed ones.
    check(
        "int64 a (INTEGER(64, false))",
        DataType::UInt64,
        &[0xFF; 8],
        &[5, 0, 0, 0, 0, 0, 0, 0],
        DecodedBounds::UNKNOWN,
    );
    check("binary a (STRING)", DataType::Utf8View, "é".as_bytes(), b"z", DecodedBounds::UNKNOWN);
}

#[test]
fn a_minimum_above_the_maximum_is_no_bound_of_any_type() {
    let check = |text: &str, data_type: DataType, low: &Statistics, high: &Statistics| {
        let reader = by_type(text, &data_type);
        assert_ne!(reader.decode_library(low), DecodedBounds::UNKNOWN, "{text}");
        assert_eq!(reader.decode_library(high), DecodedBounds::UNKNOWN, "{text}");
    };
    let int = |min, max| Statistics::int32(Some(min), Some(max), None, None, false);
    let long = |min, max| Statistics::int64(Some(min), Some(max), None, None, false);
    let double = |min, max| Statistics::double(Some(min), Some(max), None, None, false);
    check("int32 a", DataType::Int32, &int(1, 5), &int(5, 1));
    check("int32 a (DATE)", DataType::Date32, &int(1, 5), &int(5, 1));
    check("int32 a (INTEGER(32, false))", DataType::UInt32, &int(1, -5), &int(-5, 1));
    check("int64 a (INTEGER(64, false))", DataType::UInt64, &long(1, -5), &long(-5, 1));
    check("double a", DataType::Float64, &double(-1.0, 5.0), &double(5.0, 1.0));
    check("binary a (STRING)", DataType::Utf8View, &bytes(b"a", b"z"), &bytes(b"z", b"a"));
    let decimal = DataType::Decimal128(9, 2);
    check("binary a (DECIMAL(9, 2))", decimal, &bytes(&[0xFF, 0x85], &[0x7B]), &bytes(&[0x7B], &[0xFF, 0x85]));
    let flags = |min, max| Statistics::boolean(Some(min), Some(max), None, None, false);
    check("boolean a", DataType::Boolean, &flags(false, true), &flags(true, false));
    // Zeros of both signs are equal, and in total order the negative one is first.
    let zeros = interval(Bound::Float(0.0), Bound::Float(-0.0));
    assert_eq!(by_type("double a", &DataType::Float64).decode_library(&double(0.0, -0.0)), zeros);
}

fn domain<'a>(values: Option<Interval<'a>>, nans: bool, nulls: bool) -> Domain<'a> {
    Domain { values, nans, nulls }
}

#[test]
fn counts_say_whether_there_are_nulls_nans_or_values() {
    let read = interval(Bound::Float(1.0), Bound::Float(2.0));
    let values = read.values;
    assert_eq!(read.domain(true, 10, Some(0), Some(0)), domain(values, false, false));
    assert_eq!(read.domain(true, 10, Some(3), Some(2)), domain(values, true, true));
    assert_eq!(read.domain(true, 10, None, None), domain(values, true, true));
    assert_eq!(read.domain(false, 10, Some(0), None), domain(values, false, false));
    let unknown = DecodedBounds::UNKNOWN;
    assert_eq!(unknown.domain(true, 10, Some(10), None), domain(None, false, true));
    assert_eq!(unknown.domain(true, 10, Some(4), Some(6)), domain(None, true, true));
    // Bounds of values although the counts leave none.
    assert_eq!(read.domain(true, 10, Some(10), None), Domain::ANY);
    assert_eq!(read.domain(true, 10, Some(4), Some(6)), Domain::ANY);
    assert_eq!(read.domain(true, 10, Some(11), None), Domain::ANY);
    assert_eq!(read.domain(true, 10, Some(u64::MAX), Some(u64::MAX)), Domain::ANY);
    // NaN bounds although the count of NaNs is 0.
    assert_eq!(DecodedBounds { values: None }.domain(true, 10, Some(0), Some(0)), domain(None, true, false));
}

fn ints(lower: i128, upper: i128) -> Interval<'static> {
    Interval { lower: Some(Bound::Int(lower)), upper: Some(Bound::Int(upper)) }
}

const BOTH: fn() -> Outcomes = || Outcomes::TRUE | Outcomes::FALSE;

#[test]
fn every_test_of_an_interval_is_what_its_members_give() {
    let literals: Vec<i128> = (0..8).collect();
    let mut tests = vec![ValueTest::IsNull, ValueTest::Always(true), ValueTest::Always(false)];
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    for &one in &literals {
        for op in [Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual] {
            tests.push(ValueTest::Compare(op, Value::Int(one)));
        }
        for &other in &literals {
            tests.push(ValueTest::Between(Value::Int(one), Value::Int(other)));
            tests.push(ValueTest::In(ValueSet::new(vec![Value::Int(one), Value::Int(other)])));
        }
    }
    tests.push(ValueTest::In(ValueSet::new(Vec::new())));
    let holds = |test: &ValueTest, value: i128| match test {
        ValueTest::IsNull => false,
        ValueTest::Always(truth) => *truth,
        ValueTest::Compare(op, Value::Int(literal)) => op.holds(value.cmp(literal)),
        ValueTest::Between(Value::Int(low), Value::Int(high)) => (*low..=*high).contains(&value),
        ValueTest::In(set) => set.contains(&Value::Int(value)),
        other => unreachable!("{other:?}"),
    };
    for lower in 0..8 {
        for upper in lower..8 {
            for test in &tests {
                let exact =
                    (lower..=upper).fold(Outcomes::NONE, |all, value| all | Outcomes::only(Some(holds(test, value))));
                let said = ints(lower, upper).outcomes(test);
                assert_eq!(said | exact, said, "{lower}..={upper} {test:?}");
                // The joint result of several values is not always exact, the result of one is.
                let is_exact = lower == upper || !matches!(test, ValueTest::In(_) | ValueTest::Between(..));
                assert!(!is_exact || said == exact, "{lower}..={upper} {test:?}: {said:?}");
                let open = Interval { lower: None, ..ints(lower, upper) }.outcomes(test);
                assert_eq!(open | exact, open, "..={upper} {test:?}");
                let open = Interval { upper: None, ..ints(lower, upper) }.outcomes(test);
                assert_eq!(open | exact, open, "{lower}.. {test:?}");
            }
        }
    }
}

#[test]
fn intervals_of_two_columns_compare_as_their_members_do() {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let intervals = || (0..4).flat_map(|lower| (lower..4).map(move |upper| (lower, upper)));
    for left in intervals() {
        for right in intervals() {
            for op in [Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual] {
                let pairs = (left.0..=left.1).flat_map(|a| (right.0..=right.1).map(move |b| (a, b)));
                let exact = pairs
                    .fold(Outcomes::NONE, |all, (a, b): (i128, i128)| all | Outcomes::only(Some(op.holds(a.cmp(&b)))));
                let said = ints(left.0, left.1).compared_with(op, &ints(right.0, right.1));
                assert_eq!(said, exact, "{left:?} {op:?} {right:?}");
            }
        }
    }
}

#[test]
fn nulls_and_nans_have_outcomes_of_their_own() {
    let greater = ValueTest::Compare(Comparison::Greater, Value::Float(5.0));
    let numbers = Interval { lower: Some(Bound::Float(1.0)), upper: Some(Bound::Float(2.0)) };
    assert_eq!(domain(Some(numbers), false, false).outcomes(&greater), Outcomes::FALSE);
    assert_eq!(domain(Some(numbers), true, false).outcomes(&greater), BOTH());
    assert_eq!(domain(Some(numbers), false, true).outcomes(&greater), Outcomes::FALSE | Outcomes::NULL);
    assert_eq!(domain(None, true, false).outcomes(&greater), Outcomes::TRUE);
    assert_eq!(domain(None, false, true).outcomes(&greater), Outcomes::NULL);
    assert_eq!(domain(None, false, true).outcomes(&ValueTest::IsNull), Outcomes::TRUE);
    assert_eq!(domain(Some(numbers), false, true).outcomes(&ValueTest::IsNull), BOTH());
    let nan = ValueTest::Compare(Comparison::Equal, Value::Float(f64::NAN));
    assert_eq!(domain(Some(numbers), false, false).outcomes(&nan), Outcomes::FALSE);
    assert_eq!(domain(None, true, false).outcomes(&nan), Outcomes::TRUE);
    // A bound of +0 includes −0.
    let zeros = Interval { lower: Some(Bound::Float(0.0)), upper: Some(Bound::Float(0.0)) };
    let is_zero = ValueTest::Compare(Comparison::Equal, Value::Float(-0.0));
    assert_eq!(zeros.outcomes(&is_zero), Outcomes::TRUE);
}

#[test]
fn patterns_are_held_against_their_prefix() {
    let like = |pattern: &str, lower: &'static [u8], upper: &'static [u8]| {
        let interval = Interval { lower: Some(Bound::Bytes(lower)), upper: Some(Bound::Bytes(upper)) };
        interval.outcomes(&ValueTest::Like(Pattern::new(pattern, false)))
    };
    assert_eq!(like("ab%", b"abc", b"abx"), Outcomes::TRUE);
    assert_eq!(like("ab%", b"ab", b"ac"), BOTH());
    assert_eq!(like("ab%", b"a", b"abx"), BOTH());
    assert_eq!(like("ab%", b"ac", b"b"), Outcomes::FALSE);
    assert_eq!(like("ab%", b"A", b"aa\xFF"), Outcomes::FALSE);
    assert_eq!(like("ab%", b"A", b"a"), Outcomes::FALSE);
    assert_eq!(like("ab%c", b"abc", b"abx"), BOTH());
    assert_eq!(like("%c", b"abc", b"abx"), BOTH());
    assert_eq!(like("%", b"abc", b"abx"), Outcomes::TRUE);
    assert_eq!(like("abc", b"abc", b"abc"), Outcomes::TRUE);
    assert_eq!(like("abc", b"abd", b"abx"), Outcomes::FALSE);
    let no_case = ValueTest::Like(Pattern::new("ab%", true));
    let interval = Interval { lower: Some(Bound::Bytes(b"AB")), upper: Some(Bound::Bytes(b"AC")) };
    assert_eq!(interval.outcomes(&no_case), BOTH());
}

#[test]
fn kinds_that_do_not_meet_say_nothing() {
    let value = Value::Bytes(Bytes::from_static(b"x"));
    assert_eq!(ints(1, 2).outcomes(&ValueTest::Compare(Comparison::Less, value)), BOTH());
}
