//! Writes values of a Rust type, sorted by key, to a Parquet file for lookups by key.
//!
//! `cargo run --release -p lath --example write-rows -- readings.parquet`

use std::error::Error;

use lath::{Profile, RowWriter, SortingColumn, WriteOptions};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
struct Reading {
    sensor: u32,
    second: u32,
    celsius: Option<f32>,
    flags: Vec<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("give the name of the file to write")?;
    let options = WriteOptions::profile(Profile::Lookup)
        .key_columns(["sensor"])
        .sorting_columns([SortingColumn::ascending("sensor"), SortingColumn::ascending("second")])
        .key_value_metadata("unit", "degrees Celsius".to_owned());
    let mut writer = RowWriter::create(&path, options)?;
    for sensor in 0..1_000 {
        for second in 0..100 {
            let noise = (sensor * 31 + second * 17) % 97;
            let celsius = (noise != 0).then_some(18.0 + noise as f32 / 50.0);
            let flags = if celsius.is_none() { vec!["offline".to_owned()] } else { Vec::new() };
            writer.write(&Reading { sensor, second, celsius, flags })?;
        }
    }
    let summary = writer.finish()?;
    println!("{} rows in {} bytes:", summary.rows, summary.bytes);
    for column in summary.columns {
        let encodings: Vec<_> = column.encodings.iter().map(ToString::to_string).collect();
        println!("  {:>20}  {:>9} bytes  {}", column.path, column.compressed_bytes, encodings.join(", "));
    }
    Ok(())
}
