//! Divides a plan among workers.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::{SendableRecordBatchStream, SessionState, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::metrics::Count;
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion_distributed::{
    BroadcastExec, DesiredTaskCountEvent, DesiredTaskCountEventResponse, DistributedExt, DistributedLeafExec,
    RouteTasksEvent, RouteTasksEventResponse, ScaleUpLeafNodeEvent, ScaleUpLeafNodeEventResponse,
    SessionStateBuilderExt, WorkerResolver,
};
use lath_parquet::ScanTask;
use lath_sql::remote::{HotRows, PlanCodec, RemoteScan, RemoteWrite, can_travel};
use url::Url;

use crate::access::Access;
use crate::split::{is_divisible, split};
use crate::workers::{LiveWorker, Workers};

/// A plan has at least this many parts, on a single worker too: datafusion-distributed runs a stage of one part at the coordinator.
const MIN_PARTS: usize = 2;

/// Runs a plan on the workers, and counts its parts there.
pub(crate) async fn distribute(
    plan: Arc<dyn ExecutionPlan>,
    workers: &Arc<Workers>,
    live: &[LiveWorker],
    state: &SessionState,
    context: &Arc<TaskContext>,
    parts: Count,
) -> Result<SendableRecordBatchStream> {
    let (plan, context) = divide(plan, workers, live, state, context, parts).await?;
    execute_stream(plan, context)
}

