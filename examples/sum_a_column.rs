//! Reads two columns, one of them within a struct, and sums one grouped by the other.
//!
//! `cargo run --release -p lath --example sum-a-column`

use std::collections::BTreeMap;
use std::error::Error;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use lath::ParquetFile;

fn main() -> Result<(), Box<dyn Error>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/trips/2025-01.parquet");
    let file = ParquetFile::open(path)?;
    let mut cents_by_plan: BTreeMap<String, i128> = BTreeMap::new();
    for batch in file.scan().select(["price", "rider.plan"]).build()? {
        let batch = batch?;
        let prices = batch["price"].as_primitive::<Decimal128Type>();
        let plans = batch["rider"].as_struct()["plan"].as_string_view();
        for (price, plan) in prices.iter().zip(plans) {
            *cents_by_plan.entry(plan.unwrap_or("none").to_owned()).or_default() += price.unwrap_or(0);
        }
    }
    for (plan, cents) in cents_by_plan {
        println!("{plan}: {}.{:02}", cents / 100, cents % 100);
    }
    Ok(())
}
