//! Values that suit ALP, values that do not, and a file of both.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use lath_kernels::alp::Float;
use parquet::basic::Encoding;
use parquet::data_type::{DataType, DoubleType, FloatType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::Outcome;

pub trait Value: Float + Copy + Default + PartialEq + std::fmt::Debug {
    /// The `parquet` crate's name of the type.
    type Physical: DataType<T = Self>;
    fn random_bits(random: &mut fastrand::Rng) -> Self;
    fn decimal(number: i64, digits: i32) -> Self;
    fn bits(self) -> u64;
}

impl Value for f32 {
    type Physical = FloatType;

    fn random_bits(random: &mut fastrand::Rng) -> Self {
        Self::from_bits(random.u32(..))
    }

    fn decimal(number: i64, digits: i32) -> Self {
        format!("{number}e-{digits}").parse().expect("a number")
    }

    fn bits(self) -> u64 {
        self.to_bits().into()
    }
}

impl Value for f64 {
    type Physical = DoubleType;

    fn random_bits(random: &mut fastrand::Rng) -> Self {
        Self::from_bits(random.u64(..))
    }

    fn decimal(number: i64, digits: i32) -> Self {
        format!("{number}e-{digits}").parse().expect("a number")
    }

    fn bits(self) -> u64 {
        self.to_bits()
    }
}

/// Decimal numbers of one size, with exceptions between them more or less often.
pub fn values<T: Value>(random: &mut fastrand::Rng, len: usize) -> Vec<T> {
    let (digits, size) = (random.i32(0..12), 1_i64 << random.u8(1..60));
    let exceptions = *random.choice(&[0, 1, 10, 500, 1_000]).expect("some");
    let value = || {
        if random.u32(..1_000) < exceptions {
            T::random_bits(random)
        } else {
            T::decimal(random.i64(-size..size), digits)
        }
    };
    std::iter::repeat_with(value).take(len).collect()
}

/// Writes a file of two ALP columns, several row groups and several pages; returns the columns.
pub fn write_file(path: &Path) -> Outcome<(Vec<f32>, Vec<f64>)> {
    const ROWS: usize = 20_000;
    let schema = Arc::new(parse_message_type("message m { required float f; required double d; }")?);
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::ALP)
        .set_data_page_row_count_limit(7_000)
        .set_write_batch_size(1_000)
        .build();
    let mut random = fastrand::Rng::with_seed(60);
    let mut writer = SerializedFileWriter::new(File::create(path)?, schema, Arc::new(properties))?;
    let (mut floats, mut doubles) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let (group_floats, group_doubles) = (values(&mut random, ROWS), values(&mut random, ROWS));
        let mut group = writer.next_row_group()?;
        let mut column = group.next_column()?.ok_or("the float column")?;
        column.typed::<FloatType>().write_batch(&group_floats, None, None)?;
        column.close()?;
        let mut column = group.next_column()?.ok_or("the double column")?;
        column.typed::<DoubleType>().write_batch(&group_doubles, None, None)?;
        column.close()?;
        group.close()?;
        floats.extend(group_floats);
        doubles.extend(group_doubles);
    }
    writer.close()?;
    Ok((floats, doubles))
}
