//! When a checkpoint is due, and when writers wait for one.

use crate::engine::Engine;
use crate::extent::UNIT;
use crate::root::Root;
use crate::writer::State;

impl Engine {
    /// Whether a checkpoint is due: if the log is long enough, or if the last checkpoint keeps more bytes than the options allow, and more
    /// than a quarter of the used ones, from being reused.
    #[inline]
    pub(crate) fn is_checkpoint_due(&self, state: &State) -> bool {
        let parked = state.reclaimer.parked_units(state.durable.generation) * UNIT;
        let used = state.writer.space.used_units() * UNIT;
        let is_long = self.log.size_bytes() > self.options.log_limit(used);
        is_long || (parked > self.options.checkpoint_space_bytes && parked > used / 4)
    }

    /// Whether new transactions wait for the end of the checkpoint that is being made: if it and the last one together keep more than twice
    /// the bytes that the options allow, and more than half of the other used ones, from being reused. A file of 20 million keys, rewritten
    /// as fast as possible, then grows to 1.7 times the size of its contents.
    pub(crate) fn is_far_ahead(&self, state: &State) -> bool {
        let Some(checkpointing) = state.checkpointing else { return false };
        let parked = |root: Root| state.reclaimer.parked_units(root.generation);
        let parked = parked(state.durable) + parked(checkpointing);
        let others = state.writer.space.used_units().saturating_sub(parked);
        parked * UNIT > self.options.checkpoint_space_bytes.saturating_mul(2) && parked > others / 2
    }
}
