//! Runs queries in programs without an asynchronous runtime.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::execute_stream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use futures_util::{Stream, StreamExt};
use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use crate::effect::writes;
use crate::error::{Error, Result};
use crate::explain::explain;
use crate::grammar::parse;
use crate::names::{function_names, table_names};
use crate::progress::QueryProgress;
use crate::session::Session;
use crate::stop::Stop;

/// A [`Session`] with blocking calls.
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

/// The result of a statement, whose rows are computed on demand: an [`Iterator`] for threads that may block, and a [`Stream`] for others.
///
/// ```
/// use futures_util::StreamExt;
/// use lath_sql::{BlockingSession, Error, Session, Stop};
///
/// let session = BlockingSession::new(Session::new())?;
/// let (text, stop) = ("SELECT * FROM generate_series(1, 1000000000000)", Stop::new());
/// let mut answer = session.run_in(text, 0..text.len(), Some(&stop))?;
/// // Any executor will do.
/// # let executor = tokio::runtime::Builder::new_current_thread().build()?;
/// let first = executor.block_on(StreamExt::next(&mut answer)).transpose()?;
/// assert_eq!(first.map(|batch| batch.num_columns()), Some(1));
/// stop.stop();
/// assert!(matches!(executor.block_on(StreamExt::next(&mut answer)), Some(Err(Error::Stopped))));
/// assert!(executor.block_on(StreamExt::next(&mut answer)).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Answer {
    schema: SchemaRef,
    batches: Option<SendableRecordBatchStream>,
    progress: QueryProgress,
    writes: bool,
    stop: Option<Stop>,
    runtime: Arc<Runtime>,
}

impl BlockingSession {
    /// Creates a session with its own threads, as many as its scans have.
    ///
    /// # Errors
    /// [`Error::Resources`] if the threads cannot be started.
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

    /// Runs a statement. The rows of a query are computed on demand.
    ///
    /// # Errors
    /// [`Error::Mistake`] if the statement cannot be parsed or names something that does not exist; other errors if it fails while it runs.
    pub fn run(&self, statement: &str) -> Result<Answer> {
        self.run_in(statement, 0..statement.len(), None)
    }

    /// Runs the statement at `range` of `text`, as returned by [`split_statements`](crate::split_statements). Positions of mistakes are
    /// relative to `text`. With `stop`, rows are computed ahead until it is stopped.
    ///
    /// # Errors
    /// As [`run`](Self::run), and [`Error::Stopped`].
    ///
    /// # Panics
    /// If there is no such range of `text`.
    pub fn run_in(&self, text: &str, range: Range<usize>, stop: Option<&Stop>) -> Result<Answer> {
        // Operators start tasks when they are executed.
        let started = async {
            let (plan, context) = self.session.plan_in(text, range, stop.is_some()).await?.into_parts();
            let batches = execute_stream(Arc::clone(&plan), context).map_err(Error::from)?;
            Ok::<_, Error>((plan, batches))
        };
        let started = match stop {
            Some(stop) => self.runtime.block_on(stop.run(started))?,
            None => self.runtime.block_on(started),
        };
        let (plan, batches) = started?;
        let schema = batches.schema();
        let batches = match stop {
            Some(stop) => self.run_apart(batches, stop.clone()),
            None => batches,
        };
        Ok(Answer {
            schema,
            batches: Some(batches),
            progress: QueryProgress::new(&plan),
            writes: writes(&plan),
            stop: stop.cloned(),
            runtime: Arc::clone(&self.runtime),
        })
    }

    /// Checks the syntax of the statement at `range` of `text`.
    ///
    /// # Errors
    /// [`Error::Mistake`] if it cannot be parsed.
    ///
    /// # Panics
    /// If there is no such range of `text`.
    pub fn check_syntax(&self, text: &str, range: Range<usize>) -> Result<()> {
        let parsed = parse(&text[range.clone()]);
        parsed.map(|_| ()).map_err(|error| explain(&self.session, text, range, error))
    }

    /// Computes the batches on the session's threads, so that stopping the query does not wait for a long step.
    fn run_apart(&self, mut batches: SendableRecordBatchStream, stop: Stop) -> SendableRecordBatchStream {
        let schema = batches.schema();
        let (sender, mut receiver) = mpsc::channel(1);
        self.runtime.spawn(async move {
            let send_all = async {
                while let Some(batch) = batches.next().await {
                    if sender.send(batch).await.is_err() {
                        break;
                    }
                }
            };
            // If this stops early, the receiver sees a closed channel.
            let _ = stop.run(send_all).await;
        });
        let received = futures_util::stream::poll_fn(move |context| receiver.poll_recv(context));
        Box::pin(RecordBatchStreamAdapter::new(schema, received))
    }

    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }
}

