//! Decides when a checkpoint is due, and when writers wait for one.

use crate::engine::Engine;
use crate::extent::UNIT;
use crate::root::Root;
use crate::writer::State;

impl Engine {
    /// Returns whether a checkpoint is due: the log is long enough, or the last checkpoint keeps more bytes from being
    /// reused than the options allow and than a quarter of the used bytes; or the header is to get another version.
    #[inline]
    pub(crate) fn is_checkpoint_due(&self, state: &State) -> bool {
        let parked = state.reclaimer.parked_units(state.durable.generation) * UNIT;
        let used = state.writer.space.used_units() * UNIT;
        let data = used.saturating_sub(parked);
        let is_long = self.log.size_bytes() > self.options.log_limit(data);
        is_long || state.is_version_due || (parked > self.options.checkpoint_space(data) && parked > used / 4)
    }

    /// Returns whether new transactions wait for the running checkpoint: it and the last one together keep more bytes
    /// from being reused than twice what the options allow and than half of the other used bytes. With this limit, a
    /// file of 20 million keys that is rewritten as fast as possible grows to 1.7 times the size of its contents.
    pub(crate) fn is_far_ahead(&self, state: &State) -> bool {
        let Some(checkpointing) = state.checkpointing else { return false };
        let parked = |root: Root| state.reclaimer.parked_units(root.generation);
        let parked = parked(state.durable) + parked(checkpointing);
        let others = state.writer.space.used_units().saturating_sub(parked);
        parked * UNIT > self.options.checkpoint_space_bytes.saturating_mul(2) && parked > others / 2
    }
}
