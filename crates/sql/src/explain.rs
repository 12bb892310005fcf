//! Converts DataFusion's errors to mistakes at a position of the statement.

use std::collections::BTreeSet;
use std::ops::Range;

use datafusion::common::utils::quote_identifier;
use datafusion::common::{Diagnostic, SchemaError, Span};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;

use crate::error::Error;
use crate::files::is_location;
use crate::names::{function_names, table_names};
use crate::session::Session;
use crate::text::{Lines, Mistake, located, only_occurrence, token_len};

/// Maximum number of columns to list in an error if none is similar to the name.
const MAX_LISTED: usize = 30;

/// Converts `error` of the statement at `range` of `text`, to a mistake if it is about the text.
pub(crate) fn explain(session: &Session, text: &str, range: Range<usize>, error: DataFusionError) -> Error {
    let statement = &text[range.clone()];
    let place = |place: Option<Range<usize>>| {
        place.map(|place| range.start + place.start.min(statement.len())..range.start + place.end.min(statement.len()))
    };
    let diagnostic = error.diagnostic().cloned();
    let span = diagnostic.as_ref().and_then(|diagnostic| diagnostic.span).map(|span| byte_range(span, statement));
    let said = diagnostic.as_ref().map_or("", |diagnostic| diagnostic.message.as_str());
    let mistake = match error.find_root() {
        DataFusionError::SQL(parser, _) => {
            let message = match parser.as_ref() {
                ParserError::TokenizerError(message) | ParserError::ParserError(message) => message.as_str(),
                ParserError::RecursionLimitExceeded => "the statement is nested too deeply",
            };
            let (message, at) = located(message, statement);
            let at = at.unwrap_or(statement.trim_end().len());
            Mistake::new(message, Some(at..at + token_len(&statement[at..])))
        }
        DataFusionError::SchemaError(schema, _) => match schema.as_ref() {
            SchemaError::FieldNotFound { field, valid_fields } => {
                let names: Vec<_> =
                    valid_fields.iter().map(|field| quote_identifier(&field.name).into_owned()).collect();
                let at = span.or_else(|| only_occurrence(statement, &field.name));
                let mistake = Mistake::new(format!("there is no column {:?}", field.name), at);
                let mut mistake = mistake.suggesting(&field.name, names.iter().cloned());
                if mistake.suggestions.is_empty() && !names.is_empty() {
                    mistake.message.push_str(&listed(&names));
                }
                mistake
            }
            other => Mistake::new(other.to_string(), span),
        },
        _ if said.starts_with("Invalid function '") => {
            let name = said.trim_start_matches("Invalid function '").trim_end_matches('\'');
            let at = span.or_else(|| only_occurrence(statement, name));
            Mistake::new(format!("there is no function {name:?}"), at).suggesting(name, function_names(session))
        }
        root if missing_table(root, said).is_some() => {
            let (kind, name) = missing_table(root, said).unwrap_or_default();
            no_table(session, statement, kind, name, span)
        }
        _ => match Error::from(error) {
            Error::Statement(message) => {
                let message = diagnostic.map_or(message.clone(), |diagnostic| with_notes(&diagnostic, message));
                Mistake::new(message, span)
            }
            other => return other,
        },
    };
    Error::Mistake(Box::new(Mistake { place: place(mistake.place), ..mistake }))
}

/// The kind and the name of the table or view that an error says is missing, as a statement has it.
fn missing_table<'e>(root: &'e DataFusionError, said: &'e str) -> Option<(&'static str, &'e str)> {
    let text = match root {
        DataFusionError::Plan(message) | DataFusionError::Execution(message) if said.is_empty() => message.as_str(),
        DataFusionError::Plan(_) => said,
        _ => return None,
    };
    let forms = [
        ("table", "table '", "' not found"),
        ("table", "Table '", "' doesn't exist."),
        ("view", "View '", "' doesn't exist."),
    ];
    let find = |(kind, before, after)| Some((kind, text.strip_prefix(before)?.strip_suffix(after)?));
    let (kind, name) = forms.into_iter().find_map(find)?;
    Some((kind, name.strip_prefix("datafusion.public.").unwrap_or(name)))
}

fn no_table(session: &Session, statement: &str, kind: &str, name: &str, span: Option<Range<usize>>) -> Mistake {
    let at = span.or_else(|| only_occurrence(statement, name));
    let written = at.clone().and_then(|at| statement.get(at)).unwrap_or(name);
    if is_location(written) {
        let message = format!("there is no table {written:?}; to query a file, write its name in single quotes");
        return Mistake { suggestions: vec![format!("'{written}'")], ..Mistake::new(message, at) };
    }
    Mistake::new(format!("there is no {kind} {name:?}"), at).suggesting(name, table_names(session))
}

fn listed(names: &[String]) -> String {
    let distinct: BTreeSet<_> = names.iter().collect();
    let mut seen = BTreeSet::new();
    let shown: Vec<_> = names.iter().filter(|name| seen.insert(*name)).take(MAX_LISTED).map(String::as_str).collect();
    let more = distinct.len() - shown.len();
    let end = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("; there are {}{end}", shown.join(", "))
}

fn with_notes(diagnostic: &Diagnostic, message: String) -> String {
    let notes =
        diagnostic.notes.iter().map(|note| &note.message).chain(diagnostic.helps.iter().map(|help| &help.message));
    notes.fold(
        message,
        |message, note| if message.contains(note.as_str()) { message } else { format!("{message}; {note}") },
    )
}

fn byte_range(span: Span, text: &str) -> Range<usize> {
    let lines = Lines::new(text);
    let start = lines.offset(span.start.line, span.start.column);
    start..lines.offset(span.end.line, span.end.column).max(start)
}
