//! Makes panics of operators errors, and ends operators with their query.
//!
//! datafusion-distributed runs operators on separate tasks and takes a task that has ended by a panic for one that has returned all rows.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, exec_datafusion_err, exec_err, internal_err};
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, replace_children_if_necessary,
};
use datafusion_distributed::BroadcastExec;
use futures_util::{FutureExt, StreamExt, stream};
use lath_sql::Stop;

use crate::file_error::with_parts;

/// Passes rows on, until the query is stopped; a panic below is an error, and errors of files get their parts.
#[derive(Debug)]
pub(crate) struct CaughtPanics {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl CaughtPanics {
    /// Catches the panics of a part of a plan. Each node gets a number that is higher by one than before, except the first ones that send
    /// rows away.
    pub(crate) fn above(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        // datafusion-distributed replaces these when the part is executed.
        if plan.is::<RepartitionExec>() || plan.is::<BroadcastExec>() {
            let inputs = plan.children().into_iter().map(|input| Self::around(Arc::clone(input))).collect();
            return replace_children_if_necessary(plan, inputs);
        }
        Ok(Self::around(plan))
    }

    fn around(input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        let properties = Arc::clone(input.properties());
        Arc::new(Self { input, properties })
    }
}

impl DisplayAs for CaughtPanics {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CaughtPanics")
    }
}

impl ExecutionPlan for CaughtPanics {
    fn name(&self) -> &'static str {
        "CaughtPanics"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Self::around(input)),
            _ => internal_err!("panics are caught of one input"),
        }
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let run = Arc::clone(&context);
        let started = std::panic::catch_unwind(AssertUnwindSafe(|| self.input.execute(partition, run)));
        let rows = started.unwrap_or_else(|panic| Err(error(&*panic))).map_err(with_parts)?;
        let stop = context.session_config().get_extension::<Stop>().unwrap_or_default();
        // The rows end with a panic or a stop: their stream is not asked again.
        let rows = stream::unfold(Some((rows, stop)), |state| async move {
            let (mut rows, stop) = state?;
            let next = stop.run(AssertUnwindSafe(rows.next()).catch_unwind()).await;
            match next {
                Ok(Ok(batch)) => batch.map(|batch| (batch.map_err(with_parts), Some((rows, stop)))),
                Ok(Err(panic)) => Some((Err(error(&*panic)), None)),
                Err(_) => Some((exec_err!("the query was stopped"), None)),
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

fn error(panic: &(dyn Any + Send)) -> DataFusionError {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    exec_datafusion_err!("a panic, which is a fault of Lath: {text}")
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::RecordBatch;
    use datafusion::arrow::datatypes::Schema;
    use datafusion::physical_expr::{EquivalenceProperties, Partitioning};
    use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};

    use super::*;

    /// Returns a batch and then panics.
    #[derive(Debug)]
    struct Panicking(Arc<PlanProperties>);

    impl DisplayAs for Panicking {
        fn fmt_as(&self, _: DisplayFormatType, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("Panicking")
        }
    }

    impl ExecutionPlan for Panicking {
        fn name(&self) -> &'static str {
            "Panicking"
        }

        fn properties(&self) -> &Arc<PlanProperties> {
            &self.0
        }

        fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
            Vec::new()
        }

        fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
            Ok(self)
        }

        fn apply_expressions(
            &self,
            _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
        ) -> Result<TreeNodeRecursion> {
            Ok(TreeNodeRecursion::Continue)
        }

        fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
            assert_ne!(partition, 1, "the second partition");
            let schema = self.schema();
            let batch = RecordBatch::new_empty(Arc::clone(&schema));
            let rows = stream::iter(0..).map(move |row| match row {
                0 => Ok(batch.clone()),
                row => panic!("row {row}"),
            });
            Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
        }
    }

    fn plan(partitions: usize) -> Arc<dyn ExecutionPlan> {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::new(Schema::empty())),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Arc::new(Panicking(Arc::new(properties)))
    }

    #[tokio::test]
    async fn a_panic_is_an_error() {
        let plan = CaughtPanics::above(plan(2)).unwrap();
        let mut rows = plan.execute(0, Arc::default()).unwrap();
        assert!(rows.next().await.unwrap().is_ok());
        let error = rows.next().await.unwrap().unwrap_err().to_string();
        assert!(error.contains("row 1"), "{error}");
        assert!(rows.next().await.is_none());
        let error = plan.execute(1, Arc::default()).err().unwrap().to_string();
        assert!(error.contains("the second partition"), "{error}");
    }

    #[tokio::test]
    async fn the_operator_that_sends_rows_stays_first() {
        let sending: Arc<dyn ExecutionPlan> = Arc::new(BroadcastExec::new(plan(1), 1));
        let caught = CaughtPanics::above(sending).unwrap();
        assert!(caught.is::<BroadcastExec>() && caught.children()[0].is::<CaughtPanics>());
        let error = caught.execute(0, Arc::default()).unwrap().collect::<Vec<_>>().await;
        assert!(error.iter().any(Result::is_err), "{error:?}");
    }
}
