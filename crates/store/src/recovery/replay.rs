//! Replays the log.

use std::io::ErrorKind;
use std::sync::Arc;

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::options::Durability;
use crate::records::record;
use crate::transaction::Transaction;
use crate::writer::State;

/// The number of commits of the log that are replayed in one transaction.
const REPLAY_BATCH: u64 = 256;

/// Replays the commits of the log, and publishes the last of them.
///
/// Nothing else is published. Until the end, readers get the last commit of the writer that was killed, whose nodes
/// [`first_state`](super::first_state) holds. If no process was left to keep the table of readers, there is none, and readers wait.
pub(super) fn replay(engine: &Arc<Engine>, state: Box<State>) -> Result<()> {
    let durable = state.durable.sequence;
    let mut idle = Some(state);
    let mut open: Option<Transaction> = None;
    let mut done = durable;
    let last = engine.log.replay(durable, |sequence, bytes| {
        // A named snapshot keeps the commit before, so that commit must be the last one of its transaction.
        let mut keeps = false;
        record::replay(bytes, |operation| {
            keeps |= matches!(operation, record::Operation::KeepSnapshot(_));
            Ok(())
        })?;
        if (keeps || sequence.is_multiple_of(REPLAY_BATCH))
            && let Some(transaction) = open.take()
        {
            idle = Some(transaction.commit_replayed(done)?);
        }
        let mut transaction = match (open.take(), idle.take()) {
            (Some(transaction), _) => transaction,
            (None, Some(state)) => Transaction::new(Arc::clone(engine), state, Durability::Off),
            (None, None) => return Err(Error::internal("the writer's state is lost during a replay")),
        };
        record::replay(bytes, |operation| transaction.apply(operation))?;
        done = sequence;
        open = Some(transaction);
        Ok(())
    })?;
    debug_assert_eq!(last, done);
    let mut state = match (open, idle) {
        (Some(transaction), _) => transaction.commit_replayed(done)?,
        (None, Some(state)) => state,
        (None, None) => return Err(Error::internal("the writer's state is lost during a replay")),
    };
    state.writer.end_replay();
    engine.publish_newest(&mut state);
    engine.unlock_state(state);
    Ok(())
}

/// Makes the error of a full disk say what the space is needed for.
pub(super) fn explain_full(error: Error) -> Error {
    match error {
        Error::Io { path, source, .. } if matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::FileTooLarge) => {
            Error::Io { op: "make room to replay the log in", path, source }
        }
        error => error,
    }
}