impl BlockingSession {
    /// The names of created and registered tables and views, sorted. Files that are queried by name are not included.
    pub fn tables(&self) -> Vec<String> {
        table_names(self.session())
    }

    /// The names without a schema that the query in the statement at `range` of `text` reads as tables, and that the session does not have. A
    /// caller can register them before the statement is run.
    ///
    /// # Panics
    /// If there is no such range of `text`.
    pub fn missing_tables(&self, text: &str, range: Range<usize>) -> Vec<String> {
        let state = self.session().context().state();
        let known = self.tables();
        let mut missing = Vec::new();
        for query in parse(&text[range]).unwrap_or_default().iter().filter_map(query_within) {
            for table in state.resolve_table_references(&query).unwrap_or_default() {
                if let TableReference::Bare { table } = table
                    && !known.iter().any(|known| **known == *table)
                    && !missing.iter().any(|known: &String| **known == *table)
                {
                    missing.push(table.to_string());
                }
            }
        }
        missing
    }

    /// The columns of a table, a view, or files by their name; `None` if it does not exist or cannot be read.
    pub fn columns(&self, table: &str) -> Option<SchemaRef> {
        let context = self.session().context();
        let table = self.block_on(async {
            // The dots of a file name are no separators.
            match context.table_provider(TableReference::bare(table)).await {
                Ok(provider) => Some(provider),
                Err(_) => context.table_provider(table).await.ok(),
            }
        });
        table.map(|table| TableProvider::schema(table.as_ref()))
    }

    /// The names of all functions, sorted.
    pub fn functions(&self) -> Vec<String> {
        function_names(self.session())
    }
}

/// The query that a statement reads rows by, without the tables that it changes.
fn query_within(statement: &Statement) -> Option<Statement> {
    let query = match statement {
        Statement::Explain(explain) => return query_within(&explain.statement),
        Statement::CopyTo(copy) => match &copy.source {
            CopyToSource::Query(query) => query.clone(),
            CopyToSource::Relation(_) => return None,
        },
        Statement::Statement(inner) => match inner.as_ref() {
            SqlStatement::Query(query) => query.clone(),
            SqlStatement::Insert(insert) => insert.source.clone()?,
            SqlStatement::CreateTable(table) => table.query.clone()?,
            _ => return None,
        },
        _ => return None,
    };
    Some(Statement::Statement(Box::new(SqlStatement::Query(query))))
}

impl Answer {
    /// The columns of the result; none for statements without rows.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The progress of the scans.
    pub fn progress(&self) -> QueryProgress {
        self.progress.clone()
    }

    /// Whether the statement writes files or changes tables. It has done so when the end of the result is reached.
    ///
    /// ```
    /// use lath_sql::{BlockingSession, Session};
    ///
    /// let session = BlockingSession::new(Session::new())?;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("one.parquet");
    /// # let path = path.display();
    /// assert!(session.run(&format!("COPY (SELECT 1 AS one) TO '{path}'"))?.writes());
    /// assert!(!session.run("SELECT 1 AS one")?.writes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn writes(&self) -> bool {
        self.writes
    }
}

impl Stream for Answer {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { batches, stop, runtime, .. } = &mut *self;
        let Some(stream) = batches else { return Poll::Ready(None) };
        let is_stopped = || stop.as_ref().is_some_and(Stop::has_ended);
        let _in_runtime = runtime.enter();
        let next = match is_stopped() {
            true => Poll::Ready(Some(Err(Error::Stopped))),
            false => stream.poll_next_unpin(context).map(|next| next.map(|batch| batch.map_err(Error::from))),
        };
        // The task that computes ahead ends without an error when it is stopped.
        let next = match next {
            Poll::Ready(None) if is_stopped() => Poll::Ready(Some(Err(Error::Stopped))),
            next => next,
        };
        if matches!(next, Poll::Ready(None | Some(Err(_)))) {
            *batches = None;
        }
        next
    }
}

impl Iterator for Answer {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batches = self.batches.as_mut()?;
        let next = match &self.stop {
            Some(stop) => self.runtime.block_on(stop.run(batches.next())).transpose(),
            None => self.runtime.block_on(batches.next()).map(Ok),
        };
        let next = next.map(|batch| batch.and_then(|batch| batch.map_err(Error::from)));
        if !matches!(next, Some(Ok(_))) {
            self.batches = None;
        }
        next
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
