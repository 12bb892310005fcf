//! Numbers, sizes and durations as text.

/// Digits in groups of three: `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 row`, `2,000 rows`.
pub(crate) fn plural(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(count))
}

/// A size in bytes with three significant digits: `17 B`, `4.20 KiB`, `1.00 GiB`.
pub(crate) fn bytes(size: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if size < 1024 {
        return format!("{size} B");
    }
    let mut value = size as f64;
    let mut unit = "";
    for next in UNITS {
        value /= 1024.0;
        unit = next;
        if value < 999.5 {
            break;
        }
    }
    let decimals = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.decimals$} {unit}")
}

/// A duration in its two largest units: `7 s`, `3 min 20 s`, `2 h 05 min`.
pub(crate) fn duration(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn sizes_have_three_significant_digits() {
        let sizes = [0, 1023, 1024, 4300, 100 << 10, 1023 << 10, (1 << 20) - 1, 1 << 30, u64::MAX];
        assert_eq!(
            sizes.map(bytes),
            ["0 B", "1023 B", "1.00 KiB", "4.20 KiB", "100 KiB", "1.00 MiB", "1.00 MiB", "1.00 GiB", "16.0 EiB"]
        );
    }

    #[test]
    fn durations_have_two_units() {
        assert_eq!([0.4, 59.2, 200.0, 7500.0].map(duration), ["0 s", "59 s", "3 min 20 s", "2 h 05 min"]);
    }
}
