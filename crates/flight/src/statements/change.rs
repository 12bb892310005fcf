//! Statements whose clients want the number of changed rows.

use arrow_flight::sql::server::PeekableFlightDataStream;
use arrow_flight::sql::{CommandStatementIngest, CommandStatementUpdate};
use tonic::{Request, Status};

use super::Statements;
use crate::ingest::ingest;
use crate::transaction::in_transaction;
use crate::update::{finish, received};

impl Statements {
    /// Runs a statement, and returns the number of rows that it has changed.
    pub(crate) async fn update(
        &self,
        command: CommandStatementUpdate,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        let session = self.session(&request, command.transaction_id.as_ref())?;
        let run = self.state.start();
        let updated = self.state.compute(async move {
            let begun = session.begun().await?;
            let plan = begun.plan_text(&command.query, run.stop()).await;
            finish(plan.map_err(|error| run.status(&error))?, &run).await
        });
        updated.await
    }

    /// Puts the rows that a client sends into a table, all or none of them.
    pub(crate) async fn ingest(
        &self,
        command: CommandStatementIngest,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        let session = self.session(&request, command.transaction_id.as_ref())?;
        let batches = received(request.into_inner(), self.state.limits().idle_time);
        let run = self.state.start();
        let ingested = self.state.compute(async move {
            let begun = session.begun().await?;
            match session.own()? {
                None => ingest(&begun, &command, batches, &run).await,
                Some(own) => in_transaction(&own, &run, ingest(&own, &command, batches, &run)).await,
            }
        });
        ingested.await
    }
}
