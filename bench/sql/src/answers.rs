//! Compares the rows of two engines, which format values differently.

/// Compares rows in any order; numbers may differ in the ninth digit.
pub fn same(first: &str, second: &str) -> Result<(), String> {
    let (first, second) = (rows(first), rows(second));
    if first.len() != second.len() {
        return Err(format!("{} rows and {} rows", first.len(), second.len()));
    }
    for (one, other) in first.iter().zip(&second) {
        let is_same = one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same_value(one, other));
        if !is_same {
            return Err(format!("{one:?} and {other:?}"));
        }
    }
    Ok(())
}

fn rows(text: &str) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = text.lines().map(|line| line.split('\t').map(plain).collect::<Vec<_>>()).collect();
    rows.sort_by_cached_key(|row| key(row));
    rows
}

/// Converts timestamps to one form, in which midnight is a date.
fn plain(value: &str) -> String {
    let value = value.trim();
    let bytes = value.as_bytes();
    let is_timestamp = bytes.len() >= 19 && bytes[4] == b'-' && bytes[13] == b':' && [b'T', b' '].contains(&bytes[10]);
    if !is_timestamp {
        return value.to_owned();
    }
    let (date, time) = (&value[..10], value[11..].trim_end_matches("+00:00").trim_end_matches('Z'));
    let time = if time.contains('.') { time.trim_end_matches('0').trim_end_matches('.') } else { time };
    if time == "00:00:00" { date.to_owned() } else { format!("{date} {time}") }
}

/// The sort key of a row: numbers with so few digits that all engines agree on them.
fn key(row: &[String]) -> Vec<String> {
    row.iter()
        .map(|value| match value.parse::<f64>() {
            Ok(number) => format!("{number:.3e}"),
            Err(_) => value.clone(),
        })
        .collect()
}

fn is_same_value(one: &str, other: &str) -> bool {
    match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(first), Ok(second)) => {
            // Some engines give averages of decimals six places, others return a double.
            let places = decimal_places(one).min(decimal_places(other));
            let cut_off = if places >= 4 { 10f64.powi(-places) } else { 0.0 };
            (first - second).abs() <= (1e-9 * first.abs().max(second.abs()).max(1e-3)).max(cut_off)
        }
        _ => one == other,
    }
}

fn decimal_places(number: &str) -> i32 {
    number.split_once('.').map_or(0, |(_, places)| i32::try_from(places.len()).unwrap_or(i32::MAX))
}
