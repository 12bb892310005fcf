//! Creates a table with a primary key, changes it, and reads an older snapshot, an index and the change feed.
//!
//! `cargo run --release -p lath --example keyed-table -- shop-items`

use std::error::Error;
use std::sync::Arc;

use lath::arrow::array::cast::AsArray;
use lath::arrow::array::types::Float64Type;
use lath::arrow::array::{Float64Array, Int64Array, StringArray};
use lath::prelude::*;
use lath::table::{ChangeRetention, Table, TableOptions};

fn items(ids: Vec<i64>, names: Vec<&str>, prices: Vec<f64>) -> Result<RecordBatch, Box<dyn Error>> {
    let columns: [(&str, ArrayRef); 3] = [
        ("id", Arc::new(Int64Array::from(ids))),
        ("name", Arc::new(StringArray::from(names))),
        ("price", Arc::new(Float64Array::from(prices))),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("give the name of the folder to make")?;
    let stock = items(vec![1, 2, 3], vec!["Bell", "Saddle", "Lamp"], vec![12.5, 39.0, 24.9])?;
    let table = Table::create(&folder, &stock.schema(), &["id"], TableOptions::new())?;
    table.keep_changes(ChangeRetention::new())?;
    table.create_index("by_name", &["name"], false)?;
    table.upsert(&stock)?;
    let monday = table.snapshot()?;

    // Changes of one transaction become visible together, or not at all.
    let mut transaction = table.begin()?;
    transaction.upsert(&items(vec![3, 4], vec!["Lamp", "Pump"], vec![22.9, 17.25])?)?;
    transaction.delete([1])?;
    transaction.commit()?;

    println!("{} items on monday, {} now", monday.count()?, table.count()?);
    if let Some(lamp) = table.get(3)? {
        println!("the lamp costs {}", lamp["price"].as_primitive::<Float64Type>().value(0));
    }
    println!("{} below 20", table.scan()?.filter("price < 20")?.count()?);
    for batch in table.snapshot()?.changes(monday.version())? {
        println!("{} changes since monday", batch?.num_rows());
    }
    println!("{} rows moved to Parquet files", table.flush()?.rows);
    println!("the table is whole: {}", table.check()?.is_intact());
    Ok(())
}
