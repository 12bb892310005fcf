//! Connections to workers.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, exec_datafusion_err, plan_datafusion_err};
use datafusion::config::ConfigOptions;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{
    ChannelResolver, CoordinatorToWorkerMsg, ExecuteTaskRequest, GetWorkerInfoRequest, GetWorkerInfoResponse,
    MaybeEncoded, SetPlanRequest, TaskMetrics, WorkerChannel, WorkerToCoordinatorMsg,
};
use futures_util::stream::{BoxStream, StreamExt};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Uri};
use hyper_util::rt::TokioIo;
use lath_grpc::NetworkThreads;
use lath_sql::remote::{PlanCodec, RemoteScan};
use tokio::runtime::Handle;
use tonic::transport::Endpoint;
use tonic::{Code, Status};
use tower::{ServiceExt, service_fn};
use url::Url;

use crate::file_error::from_parts;
use crate::settings::write_settings;
use crate::tls::{Authorities, advice};
use crate::wire::write_plan;

/// A machine that does not answer within this time is taken for lost.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// Interval at which a silent connection is checked.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Opens connections to workers and keeps them.
#[derive(Clone)]
pub(crate) struct Channels {
    open: Arc<Mutex<HashMap<Url, BoxCloneSyncChannel>>>,
    token: Option<HeaderValue>,
    authorities: Authorities,
    codec: PlanCodec,
    network: Handle,
}

impl Channels {
    pub(crate) fn new(
        token: Option<HeaderValue>,
        authorities: Authorities,
        codec: PlanCodec,
        network: &NetworkThreads,
    ) -> Self {
        Self { open: Arc::default(), token, authorities, codec, network: network.handle().clone() }
    }

    pub(crate) fn client(&self, url: &Url) -> Result<WorkerClient> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let channel = match open.get(url) {
            Some(channel) => channel.clone(),
            None => {
                let endpoint = Endpoint::from_shared(url.to_string())
                    .map_err(|error| plan_datafusion_err!("{url}: {error}"))?
                    .connect_timeout(PATIENCE)
                    .http2_keep_alive_interval(KEEP_ALIVE)
                    .keep_alive_timeout(PATIENCE)
                    .keep_alive_while_idle(true)
                    .tcp_nodelay(true);
                let token = self.token.clone();
                let with_token = move |mut request: http::Request<tonic::body::Body>| {
                    if let Some(token) = &token {
                        request.headers_mut().insert(AUTHORIZATION, token.clone());
                    }
                    request
                };
                // Tasks of the connection are started where the channel is made.
                let _on_network = self.network.enter();
                // It connects when it is used, and again after a connection is lost.
                let channel = match url.scheme() {
                    "https" => {
                        let connecting = self.authorities.connecting(url);
                        let connecting = connecting.map_err(|error| DataFusionError::External(Box::new(error)))?;
                        endpoint.connect_with_connector_lazy(service_fn(move |_: Uri| {
                            let connecting = connecting.clone();
                            async move { connecting.connect().await.map(TokioIo::new) }
                        }))
                    }
                    _ => endpoint.connect_lazy(),
                };
                let channel = BoxCloneSyncChannel::new(channel.map_request(with_token));
                open.insert(url.clone(), channel.clone());
                channel
            }
        };
        Ok(WorkerClient { inner: create_worker_client(channel), url: url.clone(), codec: self.codec.clone() })
    }
}

#[async_trait]
impl ChannelResolver for Channels {
    async fn get_worker_client_for_url(&self, url: &Url) -> Result<Box<dyn WorkerChannel>> {
        Ok(Box::new(self.client(url)?))
    }
}

impl fmt::Debug for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channels").finish_non_exhaustive()
    }
}

/// A connection to one worker.
pub(crate) struct WorkerClient {
    inner: Box<dyn WorkerChannel>,
    url: Url,
    codec: PlanCodec,
}

