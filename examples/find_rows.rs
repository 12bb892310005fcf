//! Finds rows in a folder of files, and says what was read to find them.
//!
//! `cargo run --release -p lath --example find-rows`

use std::error::Error;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};
use lath::{Dataset, DatasetOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/trips");
    let trips = Dataset::open([folder], DatasetOptions::new())?;
    let scan = trips
        .scan()
        .filter("price > 14 AND rider.plan = 'by minute'")?
        .select(["price", "rider.age", "row"])
        .row_number_column("row")
        .threads(2);
    let mut batches = scan.build()?;
    for batch in batches.by_ref() {
        let batch = batch?;
        let prices = batch["price"].as_primitive::<Decimal128Type>();
        let rows = batch["row"].as_primitive::<Int64Type>();
        for (price, row) in prices.iter().zip(rows.values()) {
            let cents = price.unwrap_or(0);
            println!("row {row}: {}.{:02}", cents / 100, cents % 100);
        }
    }
    let report = batches.report();
    println!("{} rows found in {} that were looked at", report.rows_found, report.rows_tested);
    println!("{} of {} row groups ruled out", report.pruned.row_groups - report.row_groups, report.pruned.row_groups);
    println!("{} bytes read in {} requests", report.bytes_read, report.requests);

    // Counting reads no rows.
    println!("{} trips in all took longer than 45 minutes", trips.scan().filter("minutes > 45")?.count()?);
    Ok(())
}
