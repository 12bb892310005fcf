//! Arithmetic on integers and decimals gives the exact result or an error, compared with 128-bit arithmetic.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Decimal128Type, Int64Type};
use arrow_array::types::{Int8Type, Int16Type, Int32Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, Decimal128Array, Int64Array, PrimitiveArray, RecordBatch};
use arrow_cast::display::array_value_to_string;
use lath_sql::Session;

use super::{in_memory, wait};

/// The single value of a result as text, or the error.
async fn value(session: &Session, query: &str) -> Result<String, String> {
    let frame = session.sql(query).await.map_err(|error| error.to_string())?;
    let batches = frame.collect().await.map_err(|error| error.to_string())?;
    Ok(batches.iter().map(|batch| array_value_to_string(batch.column(0), 0).unwrap()).collect())
}

/// Every pair of the values, with every operation, in columns and in literals.
async fn check_type<T: ArrowPrimitiveType<Native: Into<i128> + TryFrom<i128>>>(sql_type: &str, values: &[i128]) {
    let session = Session::new();
    let native = |value: i128| T::Native::try_from(value).ok();
    let pairs: Vec<(i128, i128)> = values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b))).collect();
    for (number, &(a, b)) in pairs.iter().enumerate() {
        let column = |value| Arc::new(PrimitiveArray::<T>::from_iter([native(value), None])) as ArrayRef;
        let table = format!("t{number}");
        let batch = RecordBatch::try_from_iter([("a", column(a)), ("b", column(b))]).unwrap();
        in_memory(&session, &table, vec![batch]);
        for (operator, exact) in [("+", a.checked_add(b)), ("-", a.checked_sub(b)), ("*", a.checked_mul(b))] {
            let exact = exact.filter(|&exact| native(exact).is_some()).map(|exact| exact.to_string());
            let query = format!("SELECT a {operator} b FROM {table} LIMIT 1");
            let answer = value(&session, &query).await;
            assert_eq!(answer.clone().ok(), exact, "{sql_type}: {a} {operator} {b}: {answer:?}");
            let literal = |value: i128| format!("CAST('{value}' AS {sql_type})");
            let query = format!("SELECT {} {operator} {}", literal(a), literal(b));
            let answer = value(&session, &query).await;
            assert_eq!(answer.clone().ok(), exact, "{sql_type}: {a} {operator} {b}: {answer:?}");
        }
    }
}

#[test]
fn integers_of_every_type_are_exact_or_an_error() {
    wait(async {
        check_type::<Int8Type>("TINYINT", &[-128, -1, 2, 64, 127]).await;
        check_type::<Int16Type>("SMALLINT", &[-32768, 2, 32767]).await;
        check_type::<Int32Type>("INT", &[i128::from(i32::MIN), 2, i128::from(i32::MAX)]).await;
        check_type::<Int64Type>("BIGINT", &[i128::from(i64::MIN), -1, 3, i128::from(i64::MAX)]).await;
        check_type::<UInt8Type>("TINYINT UNSIGNED", &[0, 2, 128, 255]).await;
        check_type::<UInt16Type>("SMALLINT UNSIGNED", &[0, 65535]).await;
        check_type::<UInt32Type>("INT UNSIGNED", &[0, 2, i128::from(u32::MAX)]).await;
        check_type::<UInt64Type>("BIGINT UNSIGNED", &[0, 2, i128::from(u64::MAX)]).await;
    });
}

#[test]
fn what_null_rows_hold_does_not_overflow() {
    let values = Int64Array::new(vec![i64::MAX, 1].into(), Some(vec![false, true].into()));
    let session = Session::new();
    in_memory(&session, "t", vec![RecordBatch::try_from_iter([("n", Arc::new(values) as ArrayRef)]).unwrap()]);
    assert_eq!(wait(value(&session, "SELECT sum(n + 1) FROM t")), Ok("2".to_owned()));
}

