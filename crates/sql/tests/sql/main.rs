//! Compares queries over files with the same queries over rows in memory.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod catalog;
mod conditions;
mod conflicts;
mod database;
mod definitions;
mod dynamic;
mod foreign;
mod grouping_sets;
mod isolation;
mod join_order;
mod lakes;
mod logic;
mod memory;
mod overflow;
mod partitions;
mod prepared;
mod properties;
mod queries;
mod sharing;
mod table;
mod text_files;
mod tpch;
mod types;
mod variants;
mod write;

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_cast::pretty::pretty_format_batches;
use datafusion::datasource::MemTable;
use lath_sql::Session;
use lath_writer::{BloomFilter, ColumnOptions, ParquetWriter, WriteOptions};
use tokio::runtime::{Builder, Runtime};

/// Runs a future to completion.
fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime: Runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(work)
}

/// Writes a table to a file in row groups of `rows` rows, with a Bloom filter on every column that supports one.
fn write(path: &Path, batch: &RecordBatch, rows: usize) {
    let columns = ColumnOptions::new().bloom_filter(BloomFilter::DEFAULT).page_rows(rows / 4 + 1);
    let options = WriteOptions::default().row_group_rows(rows).all_columns(columns);
    let mut writer = ParquetWriter::create(path, &batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

/// Rows as sorted text, for results without an order.
fn sorted(batches: &[RecordBatch]) -> Vec<String> {
    let text = pretty_format_batches(batches).unwrap().to_string();
    let mut lines: Vec<String> = text.lines().skip(3).map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

async fn answer(session: &Session, query: &str) -> Vec<RecordBatch> {
    let frame = session.sql(query).await.unwrap_or_else(|error| panic!("{query}: {error}"));
    frame.collect().await.unwrap_or_else(|error| panic!("{query}: {error}"))
}

/// Registers rows in memory.
fn in_memory(session: &Session, name: &str, batches: Vec<RecordBatch>) {
    let table = MemTable::try_new(batches[0].schema(), vec![batches]).unwrap();
    session.context().register_table(name, Arc::new(table)).unwrap();
}
