//! Visits the nodes of removed subtrees between transactions.

use std::time::Duration;

use crate::engine::Engine;
use crate::error::Result;

/// The number of nodes that are visited while other writers wait: about half a millisecond.
const STEP: usize = 4096;

/// Time for other threads to begin a transaction, including the time to wake up.
const PAUSE: Duration = Duration::from_micros(500);

impl Engine {
    /// Visits the nodes of all subtrees that commits have removed so far, so that their space is known. Other writers get
    /// in between. Ends early if `is_stopped`.
    pub(crate) fn visit_removed_subtrees(&self, is_stopped: impl Fn() -> bool) -> Result<()> {
        let mut newest = None;
        loop {
            let mut state = self.lock_state_first()?;
            let newest = *newest.get_or_insert(state.root.generation);
            let is_pending = state.removed_subtrees.first_death().is_some_and(|death| death <= newest);
            if is_pending {
                state.visit_removed(STEP);
            }
            self.unlock_state(state);
            if !is_pending || is_stopped() {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
    }
}
