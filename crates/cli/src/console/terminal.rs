//! Properties of the terminal: its width, and whether colour is wanted.

use std::env;
use std::io::{self, IsTerminal};

/// A stream that may be a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    /// Width in characters; `None` for no limit.
    pub(crate) width: Option<usize>,
    /// Whether bold and dim text is wanted.
    pub(crate) colour: bool,
}

impl Terminal {
    /// Plain text of unlimited width.
    pub(crate) const PLAIN: Self = Self { width: None, colour: false };

    /// The terminal on standard output.
    pub(crate) fn stdout() -> Self {
        let terminal = io::stdout().is_terminal();
        let width = match terminal_size::terminal_size_of(io::stdout()) {
            Some((width, _)) if terminal => Some(usize::from(width.0)),
            _ => env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()),
        };
        Self { width: width.filter(|&width| width > 0), colour: terminal && wants_colour() }
    }

    /// The terminal on standard error.
    pub(crate) fn stderr() -> Self {
        let terminal = io::stderr().is_terminal();
        let width = terminal_size::terminal_size_of(io::stderr()).filter(|_| terminal);
        Self { width: width.map(|(width, _)| usize::from(width.0)), colour: terminal && wants_colour() }
    }
}

/// Whether the environment allows colour (<https://no-color.org>).
pub(crate) fn wants_colour() -> bool {
    let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !refused && env::var_os("TERM").is_none_or(|term| term != "dumb")
}
