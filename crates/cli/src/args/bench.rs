//! Arguments of `bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::quantity::parse_bytes;

#[derive(Debug, Subcommand)]
pub(crate) enum Benchmark {
    /// Bloom filters: what a probe costs at every SIMD tier that the processor has, and how many keys pass by chance
    #[command(after_help = BLOOM_HELP)]
    Bloom(BloomArgs),
}

const BLOOM_HELP: &str = "\
A filter of each size is filled with as many keys as one per cent of false positives is said to allow, and probed for
keys that it lacks; hashes are made before. Every tier has to give the same answers, and all keys have to be found.

Columns, in nanoseconds a probe, best and (median):
  single   one call a key
  bulk     many keys in one call, answers as a bitmap
  count    the same, answers as a number
  filters  one key in one call to many filters, which share the size among them
A raw load is one of 32 bytes at the same random places, and nothing else.

Examples:
  lath bench bloom
  lath bench bloom --sizes 512KiB --json
  lath bench bloom --sizes 1MiB,64MiB,4GiB --svg bloom.svg";

#[derive(Debug, Args)]
pub(crate) struct BloomArgs {
    /// Sizes of the filters
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = parse_size, default_value = "512KiB,128MiB,1GiB")]
    pub(crate) sizes: Vec<u64>,
    /// How many filters one key is looked up in
    #[arg(long, value_name = "COUNT", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) filters: u32,
    /// How long each tier is measured at each thing, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub(crate) time: u32,
    /// Ordinary pages of memory even where huge ones can be had
    #[arg(long)]
    pub(crate) small_pages: bool,
    /// Draw the times as a chart
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) svg: Option<PathBuf>,
    /// Replace FILE if it exists
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
    /// Write JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Bytes of a filter: at least a block, at most as many blocks as a hash can choose from.
fn parse_size(text: &str) -> Result<u64, String> {
    match parse_bytes(text) {
        Some(size) if (32..=32 << 32).contains(&size) => Ok(size),
        _ => Err("write a size such as 512KiB or 1GiB: at least 32 bytes, at most 128GiB".to_owned()),
    }
}
