//! CSV and JSON lines, as the command line's options say.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use lath_text::{Error, InferRows, Origin, Setting, TextFile, TextFormat, TextOptions};

use super::Source;
use super::file_schema::file_schema;
use crate::args::TextArgs;
use crate::console::quantity::plural;
use crate::failure::{Failure, Result};

/// The command line's options for text files.
pub(crate) fn text_options(args: &TextArgs) -> Result<TextOptions> {
    if args.delimiter.is_some() && args.delimiter == args.quote.0 {
        return Err(Failure::Usage("--delimiter and --quote have to differ".to_owned()));
    }
    let types_of = args.schema_of.as_deref().map(|path| Ok((path.display().to_string(), file_schema(path)?)));
    Ok(TextOptions {
        infer_rows: args.infer_rows,
        types: args.types.clone(),
        types_of: types_of.transpose()?,
        delimiter: args.delimiter,
        quote: args.quote.0,
        header: !args.no_header,
        nulls: args.nulls.clone(),
        date_formats: args.date_format.clone(),
        decimal_point: args.decimal,
        ..TextOptions::default()
    })
}

/// Reads text. `first` is the schema of the first input.
pub(super) fn read(
    file: TextFile,
    format: TextFormat,
    options: &TextOptions,
    batch_rows: usize,
    first: Option<&SchemaRef>,
) -> Result<Source> {
    let rows = file.read(format, options, batch_rows, first).map_err(text_failure)?;
    let batches = rows.batches.map(|batch: lath_text::Result<RecordBatch>| batch.map_err(text_failure));
    Ok(Source { schema: rows.schema, batches: Box::new(batches) })
}

/// The failure to read text, with the option that helps.
pub(crate) fn text_failure(error: Error) -> Failure {
    let advice = match &error {
        Error::Malformed { setting: Some(Setting::Quote), .. } => "; --quote sets the quote character".to_owned(),
        Error::Malformed { setting: Some(Setting::Delimiter), .. } => "; --delimiter sets another".to_owned(),
        Error::Malformed { setting: Some(Setting::Type { inferred_rows: Some(rows) }), .. } => format!(
            "; types were inferred from the first {}: give a type with --type COLUMN=TYPE, or infer from all rows with \
             --infer-rows all",
            plural(*rows as u64, "row")
        ),
        Error::Malformed { setting: Some(Setting::Type { .. }), .. } => "; --type COLUMN=TYPE gives a type".to_owned(),
        Error::Value { column, origin, is_temporal, .. } => {
            let formats = if *is_temporal { "; --date-format adds formats" } else { "" };
            format!("; {}{formats}", type_advice(origin, &type_option(column)))
        }
        Error::Options { as_text: Some(column), .. } => format!("; read it as text with {}", type_option(column)),
        _ => String::new(),
    };
    let message = format!("{error}{advice}");
    match error {
        Error::Io { .. } => Failure::Io(message),
        Error::Options { .. } => Failure::Usage(message),
        _ => Failure::Corrupt(message),
    }
}

/// Advice for a value that does not fit; `as_text` is the option that makes the column text.
fn type_advice(origin: &Origin, as_text: &str) -> String {
    match origin {
        Origin::Inferred(InferRows::First(rows)) => format!(
            "types were inferred from the first {}: read the column as text with {as_text}, or infer from all rows with \
             --infer-rows all",
            plural(*rows as u64, "row")
        ),
        Origin::Inferred(InferRows::All) => format!("read the column as text with {as_text}"),
        Origin::Given => format!("--type requires it; {as_text} reads it as text"),
        Origin::SchemaOf(name) => format!("the column has that type in {name}; {as_text} reads it as text"),
        Origin::FirstFile => format!("the column has that type in the first input; {as_text} reads it as text"),
    }
}

/// The option that makes a column text.
fn type_option(column: &str) -> String {
    if column.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')) {
        format!("--type {column}=string")
    } else {
        format!("--type {:?}", format!("{column}=string"))
    }
}