impl WorkerClient {
    /// Names the worker in an error, which may come from another.
    fn named(&self) -> impl Fn(DataFusionError) -> DataFusionError + Send + Sync + use<> {
        let worker = worker_name(&self.url);
        move |error| match error.find_root() {
            // Its text is about the protocol, and its source is lost when it is sent.
            DataFusionError::External(cause) if cause.is::<Status>() => {
                exec_datafusion_err!("worker {worker}: {}", reason(&error))
            }
            _ => from_parts(error).context(format!("worker {worker}")),
        }
    }

    /// The worker's description of itself.
    pub(crate) async fn info(&mut self) -> Result<String> {
        let answer = tokio::time::timeout(PATIENCE, self.inner.get_worker_info(GetWorkerInfoRequest {})).await;
        match answer {
            Ok(answer) => answer.map(|answer| answer.version),
            Err(_) => Err(exec_datafusion_err!("no answer within {} s", PATIENCE.as_secs())),
        }
    }
}

/// The cause of an error, without the layers that it came through, and what to do about it.
pub(crate) fn reason(error: &DataFusionError) -> String {
    let DataFusionError::External(cause) = error.find_root() else { return error.find_root().to_string() };
    match cause.downcast_ref::<Status>() {
        Some(status) if status.code() == Code::Unauthenticated => status.message().to_owned(),
        _ => {
            let mut cause: &(dyn std::error::Error + 'static) = cause.as_ref();
            while let Some(deeper) = cause.source() {
                cause = deeper;
            }
            match advice(cause) {
                Some(advice) => format!("{cause}; {advice}"),
                None => cause.to_string(),
            }
        }
    }
}

/// `HOST:PORT` of a worker.
pub(crate) fn worker_name(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
}

#[async_trait]
impl WorkerChannel for WorkerClient {
    async fn coordinator_channel(
        &mut self,
        mut headers: HeaderMap,
        mut request: SetPlanRequest,
        messages: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        let mut scans = Vec::new();
        if let MaybeEncoded::Decoded(plan) = &request.plan {
            scans = numbered_scans(plan)?;
            request.plan = MaybeEncoded::Encoded(write_plan(Arc::clone(plan), &self.codec)?);
        }
        let options: &ConfigOptions = context.session_config().options();
        write_settings(options, &mut headers)?;
        let named = self.named();
        let answer = self.inner.coordinator_channel(headers, request, messages, metrics, context).await;
        let answers = answer.map_err(&named)?.map(move |message| {
            if let Ok(WorkerToCoordinatorMsg::TaskMetrics(counted)) = &message {
                add_counters(&scans, counted);
            }
            message.map_err(&named)
        });
        Ok(answers.boxed())
    }

    async fn execute_task(
        &mut self,
        headers: HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<datafusion::arrow::array::RecordBatch>>>> {
        let streams = self.inner.execute_task(headers, request, metrics, context).await.map_err(self.named())?;
        let named = |stream: BoxStream<'static, _>| {
            let named = self.named();
            stream.map(move |batch: Result<_>| batch.map_err(&named)).boxed()
        };
        Ok(streams.into_iter().map(named).collect())
    }

    async fn get_worker_info(&mut self, request: GetWorkerInfoRequest) -> Result<GetWorkerInfoResponse> {
        self.inner.get_worker_info(request).await
    }
}

/// The scans of a plan by their number on the worker, where a node precedes its inputs, and one node more catches panics.
fn numbered_scans(plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<(usize, RemoteScan)>> {
    let (mut number, mut scans) = (1, Vec::new());
    plan.apply(|node| {
        scans.extend(RemoteScan::of(node).map(|scan| (number, scan)));
        number += 1;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(scans)
}

fn add_counters(scans: &[(usize, RemoteScan)], counted: &TaskMetrics) {
    for (number, scan) in scans {
        if let Some(counters) = counted.pre_order_plan_metrics.get(*number) {
            scan.add_counters(counters);
        }
    }
}
