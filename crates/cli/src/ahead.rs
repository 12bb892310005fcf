//! Making the next batches while the last ones are being written.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};

/// Batches that wait at most, beside the one that is being made and the one that is being written.
const WAITING: usize = 2;

/// The items of an iterator that runs on a thread of its own.
#[derive(Debug)]
pub(crate) struct Ahead<T> {
    items: Receiver<T>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Ahead<T> {
    /// Starts the thread. It ends when the iterator does, or when nobody wants more of its items.
    pub(crate) fn new(items: impl Iterator<Item = T> + Send + 'static) -> Self {
        let (sender, receiver) = sync_channel(WAITING);
        let thread = thread::spawn(move || {
            for item in items {
                if sender.send(item).is_err() {
                    break;
                }
            }
        });
        Self { items: receiver, thread: Some(thread) }
    }
}

impl<T> Iterator for Ahead<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let item = self.items.recv().ok();
        if item.is_none()
            && let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
        {
            // An iterator that died has not come to its end.
            resume_unwind(panic);
        }
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_order() {
        assert!(Ahead::new(0..1000).eq(0..1000));
    }

    #[test]
    fn work_that_nobody_wants_ends() {
        let (done, ended) = sync_channel::<()>(0);
        let mut ahead = Ahead::new((0..).inspect(move |_| {
            let _alive = &done;
        }));
        assert_eq!(ahead.next(), Some(0));
        drop(ahead);
        assert!(ended.recv().is_err(), "the thread has dropped its iterator");
    }
}
