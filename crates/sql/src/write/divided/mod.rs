//! Files that several processes write, and one makes visible.
//!
//! | operator | runs in | what it does |
//! | --- | --- | --- |
//! | [`WritePartExec`] | any process | writes the files of some partitions without making them visible, and returns a row for each |
//! | [`CompleteFilesExec`] | the process of the statement | makes all files visible, and returns the number of rows |

mod completion;
mod part;
mod remote_write;
mod sent_rows;

pub(crate) use completion::CompleteFilesExec;
pub(crate) use part::{PartFiles, WritePartExec};
pub use remote_write::RemoteWrite;
