//! `check`: decodes everything and compares it with the metadata.

use std::io::Write;

use lath_parquet::{DatasetFile, Int96Unit, OpenOptions, Strings};

use super::keyed_table::describe;
use super::meta::chosen_columns;
use crate::args::CheckArgs;
use crate::check::{FilterSource, Finding, Kind, check};
use crate::console::progress::Progress;
use crate::console::quantity::plural;
use crate::failure::{Failure, Outcome, Result};
use crate::input::inputs::Inputs;
use crate::input::keyed_input::KeyedInput;
use crate::input::scan::Scan;
use crate::input::table_failure::table_failure;
use crate::metadata::page_index::FileInfo;
use crate::output::layout::printable;
use crate::target::Target;

/// Prints the problems of each file.
pub(super) fn run(args: &CheckArgs) -> Result<Outcome> {
    let mut inputs = Inputs::find(&args.inputs)?;
    let scan = Scan::new(&args.decode, Strings::Views);
    let mut progress = Progress::new("columns of row groups", 0, false);
    let mut target = Target::stdout()?;
    let mut outcome = Outcome::Done;
    // The files of a table of Delta Lake or Iceberg, as they are stored.
    let files = inputs.lake().map(|lake| lake.dataset().files().to_vec());
    for index in 0..files.as_ref().map_or(inputs.len(), Vec::len) {
        let file = files.as_ref().and_then(|files| files.get(index));
        let name = file.map_or_else(|| inputs.name(index), |file| file.location().to_owned());
        if file.is_none()
            && let Some(folder) = inputs.keyed_folder(index)
        {
            let report = KeyedInput::open(folder)?.table.check().map_err(table_failure)?;
            if !report.is_intact() {
                outcome = worse(outcome, Outcome::Corrupt);
            }
            let text = if args.quiet && report.is_intact() { String::new() } else { describe(folder, &report) };
            target.write_all(text.as_bytes()).map_err(|error| Failure::writing(target.name(), &error))?;
            continue;
        }
        let report = match check_file(&mut inputs, index, file, args, &scan, &mut progress) {
            Ok((sound, findings)) if findings.is_empty() => {
                if args.quiet {
                    String::new()
                } else {
                    format!("{name}: ok ({sound})\n")
                }
            }
            Ok((_, findings)) => {
                outcome = findings.iter().map(|finding| outcome_for(finding.kind)).fold(outcome, worse);
                findings.iter().map(|finding| format!("{name}: {}\n", printable(finding.to_string()))).collect()
            }
            // The other files are checked too.
            Err(failure) => {
                let of_file = match &failure {
                    Failure::Encrypted(_) => Outcome::Encrypted,
                    Failure::Corrupt(_) => Outcome::Corrupt,
                    Failure::Internal(_) => Outcome::Internal,
                    _ => return Err(failure),
                };
                outcome = worse(outcome, of_file);
                format!("{}\n", printable(failure.to_string()))
            }
        };
        progress.clear();
        let written = target.write_all(report.as_bytes()).and_then(|()| target.flush());
        written.map_err(|error| Failure::writing(target.name(), &error))?;
    }
    target.finish()?;
    Ok(outcome)
}

fn outcome_for(kind: Kind) -> Outcome {
    match kind {
        Kind::Mismatch => Outcome::Nothing,
        Kind::Encrypted => Outcome::Encrypted,
        Kind::Corrupt => Outcome::Corrupt,
        Kind::Internal => Outcome::Internal,
    }
}

fn worse(one: Outcome, other: Outcome) -> Outcome {
    if one.exit_code() >= other.exit_code() { one } else { other }
}

fn check_file(
    inputs: &mut Inputs,
    index: usize,
    stored: Option<&DatasetFile>,
    args: &CheckArgs,
    scan: &Scan,
    progress: &mut Progress,
) -> Result<(String, Vec<Finding>)> {
    let name = stored.map_or_else(|| inputs.name(index), |stored| stored.location().to_owned());
    // Statistics are of the stored type, not of the writer's Arrow type.
    // Milliseconds hold every INT96, so that none is reported as out of range.
    let options = OpenOptions::new().arrow_schema_hint(false).int96_unit(Int96Unit::Milliseconds);
    let file = match stored {
        Some(stored) => inputs.open_stored(stored, options)?,
        None => inputs.open_with(index, options)?,
    };
    let deleted = match stored.and_then(DatasetFile::deleted) {
        Some(deleted) => deleted.mask().map_err(|error| Failure::reading(&name, error))?.iter().last(),
        None => None,
    };
    let outside = deleted.filter(|row| *row >= file.row_count()).map(|row| {
        Finding::corrupt(&name, &format!("row {row} is deleted, and the file has {} rows", file.row_count()))
    });
    let (indexes, broken) = match file.page_index() {
        Ok(indexes) => (Some(indexes), None),
        Err(error) => match Failure::reading(&name, error) {
            // The rest is checked without it.
            Failure::Corrupt(what) => (None, Some(Finding::corrupt(&name, &what))),
            other => return Err(other),
        },
    };
    let metadata = file.metadata();
    let columns = chosen_columns(metadata, args.columns.as_deref(), &name)?;
    // Bloom filters of encrypted files are not checked.
    let bytes = (!inputs.are_decrypted()).then(|| FilterSource::of(&file));
    let info = FileInfo { metadata, indexes };
    let found = check(&file, &name, info, &columns, bytes.as_ref(), scan, progress)?;
    let findings = broken.into_iter().chain(outside).chain(found).collect();
    let sound = format!(
        "{}, {}, {}",
        plural(file.row_count(), "row"),
        plural(metadata.row_group_count() as u64, "row group"),
        plural(columns.len() as u64, "column")
    );
    Ok((sound, findings))
}
