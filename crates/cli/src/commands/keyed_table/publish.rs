//! `table publish`.

use std::fmt::Write;

use lath_table::PublishOptions;

use super::open::open;
use crate::args::{PublishArgs, PublishFormat};
use crate::commands::print;
use crate::console::quantity::plural;
use crate::failure::{Outcome, Result};
use crate::input::table_failure::table_failure;

pub(super) fn run(args: &PublishArgs) -> Result<Outcome> {
    let table = open(&args.table)?;
    if args.stop {
        table.stop_publishing().map_err(table_failure)?;
        return Ok(Outcome::Done);
    }
    let published = match &args.formats[..] {
        [] => table.publish_now(),
        formats => {
            let options = PublishOptions::new()
                .iceberg(formats.contains(&PublishFormat::Iceberg))
                .delta(formats.contains(&PublishFormat::Delta))
                .keep(args.keep_snapshots)
                .map_types(args.map_types);
            table.publish(args.max_age.into_iter().fold(options, PublishOptions::max_age))
        }
    };
    let published = published.map_err(table_failure)?;
    let (rows, files) = (plural(published.rows, "row"), plural(published.files as u64, "file"));
    let mut text = format!("{rows} in {files}: {}\n", published.metadata.display());
    if published.rewritten > 0 {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{} written again", plural(published.rewritten as u64, "file"));
    }
    for mapped in &published.mapped {
        // Writing to a string does not fail.
        let _ = writeln!(text, "column {}: {} as {}", mapped.column, mapped.from, mapped.to);
    }
    print(&text)
}
