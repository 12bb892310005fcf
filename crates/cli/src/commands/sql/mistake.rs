//! Mistakes in the text of statements as failures of the command.

use lath_sql::Error;

use crate::commands::engine::failed;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// Width of lines where the terminal does not say.
const WIDTH: usize = 110;

/// The failure of a statement of `text`, which is that of the file called `name`, if it is one.
pub(super) fn failed_in(text: &str, name: Option<&str>, error: Error) -> Failure {
    match error {
        Error::Mistake(mistake) => {
            let width = Terminal::stderr().width.unwrap_or(WIDTH);
            Failure::Usage(mistake.shown_in(text, name, width))
        }
        other => failed(other),
    }
}
