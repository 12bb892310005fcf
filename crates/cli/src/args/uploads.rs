//! Arguments of `uploads`.

use std::time::Duration;

use clap::Args;

use super::keyed_table::parse_age;

pub(super) const HELP: &str = "\
A process that is killed while it writes a large object leaves the parts that it has sent. They are no object, but their owner pays for them. This
command lists them, of every program, in S3 and compatible stores: a line for each upload with its age, the URL of the object and the store's name of
the upload. An upload may be in use: a program that is still writing loses it. So --abort takes only uploads that are older than a time that
you choose, which has to be longer than your programs write one object. Exits 1 if there is none.

Azure deletes uncommitted blocks after seven days by itself; Google Cloud Storage deletes unfinished uploads by a rule of the bucket
(AbortIncompleteMultipartUpload), which S3 has too.

Examples:
  lath uploads s3://bucket
  lath uploads s3://bucket/data/ --older-than 1d --json
  lath uploads s3://bucket/data/ --older-than 1d --abort";

/// The bucket, and what is done.
#[derive(Debug, Args)]
pub(crate) struct UploadsArgs {
    /// A bucket, a folder in it, or an object
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Only uploads that were begun before this time: a number with s, m, h or d
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub(crate) older_than: Option<Duration>,
    /// Delete the parts of these uploads
    #[arg(long, requires = "older_than")]
    pub(crate) abort: bool,
    /// Write JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}