/// A plan whose parts run on the workers; they are counted when it is executed.
pub(crate) async fn divide(
    plan: Arc<dyn ExecutionPlan>,
    workers: &Workers,
    live: &[LiveWorker],
    state: &SessionState,
    context: &TaskContext,
    parts: Count,
) -> Result<(Arc<dyn ExecutionPlan>, Arc<TaskContext>)> {
    // Most workers may open the same files.
    let mut accesses: Vec<&Access> = live.iter().map(|worker| &worker.access).collect();
    accesses.sort_unstable();
    accesses.dedup();
    let bound = bound_leaves(&plan, &accesses, false);
    let division = Arc::new(Division { codec: workers.codec.clone(), workers: live.to_vec(), bound });
    let plan = match RemoteWrite::of(&plan).filter(|write| division.writes(write)) {
        Some(write) => write.divided(state.config().target_partitions())?,
        None => plan,
    };
    let urls = division.places(division.max_parts()).map(|worker| worker.url.clone()).collect();
    let (counting, scaling, routing) = (Arc::clone(&division), Arc::clone(&division), division);
    let state = SessionStateBuilder::new_from_existing(state.clone())
        .with_runtime_env(context.runtime_env())
        .with_query_planner(Arc::new(PreparedPlan(plan)))
        .with_distributed_worker_resolver(Addresses(urls))
        .with_distributed_channel_resolver(workers.channels.clone())
        .with_distributed_desired_task_count_handler(move |event: DesiredTaskCountEvent<'_>| counting.count(event))
        .with_distributed_scale_up_leaf_node_handler(move |event: ScaleUpLeafNodeEvent<'_>| scaling.divide(event))
        .with_distributed_route_tasks_handler(move |event: RouteTasksEvent<'_>| {
            parts.add(event.task_count);
            Some(Ok(routing.route(&event)))
        })
        // A union whose inputs run apart from each other would run the coordinator's inputs on workers.
        .with_distributed_children_isolator_unions(false)?
        .with_distributed_planner()
        .build();
    let nothing = LogicalPlanBuilder::empty(false).build()?;
    let plan = state.query_planner().create_physical_plan(&nothing, &state).await?;
    Ok((plan, state.task_ctx()))
}

/// The division of a plan.
struct Division {
    codec: PlanCodec,
    workers: Vec<LiveWorker>,
    /// The leaves that have to be read at the coordinator.
    bound: Vec<Arc<dyn ExecutionPlan>>,
}

/// The leaves with files that some worker may not open, and those below recursive queries: a worker executes its part of a plan once, and each
/// step of a recursion reads them again.
fn bound_leaves(plan: &Arc<dyn ExecutionPlan>, accesses: &[&Access], is_repeated: bool) -> Vec<Arc<dyn ExecutionPlan>> {
    let is_repeated = is_repeated || plan.is::<RecursiveQueryExec>();
    let inputs = plan.children();
    if !inputs.is_empty() {
        return inputs.into_iter().flat_map(|input| bound_leaves(input, accesses, is_repeated)).collect();
    }
    let is_bound = is_repeated || RemoteScan::of(plan).is_some_and(|scan| !may_open(scan.tasks(), accesses));
    if is_bound { vec![Arc::clone(plan)] } else { Vec::new() }
}

/// Whether all workers may open the files of tasks. Finding where a local name leads takes a few calls of the system, once for each file.
fn may_open(tasks: &[ScanTask], accesses: &[&Access]) -> bool {
    let mut allowed = None;
    tasks.iter().all(|task| {
        if task.path().is_some() && task.path() == allowed {
            return true;
        }
        allowed = task.path();
        accesses.iter().all(|access| access.allows(task))
    })
}

impl Division {
    /// Whether a plan, or a part of it, has to run at the coordinator.
    ///
    /// Workers cannot connect to the coordinator, so everything above such a part has to run there, too. Between one task and another there is
    /// no connection.
    fn is_bound(&self, plan: &Arc<dyn ExecutionPlan>) -> bool {
        let travels = plan.is::<BroadcastExec>() || can_travel(plan, &self.codec);
        let is_bound = self.bound.iter().any(|leaf| Arc::ptr_eq(leaf, plan));
        !travels || is_bound || plan.children().into_iter().any(|input| self.is_bound(input))
    }

    /// Whether workers write the files of a statement: all of them may, and they have its rows.
    fn writes(&self, write: &RemoteWrite) -> bool {
        self.workers.iter().all(|worker| worker.write_access.allows_writing(write.url()))
            && !self.is_bound(write.input())
    }

    /// Maximum number of parts of an operator.
    fn max_parts(&self) -> usize {
        self.workers.len().max(MIN_PARTS)
    }

    /// The workers of parts: each worker in turn.
    fn places(&self, parts: usize) -> impl Iterator<Item = &LiveWorker> {
        self.workers.iter().cycle().take(parts)
    }

    fn count(&self, event: DesiredTaskCountEvent<'_>) -> Option<Result<DesiredTaskCountEventResponse>> {
        if self.is_bound(event.plan) {
            return Some(Ok(DesiredTaskCountEventResponse::maximum(1)));
        }
        if HotRows::in_plan(event.plan).is_some() {
            return Some(Ok(DesiredTaskCountEventResponse::desired(1)));
        }
        let scan = RemoteScan::of(event.plan)?;
        Some(Ok(match is_divisible(&scan) {
            true => DesiredTaskCountEventResponse::desired(scan.tasks().len().clamp(1, self.max_parts())),
            false => DesiredTaskCountEventResponse::maximum(1),
        }))
    }

    /// Divides a scan. Part `i` is for place `i`, if there are as many parts as places.
    fn divide(&self, event: ScaleUpLeafNodeEvent<'_>) -> Option<Result<ScaleUpLeafNodeEventResponse>> {
        if event.task_count < 2 {
            return None;
        }
        if let Some(rows) = HotRows::in_plan(event.plan) {
            let leaf = DistributedLeafExec::try_new(Arc::clone(event.plan), rows.divided(event.task_count));
            return Some(leaf.map(|leaf| ScaleUpLeafNodeEventResponse::new(Arc::new(leaf))));
        }
        let scan = RemoteScan::of(event.plan)?;
        let names: Vec<String> = self
            .places(event.task_count)
            .enumerate()
            .map(|(place, worker)| match place / self.workers.len() {
                0 => worker.url.to_string(),
                round => format!("{}#{round}", worker.url),
            })
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let shares = split(scan.tasks(), &names);
        let threads = self.workers.iter().map(|worker| worker.threads).max().unwrap_or(1);
        let partitions = partitions(threads, self.workers.len(), &shares).max(scan.partitions());
        let part = |tasks: Vec<usize>| match tasks.as_slice() {
            [] => {
                let empty = EmptyExec::new(event.plan.schema()).with_partitions(partitions);
                Ok(Arc::new(empty) as Arc<dyn ExecutionPlan>)
            }
            tasks => scan.with_tasks(tasks, partitions),
        };
        let parts: Result<Vec<_>> = shares.into_iter().map(part).collect();
        let leaf = parts.and_then(|parts| DistributedLeafExec::try_new(Arc::clone(event.plan), parts));
        Some(leaf.map(|leaf| ScaleUpLeafNodeEventResponse::new(Arc::new(leaf))))
    }

    /// Part `i` goes to place `i`; what is not divided goes to the worker that has read its first file before.
    fn route(&self, event: &RouteTasksEvent<'_>) -> RouteTasksEventResponse {
        let skipped = match event.task_count {
            1 => first_task(event.plan).map_or(0, |task| self.preferred(&task)),
            _ => 0,
        };
        let urls = self.places(skipped + event.task_count).skip(skipped).map(|worker| worker.url.clone());
        RouteTasksEventResponse::new(urls.collect())
    }

    fn preferred(&self, task: &ScanTask) -> usize {
        let names: Vec<&str> = self.workers.iter().map(|worker| worker.url.as_str()).collect();
        split(std::slice::from_ref(task), &names).iter().position(|tasks| !tasks.is_empty()).unwrap_or(0)
    }
}

/// Number of partitions of each part of a scan that uses a worker's threads, which may be more than the coordinator's.
fn partitions(threads: usize, workers: usize, shares: &[Vec<usize>]) -> usize {
    let parts_of_worker = shares.len().div_ceil(workers.max(1)).max(1);
    let max_tasks = shares.iter().map(Vec::len).max().unwrap_or(1);
    threads.div_ceil(parts_of_worker).min(max_tasks)
}

/// The first task of the scans in a plan.
fn first_task(plan: &Arc<dyn ExecutionPlan>) -> Option<ScanTask> {
    match RemoteScan::of(plan) {
        Some(scan) => scan.tasks().first().cloned(),
        None => plan.children().into_iter().find_map(first_task),
    }
}

/// Returns a plan that has been made already.
#[derive(Debug)]
struct PreparedPlan(Arc<dyn ExecutionPlan>);

#[async_trait]
impl QueryPlanner for PreparedPlan {
    async fn create_physical_plan(&self, _: &LogicalPlan, _: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::clone(&self.0))
    }
}

/// The workers of a query.
struct Addresses(Vec<Url>);

impl WorkerResolver for Addresses {
    fn get_urls(&self) -> Result<Vec<Url>> {
        Ok(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_use_all_threads_of_workers_if_there_are_as_many_tasks() {
        let shares = |counts: &[usize]| counts.iter().map(|&count| (0..count).collect()).collect::<Vec<Vec<usize>>>();
        assert_eq!(partitions(16, 1, &shares(&[50, 50])), 8);
        assert_eq!(partitions(16, 1, &shares(&[3, 4])), 4);
        assert_eq!(partitions(16, 2, &shares(&[50, 49])), 16);
        assert_eq!(partitions(1, 1, &shares(&[50, 50])), 1);
        assert_eq!(partitions(5, 3, &shares(&[9, 9])), 5);
    }
}
