//! Stores that several processes, or several handles of one, have open for writing.

mod histories;
#[cfg(unix)]
mod kill;
#[cfg(unix)]
mod monotonic;
#[cfg(unix)]
mod names;
#[cfg(unix)]
mod processes;
#[cfg(unix)]
mod replaced;
#[cfg(unix)]
mod replay;
mod speed;
