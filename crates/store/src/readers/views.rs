//! The views of transactions that are open, which only this process reads.
//!
//! A view reads what a transaction has changed so far. Its generation is between the ones of two commits, so the writer's lists of dead
//! nodes treat it as one more commit that readers hold.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::extent::Generation;
use crate::node::Word;
use crate::root::Root;

/// The open views, in the order of their generations.
#[derive(Debug, Default)]
pub(crate) struct Views {
    open: Mutex<Vec<Arc<ViewRoots>>>,
}

/// The state that a view reads.
#[derive(Debug)]
pub(crate) struct ViewRoots {
    /// The commit that the transaction began with, in the generation of the view and with its named snapshots.
    pub(crate) root: Root,
    /// The trees that the transaction has looked up, `None` if they do not exist.
    pub(crate) trees: BTreeMap<String, Option<Word>>,
}

/// A view, which is open until this is dropped.
#[derive(Debug)]
pub(crate) struct OpenView {
    views: Arc<Views>,
    pub(crate) roots: Arc<ViewRoots>,
}

impl Views {
    /// Opens a view of these roots.
    pub(crate) fn open(self: &Arc<Self>, roots: ViewRoots) -> OpenView {
        let roots = Arc::new(roots);
        self.lock().push(Arc::clone(&roots));
        OpenView { views: Arc::clone(self), roots }
    }

    /// The roots of the open views, in the order of their generations.
    pub(crate) fn roots(&self) -> Vec<Arc<ViewRoots>> {
        self.lock().clone()
    }

    /// The generation of the newest open view.
    pub(crate) fn newest(&self) -> Option<Generation> {
        self.lock().last().map(|roots| roots.root.generation)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<ViewRoots>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenView {
    fn drop(&mut self) {
        self.views.lock().retain(|roots| !Arc::ptr_eq(roots, &self.roots));
    }
}
