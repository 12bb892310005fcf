//! Passes the writer lock between the processes that have a store open for writing, from transaction to transaction.
//!
//! | state of this process | writer lock | writer's state in memory | leads to |
//! | --- | --- | --- | --- |
//! | in use: a transaction, a checkpoint or the like runs | held | newest | idle, when the last one ends |
//! | idle | held | newest | in use; away, if another process waits |
//! | away | free, or held by another process | as this process has left it | in use, once this process has the lock |
//!
//! A process that gives the lock away leaves its state as an [image](Image) in the memory that processes share, and syncs
//! nothing: all commits are in the log. A process that takes the lock has three ways to the newest state:
//!
//! | since this process had the lock | it |
//! | --- | --- |
//! | no other process took it | goes on with the state that it has |
//! | the last holder has left an image | restores the state and the log from the image |
//! | the last holder was killed or has closed the store | recovers the store, as an opening does |
//!
//! While a process waits, the others begin no further transaction once they have the chance to give the lock away, and they
//! queue behind it. No process gives the lock away while a snapshot of a transaction is open, because no other process
//! knows the nodes that it reads.

mod give;
mod image;
#[cfg(test)]
mod tests;

pub(crate) use self::give::WriterUse;
pub(crate) use self::image::Image;