#[test]
fn random_decimals_are_exact_or_an_error() {
    const END: i128 = 10_i128.pow(38);
    let mut random = fastrand::Rng::with_seed(7);
    let session = Session::new();
    wait(async {
        for round in 0..60 {
            let digits = [random.u32(1..=38), random.u32(1..=38)];
            let scales = [random.i8(0..=12), random.i8(0..=12)];
            let mut any = |digits: u32| random.i128(-(10_i128.pow(digits) - 1)..10_i128.pow(digits));
            let rows: Vec<[i128; 2]> = (0..4).map(|_| [any(digits[0]), any(digits[1])]).collect();
            let column = |side: usize| {
                let values = Decimal128Array::from_iter_values(rows.iter().map(|row| row[side]));
                Arc::new(values.with_precision_and_scale(38, scales[side]).unwrap()) as ArrayRef
            };
            let table = format!("t{round}");
            let batch = RecordBatch::try_from_iter([("a", column(0)), ("b", column(1))]).unwrap();
            in_memory(&session, &table, vec![batch]);
            let scale = scales[0].max(scales[1]);
            let scaled =
                |side: usize, value: i128| value.checked_mul(10_i128.pow(u32::from(scale.abs_diff(scales[side]))));
            for operator in ["+", "-", "*"] {
                let exact: Option<Vec<i128>> = rows
                    .iter()
                    .map(|&[a, b]| match operator {
                        "*" => a.checked_mul(b),
                        "+" => scaled(0, a)?.checked_add(scaled(1, b)?),
                        _ => scaled(0, a)?.checked_sub(scaled(1, b)?),
                    })
                    .map(|value| value.filter(|value| value.abs() < END))
                    .collect();
                let query = format!("SELECT a {operator} b AS v FROM {table}");
                let answer = session.sql(&query).await.unwrap().collect().await;
                let values = answer.as_ref().ok().map(|batches| {
                    let values =
                        batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Decimal128Type>().values());
                    values.copied().collect::<Vec<i128>>()
                });
                assert_eq!(values, exact, "{rows:?} {scales:?} {operator}: {answer:?}");
            }
        }
    });
}

#[test]
fn sums_do_not_depend_on_the_order_of_rows_or_on_threads() {
    let session = Session::new();
    // Partial sums exceed BIGINT, the sum does not.
    let values = [i64::MAX, i64::MAX, i64::MIN, i64::MIN, 7];
    let batches: Vec<RecordBatch> = (0..values.len())
        .map(|first| {
            let rows = (0..values.len()).map(|row| values[(first + row) % values.len()]);
            let groups = Int64Array::from_iter_values((0..5).map(|row| row % 2));
            let values = Int64Array::from_iter_values(rows);
            RecordBatch::try_from_iter([("n", Arc::new(values) as ArrayRef), ("g", Arc::new(groups) as ArrayRef)])
                .unwrap()
        })
        .collect();
    in_memory(&session, "t", batches);
    let exact: i128 = values.iter().map(|&value| i128::from(value) * 5).sum();
    for query in [
        "SELECT sum(n) FROM t",
        "SELECT sum(n) FROM t GROUP BY g IS NULL",
        "SELECT sum(CAST(n AS DECIMAL(38, 0))) FROM t",
        "SELECT sum(s) FROM (SELECT sum(CAST(n AS DECIMAL(38, 0))) AS s FROM t GROUP BY g)",
    ] {
        assert_eq!(wait(value(&session, query)), Ok(exact.to_string()), "{query}");
    }
    for query in [
        "SELECT sum(n) FROM t WHERE n > 0",
        "SELECT sum(n) FROM t WHERE n < 0 GROUP BY g IS NULL",
        "SELECT sum(n) OVER (PARTITION BY n > 0) FROM t WHERE n > 0",
        "SELECT sum(n) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
    ] {
        let error = wait(value(&session, query)).unwrap_err();
        assert!(error.contains("sum(t.n)") && error.contains("does not fit BIGINT"), "{query}: {error}");
    }
}
