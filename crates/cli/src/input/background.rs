//! An iterator that runs on a separate thread, so that the next batches are produced while the last ones are written.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};

/// Maximum number of batches that are queued, besides the one being produced and the one being written.
const WAITING: usize = 2;

/// The items of an iterator that runs on a separate thread.
#[derive(Debug)]
pub(crate) struct BackgroundIterator<T> {
    items: Receiver<T>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> BackgroundIterator<T> {
    /// Starts the thread. It ends with the iterator, or when this value is dropped.
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

impl<T> Iterator for BackgroundIterator<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let item = self.items.recv().ok();
        if item.is_none()
            && let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
        {
            // A panic of the iterator is not its end.
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
        assert!(BackgroundIterator::new(0..1000).eq(0..1000));
    }

    #[test]
    fn dropping_it_ends_the_thread() {
        let (done, ended) = sync_channel::<()>(0);
        let mut items = BackgroundIterator::new((0..).inspect(move |_| {
            let _alive = &done;
        }));
        assert_eq!(items.next(), Some(0));
        drop(items);
        assert!(ended.recv().is_err(), "the thread has dropped its iterator");
    }
}
