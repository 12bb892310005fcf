//! `uploads`: lists and aborts uploads to stores that were not completed.

use std::io::ErrorKind;
use std::time::{Duration, SystemTime};

use lath_parquet::{DatasetOptions, UnfinishedUpload, is_store};
use serde_json::json;

use crate::args::UploadsArgs;
use crate::console::quantity::{duration, plural};
use crate::failure::{Failure, Outcome, Result};
use crate::output::layout::printable;

pub(super) fn run(args: &UploadsArgs) -> Result<Outcome> {
    let url = &args.url;
    if !is_store(url) {
        return Err(Failure::Usage(format!("{url} is not the URL of a bucket, such as s3://bucket/folder/")));
    }
    let failure = |error: std::io::Error| match error.kind() {
        ErrorKind::Unsupported | ErrorKind::InvalidInput => Failure::Usage(format!("{url}: {error}")),
        _ => Failure::Io(format!("{url}: {error}")),
    };
    let store = DatasetOptions::new().object_store(url).map_err(|error| Failure::Usage(error.to_string()))?;
    let mut uploads = store.unfinished_uploads().map_err(failure)?;
    uploads.retain(|upload| args.older_than.is_none_or(|least| age(upload) >= least));
    uploads.sort_by(|a, b| (a.begun_micros, &a.url).cmp(&(b.begun_micros, &b.url)));

    let mut text = String::new();
    let (mut aborted, mut problems) = (0, Vec::new());
    for upload in &uploads {
        let was_aborted = args.abort
            && match store.abort_upload(upload) {
                Ok(was_aborted) => was_aborted,
                Err(error) => {
                    problems.push(format!("{}: {error}", printable(upload.url.clone())));
                    false
                }
            };
        aborted += u64::from(was_aborted);
        text.push_str(&if args.json { json_line(upload, was_aborted) } else { line(upload) });
    }
    super::print(&text)?;
    if args.abort && !args.json {
        eprintln!("{} aborted", plural(aborted, "upload"));
    }
    match problems.as_slice() {
        [] => Ok(if uploads.is_empty() { Outcome::Nothing } else { Outcome::Done }),
        [first, rest @ ..] => {
            let further = if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) };
            Err(Failure::Io(format!("cannot abort {first}{further}")))
        }
    }
}

/// The time since the upload was begun, by this machine's clock.
fn age(upload: &UnfinishedUpload) -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(Duration::from_micros(u64::try_from(upload.begun_micros).unwrap_or(0)))
}

fn line(upload: &UnfinishedUpload) -> String {
    let seconds = age(upload).as_secs();
    let age = if seconds < 2 * 86_400 { duration(seconds as f64) } else { plural(seconds / 86_400, "day") };
    format!("{age}\t{}\t{}\n", printable(upload.url.clone()), printable(upload.id.clone()))
}

fn json_line(upload: &UnfinishedUpload, was_aborted: bool) -> String {
    let object = json!({
        "url": upload.url,
        "upload_id": upload.id,
        "begun_micros": upload.begun_micros,
        "age_seconds": age(upload).as_secs(),
        "aborted": was_aborted,
    });
    format!("{object}\n")
}
