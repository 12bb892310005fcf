//! When a checkpoint is due, and when writers wait for one.

use crate::engine::Engine;
use crate::extent::UNIT;
use crate::root::Root;
use crate::state::State;

/// A checkpoint is due when the last one keeps more bytes than this, and more than a quarter of the data, from being reused. With 64 MiB,
/// changes all over a tree of 150 MB made one every 40,000 changes, each of which wrote all of the tree.
const PARKED_MIN_BYTES: u64 = 256 << 20;

/// While a checkpoint is being made, new transactions wait for its end if it and the last one together keep more bytes than
/// this, and more than half of the other used bytes, from being reused. A file of 20 million keys, rewritten as fast as possible,
/// then grows to 1.7 times the size of its contents.
const AHEAD_MIN_BYTES: u64 = 2 * PARKED_MIN_BYTES;

impl Engine {
    /// Whether the log is long enough, or enough space is kept from being reused, for a checkpoint.
    #[inline]
    pub(crate) fn is_checkpoint_due(&self, state: &State) -> bool {
        let parked = state.reclaimer.parked_units(state.durable.generation) * UNIT;
        let used = state.writer.space.used_units() * UNIT;
        self.log.size_bytes() > self.options.log_limit(used) || (parked > PARKED_MIN_BYTES && parked > used / 4)
    }
}

/// Whether new transactions wait for the checkpoint that is being made.
pub(crate) fn is_far_ahead(state: &State) -> bool {
    let Some(checkpointing) = state.checkpointing else { return false };
    let parked = |root: Root| state.reclaimer.parked_units(root.generation);
    let parked = parked(state.durable) + parked(checkpointing);
    let others = state.writer.space.used_units().saturating_sub(parked);
    parked * UNIT > AHEAD_MIN_BYTES && parked > others / 2
}
