//! Arguments of `gen`.

use clap::{Args, Subcommand};

use super::WriteArgs;
use super::destination::DestinationArgs;
use crate::generate::tpch::Table;

#[derive(Debug, Subcommand)]
pub(crate) enum Generate {
    /// The tables of TPC-H, the decision support benchmark
    #[command(
        after_help = "Without --table, all eight tables are written to the directory OUT, as lineitem.parquet and so on.\n\nExamples:\n  lath gen tpch --sf 1 --table lineitem -o lineitem.parquet\n  lath gen tpch --sf 0.1 -o tpch/ --format csv"
    )]
    Tpch(TpchArgs),
    /// Spans of traces: nested, with nulls, skewed, almost in order of time; reproducible by seed
    #[command(after_help = EVENTS_HELP)]
    Events(EventsArgs),
}

const EVENTS_HELP: &str = "\
Columns:
  timestamp       timestamp, µs, UTC; a millisecond apart on average, up to 5 ms of jitter: ascending, but not sorted
  trace_id        16 bytes; 64 traces are open at a time, each of 8 spans on average
  span_id         8 bytes
  parent_span_id  8 bytes; an earlier span of the trace, null for the first
  service         40 names by Zipf's law
  operation       25 names a service by Zipf's law
  kind            server, client, internal, producer, consumer
  duration_us     log-normal about a median of the operation's own
  status_code     mostly 200
  attributes      map of strings to strings; three in ten are null
  tags            list of strings, mostly empty

Examples:
  lath gen events --rows 1000000 -o events.parquet
  lath gen events --rows 100 --seed 7 --format jsonl";

#[derive(Debug, Args)]
pub(crate) struct TpchArgs {
    /// Scale factor: 1 is about 1 GB as text, with 6,001,215 rows of lineitem
    #[arg(long = "sf", value_name = "FACTOR", value_parser = parse_scale)]
    pub(crate) scale: f64,
    /// Only this table
    #[arg(long)]
    pub(crate) table: Option<Table>,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    #[command(flatten)]
    pub(crate) destination: DestinationArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// Number of spans
    #[arg(short = 'n', long)]
    pub(crate) rows: u64,
    /// Seed of the random numbers; the same seed gives the same spans
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    #[command(flatten)]
    pub(crate) destination: DestinationArgs,
}

fn parse_scale(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(scale) if scale > 0.0 && scale <= 100_000.0 => Ok(scale),
        _ => Err("write a number above 0, at most 100000".to_owned()),
    }
}
