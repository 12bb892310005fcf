//! Converts errors of statements to exceptions of `lath._errors`.

use lath_pyo3::error::{Failure, Kind, MistakePlace};
use lath_sql::Error;

/// Width of the lines of a statement that messages show.
const WIDTH: usize = 110;

/// The failure of a statement of `text`.
pub(crate) fn failure(error: Error, text: &str) -> Failure {
    match error {
        Error::Mistake(mistake) => {
            let place =
                MistakePlace { at: mistake.line_and_character(text), suggestions: mistake.suggestions().to_vec() };
            Failure::statement(mistake.shown_in(text, None, WIDTH), place)
        }
        Error::Statement(what) => Failure::new(Kind::Statement, what),
        Error::File(error) => (*error).into(),
        Error::Table(error) => (*error).into(),
        Error::Catalog(error) => (*error).into(),
        Error::Resources(what) => Failure::new(Kind::Limit, what),
        Error::Rows(what) => Failure::invalid(what),
        Error::Stopped => Failure::interrupted(),
        Error::Internal(what) => Failure::bug(what),
        other => Failure::bug(other),
    }
}
