//! Runs queries from standard input, one per line, and prints the time of each.
//!
//! ```sh
//! echo "SELECT city, count(*) FROM trips GROUP BY city" | cargo run --release -p lath-sql --example answer -- 2 trips=trips/
//! ```
//!
//! The first argument is the number of threads, the others are tables and their files. A line of output is a JSON object: `seconds` until
//! the last row, and `rows`, with values separated by tabs, or `error`.

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use lath_parquet::{Dataset, DatasetOptions, Runtime};
use lath_sql::Session;
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let threads: usize = arguments.next().ok_or("how many threads?")?.parse()?;
    let session = Session::builder().runtime(&Runtime::builder().threads(threads).build()).build()?;
    for table in arguments {
        let (name, path) = table.split_once('=').ok_or("a table is NAME=PATH")?;
        session.register(name, Dataset::open([path], DatasetOptions::new())?)?;
    }
    let executor = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    for query in io::stdin().lock().lines() {
        let query = query?;
        let start = Instant::now();
        let answer = executor.block_on(async { session.sql(&query).await?.collect().await });
        let seconds = start.elapsed().as_secs_f64();
        let line = match answer {
            Ok(batches) => json!({ "seconds": seconds, "rows": text(&batches)? }),
            Err(error) => json!({ "error": error.to_string() }),
        };
        writeln!(io::stdout(), "{line}")?;
    }
    Ok(())
}

/// Formats rows as text, with values separated by tabs.
fn text(batches: &[RecordBatch]) -> Result<String, Box<dyn Error>> {
    let options = FormatOptions::default();
    let mut text = String::new();
    for batch in batches {
        let columns: Vec<_> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options)).collect::<Result<_, _>>()?;
        for row in 0..batch.num_rows() {
            let values: Vec<String> = columns.iter().map(|column| column.value(row).to_string()).collect();
            text += &values.join("\t");
            text.push('\n');
        }
    }
    Ok(text)
}
