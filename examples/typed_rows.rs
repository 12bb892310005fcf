//! Reads rows as values of a Rust type.
//!
//! `cargo run --release -p lath --example typed-rows`

use std::error::Error;

use lath::ParquetFile;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Trip {
    from: String,
    to: Option<String>,
    minutes: u16,
    rider: Rider,
}

#[derive(Debug, Deserialize)]
struct Rider {
    plan: String,
    age: Option<u8>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/trips/2025-01.parquet");
    let file = ParquetFile::open(path)?;
    let batches = file.scan().select(["from", "to", "minutes", "rider"]).rows(0..5).build()?;
    for trip in lath::rows::<Trip>(batches) {
        let Trip { from, to, minutes, rider: Rider { plan, age } } = trip?;
        let to = to.as_deref().unwrap_or("nowhere");
        let age = age.map_or_else(|| "unknown".to_owned(), |age| age.to_string());
        println!("{minutes:>3} minutes from {from} to {to}, {plan}, age {age}");
    }
    Ok(())
}
