//! Measures what a query over many files on many workers costs the coordinator. The planner, the files and the messages are real; no worker is called.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{Int64Array, RecordBatch, StringArray};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::Count;
use datafusion_distributed::{DistributedLeafExec, NetworkBoundaryExt};
use lath_grpc::NetworkThreads;
use lath_parquet::{Dataset, DatasetOptions, Runtime};
use lath_sql::Session;
use lath_sql::remote::PlanCodec;
use lath_testkit::memory_bytes;
use lath_writer::{ParquetWriter, WriteOptions};
use url::Url;

use crate::access::Access;
use crate::channel::Channels;
use crate::coordinator::divide;
use crate::tls::Authorities;
use crate::wire::write_plan;
use crate::workers::{LiveWorker, Workers};

/// Names of one file: as many as file systems allow.
const NAMES_PER_FILE: usize = 30_000;

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |value| value.parse().unwrap())
}

/// Megabytes that this process has in memory.
fn memory() -> f64 {
    memory_bytes("VmRSS") as f64 / f64::from(1 << 20)
}

fn write_files(folder: &Path, count: usize) {
    let names: Vec<String> = (0..16).map(|column| format!("column_{column}")).collect();
    let columns = names.iter().enumerate().map(|(index, name)| {
        let numbers = 0..100_i64;
        let column: arrow_array::ArrayRef = match index % 2 {
            0 => Arc::new(Int64Array::from_iter_values(numbers.map(|number| number % (index as i64 + 2)))),
            _ => Arc::new(StringArray::from_iter_values(numbers.map(|number| format!("text {}", number % 9)))),
        };
        (name.as_str(), column)
    });
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut original = folder.to_owned();
    for index in 0..count {
        let path = folder.join(format!("part-{index:07}-0000-4f5e-a1b2-00c04fd430c8.parquet"));
        if index % NAMES_PER_FILE == 0 {
            let mut writer = ParquetWriter::create(&path, &batch.schema(), WriteOptions::default()).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
            original = path;
        } else {
            fs::hard_link(&original, path).unwrap();
        }
    }
}

/// The parts of a plan, by the number of workers that run each, and the operators between them.
fn parts(plan: &Arc<dyn ExecutionPlan>, found: &mut Vec<(usize, Arc<dyn ExecutionPlan>)>) {
    plan.apply(|operator| {
        if let Some(boundary) = operator.as_network_boundary()
            && let Some(part) = boundary.input_stage().local_plan()
        {
            found.push((boundary.input_stage().task_count(), Arc::clone(part)));
            parts(part, found);
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .unwrap();
}

/// A part as task `index` gets it.
fn part_for_task(part: &Arc<dyn ExecutionPlan>, index: usize) -> Arc<dyn ExecutionPlan> {
    Arc::clone(part)
        .transform_down(|operator| {
            Ok(match operator.downcast_ref::<DistributedLeafExec>() {
                Some(leaf) => Transformed::yes(Arc::clone(&leaf.variants()[index])),
                None => Transformed::no(operator),
            })
        })
        .unwrap()
        .data
}

#[tokio::test]
#[ignore = "links a million files; run it by itself, optimised, and read what it prints"]
async fn a_thousand_workers_and_a_million_files() {
    let (files, workers) = (number("LATH_FILES", 1_000_000), number("LATH_WORKERS", 1000));
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path(), files);
    let access = Access::new(vec![folder.path().to_str().unwrap().to_owned()]);
    let url = |index: usize| Url::parse(&format!("http://worker-{index}.workers:9301/")).unwrap();
    let live: Vec<LiveWorker> = (0..workers).map(|index| LiveWorker::simulated(url(index), access.clone())).collect();
    let codec = PlanCodec::new(&Runtime::global());
    let network = NetworkThreads::start().unwrap();
    let channels = Channels::new(None, Authorities::default(), codec.clone(), &network);
    let urls = live.iter().map(|worker| worker.url.clone()).collect();
    let all = Workers::new(urls, channels, codec.clone(), network, 0, Vec::new());

    let seconds = |since: Instant| since.elapsed().as_secs_f64();
    let (start, before) = (Instant::now(), memory());
    let session = Session::new();
    session.register("files", Dataset::open([folder.path()], DatasetOptions::new()).unwrap()).unwrap();
    println!("{files} files listed in {:.2} s, {:.0} MB", seconds(start), memory() - before);
    for query in [
        "SELECT count(*) FROM files WHERE column_1 < 'text 5'",
        "SELECT column_0, column_1, sum(column_2) FROM files GROUP BY column_0, column_1",
    ] {
        let start = Instant::now();
        let state = session.context().state();
        let logical = state.create_logical_plan(query).await.unwrap();
        let plan = state.create_physical_plan(&logical).await.unwrap();
        println!("{query}\n  planned in {:.2} s, {:.0} MB", seconds(start), memory() - before);
        let start = Instant::now();
        let (divided, _) = divide(plan, &all, &live, &state, &state.task_ctx(), Count::new()).await.unwrap();
        println!("  divided in {:.2} s, {:.0} MB", seconds(start), memory() - before);
        let mut stages = Vec::new();
        parts(&divided, &mut stages);
        let (mut messages, mut bytes, mut written) = (0, 0, Duration::ZERO);
        for (tasks, part) in &stages {
            let start = Instant::now();
            for index in 0..*tasks {
                bytes += write_plan(part_for_task(part, index), &codec).unwrap().len();
            }
            written += start.elapsed();
            messages += tasks;
        }
        let streams: Vec<usize> = stages.iter().map(|(tasks, _)| *tasks).collect();
        println!(
            "  {messages} plans of {:.0} bytes each written in {:.2} s, {:.0} MB; workers of each part {streams:?}",
            bytes as f64 / messages as f64,
            written.as_secs_f64(),
            memory() - before,
        );
        assert!(messages >= workers.min(files));
    }
}
