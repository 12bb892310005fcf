//! The columns to encode.

use lath_interop_alp::columns::Value;

pub const COUNT: usize = 1 << 16;

pub struct Column<T> {
    pub name: &'static str,
    pub values: Vec<T>,
}

/// Splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> i64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as i64
    }
}

pub fn floats() -> Vec<Column<f32>> {
    vec![
        decimals("f32: prices, 2 digits, to 1,000", 100_000, 2),
        walk("f32: temperatures, 1 digit, a walk", 1),
        with_exceptions("f32: prices, 1 in 100 an exception", decimals("", 100_000, 2), f32::NAN),
    ]
}

pub fn doubles() -> Vec<Column<f64>> {
    let mut random = Random(5);
    let any = (0..COUNT).map(|_| f64::from_bits(random.next() >> 12 | 0x3ff << 52)).collect();
    vec![
        decimals("f64: prices, 2 digits, to 100,000", 10_000_000, 2),
        walk("f64: temperatures, 1 digit, a walk", 1),
        decimals("f64: coordinates, 6 digits, 0 to 90", 90_000_000, 6),
        decimals("f64: amounts, 4 digits, to 10 million", 100_000_000_000, 4),
        with_exceptions("f64: prices, 1 in 100 an exception", decimals("", 10_000_000, 2), f64::NAN),
        Column { name: "f64: random mantissas, which ALP does not suit", values: any },
    ]
}

fn decimals<T: Value>(name: &'static str, bound: u64, digits: i32) -> Column<T> {
    let mut random = Random(bound);
    Column { name, values: (0..COUNT).map(|_| T::decimal(random.below(bound), digits)).collect() }
}

fn walk<T: Value>(name: &'static str, digits: i32) -> Column<T> {
    let mut random = Random(2);
    let mut last = 200;
    let step = |_| {
        last += random.below(11) - 5;
        T::decimal(last, digits)
    };
    Column { name, values: (0..COUNT).map(step).collect() }
}

fn with_exceptions<T: Value>(name: &'static str, column: Column<T>, exception: T) -> Column<T> {
    let mut random = Random(3);
    let values = column.values.into_iter().map(|value| if random.below(100) == 0 { exception } else { value });
    Column { name, values: values.collect() }
}
