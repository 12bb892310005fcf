//! Arguments of commands that write files.

use std::path::PathBuf;

use clap::Args;

use super::Format;

/// One output, in any format.
#[derive(Debug, Args)]
pub(crate) struct DestinationArgs {
    /// Write to this file, which appears complete or not at all; - is standard output [default: standard output]
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Output format [default: by the name given to -o]
    #[arg(short, long, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) format: Option<Format>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// Overwriting, and the summary.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Replace OUT if it exists
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
    /// Print the summary as JSON to standard output
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print no summary
    #[arg(short, long, help_heading = "Output", conflicts_with = "json")]
    pub(crate) quiet: bool,
}
