//! Sends the rows of answers as clients take them.

use std::sync::Arc;
use std::time::Duration;

use arrow_flight::FlightData;
use bytes::Bytes;
use futures_util::stream::{StreamExt, unfold};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::Status;

use crate::answer::{Answer, Messages, encode};
use crate::run::StatementRun;
use crate::state::ServerState;
use crate::status::fault;

/// Messages that are ready before a client takes them.
const MESSAGES_AHEAD: usize = 1;

/// A message between the threads that compute and the connection.
enum Message {
    Data(Box<FlightData>),
    Failed(Status),
    /// Without it, a part of the rows is missing.
    End,
}

/// Sends the rows. They are computed on other threads than the connection's, as fast as the client takes them. `handle` is the handle by which
/// clients cancel it.
pub(crate) fn messages(answer: Answer, state: &Arc<ServerState>, handle: Bytes) -> Messages {
    let (run, idle) = (state.start(), state.limits().idle_time);
    state.handles().add_running(handle.clone(), Arc::clone(&run));
    let (sender, receiver) = mpsc::channel(MESSAGES_AHEAD);
    let running = Arc::clone(state);
    state.computing().spawn(async move {
        let failed = tokio::select! {
            // The client is gone.
            () = sender.closed() => {
                run.end(Status::cancelled("the client has ended the statement"));
                None
            }
            failed = send(answer, &run, &sender, idle) => failed,
        };
        // From here on, nothing of the statement is in memory.
        running.handles().remove_running(&handle);
        drop(running);
        let last = failed.map_or(Message::End, Message::Failed);
        let _ = timeout(idle, sender.send(last)).await;
    });
    unfold(Some(receiver), |receiver| async move {
        let mut receiver = receiver?;
        match receiver.recv().await {
            Some(Message::Data(data)) => Some((Ok(*data), Some(receiver))),
            Some(Message::Failed(status)) => Some((Err(status), None)),
            Some(Message::End) => None,
            None => Some((Err(fault("the statement ended without its last rows")), None)),
        }
    })
    .boxed()
}

/// Sends the rows, until an error, which is returned.
async fn send(
    answer: Answer,
    run: &Arc<StatementRun>,
    sender: &mpsc::Sender<Message>,
    idle: Duration,
) -> Option<Status> {
    let schema = Arc::clone(answer.schema());
    let mut encoded = encode(schema, answer.batches(run));
    while let Some(data) = encoded.next().await {
        let data = match data {
            Ok(data) => data,
            Err(status) => return Some(status),
        };
        // A client that takes nothing holds the memory of its statement no longer than the statement may take.
        let sent = run.stop().run(timeout(idle, sender.send(Message::Data(Box::new(data))))).await;
        match sent {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(_))) => return None,
            Ok(Err(_)) => {
                return Some(Status::deadline_exceeded(format!(
                    "the client took no rows for {} s, so the statement was ended; take them sooner, or start the server with a higher \
                     limit (--idle-time)",
                    idle.as_secs_f64()
                )));
            }
            Err(stopped) => return Some(run.status(&stopped)),
        }
    }
    None
}
