//! Mistakes in the text of statements as failures of the command.

use lath_sql::Error;

use crate::commands::engine::failed;
use crate::console::terminal::Terminal;
use crate::failure::Failure;

/// Width of lines if the terminal's is unknown.
const WIDTH: usize = 110;

/// The failure of a statement of `text`, which is read from the file `name`, if given.
pub(super) fn failed_in(text: &str, name: Option<&str>, error: Error) -> Failure {
    match error {
        Error::Mistake(mistake) => {
            let width = Terminal::stderr().width.unwrap_or(WIDTH);
            Failure::Usage(mistake.shown_in(text, name, width))
        }
        other => failed(other),
    }
}
