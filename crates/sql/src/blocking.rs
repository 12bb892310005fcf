//! Queries for programs without an asynchronous runtime.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use futures_util::StreamExt;
use std::fmt;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};

use crate::error::{Error, Result};
use crate::grammar::parse;
use crate::session::Session;

/// A [`Session`] whose calls wait.
///
/// ```
/// use lath_sql::BlockingSession;
///
/// let session = BlockingSession::new(lath_sql::Session::new())?;
/// session.run("CREATE VIEW answers AS SELECT 6 * 7 AS answer")?;
/// let rows = session.run("SELECT answer + 1 FROM answers")?.collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(rows[0].num_rows(), 1);
/// # Ok::<(), lath_sql::Error>(())
/// ```
pub struct BlockingSession {
    session: Session,
    runtime: Arc<Runtime>,
}

/// The rows of a statement's answer, as they are computed.
pub struct Answer {
    schema: SchemaRef,
    batches: Option<SendableRecordBatchStream>,
    runtime: Arc<Runtime>,
}

impl BlockingSession {
    /// A session with threads of its own, as many as its scans have.
    ///
    /// # Errors
    /// [`Error::Resources`] if there are no threads to be had.
    pub fn new(session: Session) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(session.threads())
            .thread_name("lath-sql")
            .enable_all()
            .build()
            .map_err(|error| Error::Resources(format!("cannot start threads: {error}")))?;
        Ok(Self { session, runtime: Arc::new(runtime) })
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The statements of a text, which are separated by `;`.
    ///
    /// # Errors
    /// [`Error::Statement`] if the text is not understood.
    pub fn statements(&self, text: &str) -> Result<Vec<String>> {
        let statements = parse(text)?;
        Ok(statements.iter().map(ToString::to_string).collect())
    }

    /// Runs a statement. Of a query, rows are computed as they are asked for.
    ///
    /// # Errors
    /// [`Error::Statement`] if it is not understood or names what there is not; else what goes wrong while it runs.
    pub fn run(&self, statement: &str) -> Result<Answer> {
        let batches = self.runtime.block_on(async {
            let frame = self.session.sql(statement).await?;
            frame.execute_stream().await
        })?;
        Ok(Answer { schema: batches.schema(), batches: Some(batches), runtime: Arc::clone(&self.runtime) })
    }
}

impl Answer {
    /// The columns of the answer; none for statements that have no rows.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

impl Iterator for Answer {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batches = self.batches.as_mut()?;
        let next = self.runtime.block_on(batches.next());
        if !matches!(next, Some(Ok(_))) {
            self.batches = None;
        }
        next.map(|batch| batch.map_err(Error::from))
    }
}

impl fmt::Debug for BlockingSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingSession").field("session", &self.session).finish_non_exhaustive()
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("schema", &self.schema).finish_non_exhaustive()
    }
}
