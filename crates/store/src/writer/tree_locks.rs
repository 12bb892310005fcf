//! The trees that transactions of this process have for themselves.
//!
//! A transaction asks for all of its trees at once, and gets them when no request before its own has one of them. So requests for the same
//! trees are served in their order, and none can wait for another in a circle.

use std::sync::Arc;

use super::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use crate::error::{Error, Result};

/// The trees that are locked, and the requests for them.
#[derive(Debug, Default)]
pub(crate) struct TreeLocks {
    queue: Mutex<Queue>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    /// In the order in which they came. A request stays until its transaction has ended.
    requests: Vec<Request>,
    next_ticket: u64,
}

#[derive(Debug)]
struct Request {
    ticket: u64,
    names: Vec<String>,
}

impl Queue {
    /// A tree of these that a request before the one with this ticket has, too.
    fn find_busy<'n>(&self, ticket: u64, names: &'n [String]) -> Option<&'n String> {
        let earlier = self.requests.iter().take_while(|request| request.ticket != ticket);
        earlier.flat_map(|request| &request.names).find_map(|busy| names.iter().find(|name| *name == busy))
    }

    fn join(&mut self, names: &[String]) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.requests.push(Request { ticket, names: names.to_vec() });
        ticket
    }
}

/// Trees that one transaction has for itself until this is dropped.
#[derive(Debug)]
pub(crate) struct LockedTrees {
    locks: Arc<TreeLocks>,
    ticket: u64,
    names: Vec<String>,
}

impl LockedTrees {
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }
}

impl TreeLocks {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other transaction has one of these trees.
    pub(crate) fn lock(self: &Arc<Self>, names: Vec<String>) -> LockedTrees {
        let mut queue = self.queue();
        let ticket = queue.join(&names);
        while queue.find_busy(ticket, &names).is_some() {
            queue = self.released.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        drop(queue);
        LockedTrees { locks: Arc::clone(self), ticket, names }
    }

    /// Locks the trees, unless another transaction has one of them or waits for it.
    pub(crate) fn try_lock(self: &Arc<Self>, names: Vec<String>) -> Result<LockedTrees> {
        let mut queue = self.queue();
        if let Some(busy) = queue.find_busy(queue.next_ticket, &names) {
            return Err(Error::TreeBusy { tree: busy.clone() });
        }
        let ticket = queue.join(&names);
        drop(queue);
        Ok(LockedTrees { locks: Arc::clone(self), ticket, names })
    }
}

impl Drop for LockedTrees {
    fn drop(&mut self) {
        self.locks.queue().requests.retain(|request| request.ticket != self.ticket);
        self.locks.released.notify_all();
    }
}
