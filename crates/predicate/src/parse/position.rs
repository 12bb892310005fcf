//! Positions in the text, for messages.

use sqlparser::tokenizer::Location;

/// A position for the end of a message; empty if it is unknown.
pub(super) fn at(location: Location) -> String {
    match (location.line, location.column) {
        (0, _) | (_, 0) => String::new(),
        (1, column) => format!(" (column {column})"),
        (line, column) => format!(" (line {line}, column {column})"),
    }
}

/// Rewords a message of the parser.
pub(super) fn reword(message: &str) -> String {
    let message = message.trim_start_matches("sql parser error: ");
    let (message, place) = match message.rsplit_once(" at Line: ") {
        Some((message, place)) => (message, place.split_once(", Column: ")),
        None => (message, None),
    };
    let place = place.and_then(|(line, column)| Some(Location::new(line.parse().ok()?, column.parse().ok()?)));
    let message = match message.strip_prefix("Expected: ") {
        Some(expected) => format!("expected {expected}"),
        None => message.to_owned(),
    };
    let message = message.replace(", found: EOF", ", but the expression ends").replace(", found: ", ", found ");
    format!("{message}{}", place.map(at).unwrap_or_default())
}
