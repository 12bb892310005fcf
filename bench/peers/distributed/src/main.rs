//! Queries by datafusion-distributed, whose workers read with DataFusion's own reader.
//!
//! - `distributed-peer worker` prints its address and serves with one thread.
//! - `distributed-peer ask FOLDER WORKER,… PARTITIONS PUSHDOWN QUERY` prints the rows of a query over the Parquet files in a
//!   folder as CSV, and on standard error the seconds from its text to its last row.

use std::error::Error;
use std::time::Instant;
use std::{env, fs};

use datafusion::arrow::csv::Writer;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use datafusion_distributed::{DistributedExt, SessionStateBuilderExt, Worker, WorkerResolver};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use url::Url;

struct Workers(Vec<Url>);

impl WorkerResolver for Workers {
    fn get_urls(&self) -> Result<Vec<Url>, DataFusionError> {
        Ok(self.0.clone())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["worker"] => runtime.block_on(work()),
        ["ask", folder, workers, partitions, pushdown, query] => {
            runtime.block_on(ask(folder, workers, partitions.parse()?, pushdown.parse()?, query))
        }
        _ => Err("distributed-peer worker | ask FOLDER WORKER,… PARTITIONS PUSHDOWN QUERY".into()),
    }
}

async fn work() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let server = Server::builder().add_service(Worker::default().into_worker_server());
    Ok(server.serve_with_incoming(TcpListenerStream::new(listener)).await?)
}

async fn ask(
    folder: &str,
    workers: &str,
    partitions: usize,
    pushdown: bool,
    query: &str,
) -> Result<(), Box<dyn Error>> {
    let workers = workers.split(',').map(|worker| Url::parse(&format!("http://{worker}"))).collect::<Result<_, _>>()?;
    let mut config = SessionConfig::new().with_target_partitions(partitions);
    config.options_mut().execution.parquet.pushdown_filters = pushdown;
    config.options_mut().execution.parquet.reorder_filters = pushdown;
    let state = SessionStateBuilder::new()
        .with_default_features()
        .with_config(config)
        .with_distributed_worker_resolver(Workers(workers))
        .with_distributed_planner()
        .build();
    let context = SessionContext::from(state);
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        if let (Some(name), Some(path)) = (path.file_stem().and_then(|name| name.to_str()), path.to_str())
            && path.ends_with(".parquet")
        {
            context.register_parquet(name, path, ParquetReadOptions::default()).await?;
        }
    }
    let started = Instant::now();
    let batches = context.sql(query).await?.collect().await?;
    eprintln!("{}", started.elapsed().as_secs_f64());
    let mut writer = Writer::new(std::io::stdout().lock());
    for batch in &batches {
        writer.write(batch)?;
    }
    Ok(())
}
