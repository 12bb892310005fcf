//! Arguments of `table follow`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::folder::folder;
use super::wait::parse_wait;

pub(super) const HELP: &str = "\
SOURCE and COPY are folders of this machine. Or one follower ships to a place in a bucket, and another one, on another machine,
copies from it. Everyone can read the copy; nothing but the follower changes it until it is promoted, which the
follower has to be ended for.

Examples:
  lath table follow shop /backup/shop
  lath table follow shop s3://bucket/shop
  lath table follow s3://bucket/shop copy
  lath table follow shop /backup/shop --once
  lath table follow --status /backup/shop
  lath table follow --promote /backup/shop";

/// The source and its copy, or a copy alone.
#[derive(Debug, Args)]
pub(crate) struct FollowArgs {
    /// The folder of a table or of a database, or the URL of a place in a bucket to which another follower ships
    #[arg(value_name = "SOURCE", required_unless_present_any = ["promote", "status"], conflicts_with_all = ["promote", "status"], value_parser = folder())]
    pub(crate) source: Option<PathBuf>,
    /// The folder of the copy, which is empty or does not exist before the first time; or the URL of a place in a bucket
    #[arg(value_name = "COPY", required_unless_present_any = ["promote", "status"], value_parser = folder())]
    pub(crate) copy: Option<PathBuf>,
    /// Catch up with the source, and end
    #[arg(long, conflicts_with_all = ["promote", "status"])]
    pub(crate) once: bool,
    /// Make the copy in this folder an independent table or database, which can be changed
    #[arg(long, value_name = "COPY", conflicts_with = "status", value_parser = folder())]
    pub(crate) promote: Option<PathBuf>,
    /// Show how far the copy in this folder is
    #[arg(long, value_name = "COPY", value_parser = folder())]
    pub(crate) status: Option<PathBuf>,
    /// Show the status as JSON
    #[arg(long, requires = "status", conflicts_with_all = ["source", "promote"])]
    pub(crate) json: bool,
    /// Wait until the source exists, instead of ending with an error
    #[arg(long, conflicts_with_all = ["promote", "status"])]
    pub(crate) await_source: bool,
    /// Time to wait for a process that has the source or the copy open in a way that excludes this one
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = parse_wait)]
    pub(crate) wait: Duration,
}
