//! Progress and quantities on a terminal.

pub(crate) mod progress;
pub(crate) mod quantity;
pub(crate) mod terminal;
pub(crate) mod watch;
