//! Calls of a worker on threads that compute.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::BodyExt;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tonic::Status;
use tonic::body::Body;
use tonic::server::NamedService;
use tower::Service;

use crate::calls::OpenCalls;

/// Calls a service on threads that compute, and answers what takes no time on the threads of connections.
#[derive(Debug, Clone)]
pub(crate) struct OnComputing<S> {
    pub(crate) inner: S,
    pub(crate) computing: Handle,
    pub(crate) calls: OpenCalls,
}

type Answer = Result<http::Response<Body>, Infallible>;

impl<S> Service<http::Request<Body>> for OnComputing<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        let path = request.uri().path();
        let takes_no_time = path.ends_with("/GetWorkerInfo");
        let is_query = path.ends_with("/CoordinatorChannel");
        let open = is_query.then(|| self.calls.open(request.headers_mut()));
        let call = self.inner.call(request);
        if takes_no_time {
            return Box::pin(call);
        }
        // The call ends when the connection drops the future.
        let mut task = JoinSet::new();
        task.spawn_on(call, &self.computing);
        Box::pin(async move {
            match task.join_next().await {
                // The query has ended when the coordinator has taken all of the answer, or is gone.
                Some(Ok(answer)) => answer.map(|answer| {
                    answer.map(|body| {
                        Body::new(body.map_frame(move |frame| {
                            let _ = &open;
                            frame
                        }))
                    })
                }),
                _ => {
                    Ok(Status::internal("the worker's threads have ended, or a fault of Lath ended the call")
                        .into_http())
                }
            }
        })
    }
}

impl<S: NamedService> NamedService for OnComputing<S> {
    const NAME: &'static str = S::NAME;
}
