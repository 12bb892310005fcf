#![expect(unsafe_code, reason = "DataFusion passes its structures by pointer")]
//! Datasets as table providers of the Python package of DataFusion.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_ffi::proto::logical_extension_codec::FFI_LogicalExtensionCodec;
use datafusion_ffi::table_provider::FFI_TableProvider;
use lath::arrow::schema::SchemaRef;
use lath_pyo3::error::{Failure, Kind};
use lath_pyo3::fork::{OfProcess, runtime};
use lath_pyo3::location::Location;
use lath_pyo3::opening::{OpenSource, Opening};
use lath_pyo3::work;
use lath_sql::{LathTable, lake_table};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tokio::runtime::{Builder, Handle, Runtime};

/// Files as a table provider in a capsule, for a session of DataFusion or the capsule of its codec.
#[pyfunction]
#[pyo3(signature = (locations, opening, session, /))]
pub(crate) fn table_provider<'py>(
    locations: Vec<Location>,
    opening: Opening,
    session: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let py = session.py();
    // Threads of a query cannot wait for the GIL.
    let locations = locations.into_iter().map(Location::into_memory).collect::<PyResult<Vec<_>>>()?;
    let codec = session_codec(session)?;
    let threads = threads()?;
    let runtime = runtime()?;
    let options = opening.options(py)?.runtime(&runtime);
    let table: Arc<dyn TableProvider> =
        match work::run_to_end(py, move || Opening::open(opening.at.as_deref(), &locations, options))? {
            OpenSource::Files(dataset) => Arc::new(LathTable::new(dataset, &runtime)),
            OpenSource::Lake(version) => lake_table("the dataset", *version, &runtime),
        };
    let provider = HostedDataset { table, threads: threads.clone() };
    let provider = FFI_TableProvider::new_with_ffi_codec(Arc::new(provider), true, Some(threads), codec);
    PyCapsule::new_with_value(py, provider, c"datafusion_table_provider")
}

/// The codec of conditions that a session passes.
fn session_codec(session: &Bound<'_, PyAny>) -> PyResult<FFI_LogicalExtensionCodec> {
    const METHOD: &str = "__datafusion_logical_extension_codec__";
    let capsule = match session.getattr_opt(METHOD)? {
        Some(method) => method.call1((session,))?,
        None => session.clone(),
    };
    let Ok(capsule) = capsule.cast::<PyCapsule>() else {
        let kind = session.get_type().name()?;
        return Err(PyTypeError::new_err(format!("{kind} is neither a session of DataFusion nor the codec of one")));
    };
    let pointer = capsule.pointer_checked(Some(c"datafusion_logical_extension_codec"))?;
    // SAFETY: the capsule has this name, so that it holds such a structure, which lives as long as the capsule. Python has checked that
    // the package is of the major version whose structure this is.
    let codec = unsafe { pointer.cast::<FFI_LogicalExtensionCodec>().as_ref() };
    // SAFETY: the function of a structure that is whole.
    let version = unsafe { (codec.version)() };
    if version == datafusion_ffi::version() {
        return Ok(codec.clone());
    }
    let own = datafusion_ffi::version();
    Err(Failure::new(Kind::Unsupported, format!("lath-sql is built for DataFusion {own}, and this is {version}"))
        .into())
}

/// The threads that read files while queries of DataFusion are planned.
fn threads() -> Result<Handle, Failure> {
    static THREADS: OnceLock<OfProcess<Runtime>> = OnceLock::new();
    if THREADS.get().is_none() {
        let made = Builder::new_multi_thread().worker_threads(1).thread_name("lath-datafusion").enable_all().build();
        let made = made.map_err(|error| Failure::new(Kind::Limit, format!("cannot start threads: {error}")))?;
        // Another thread may have set it first.
        let _ = THREADS.set(OfProcess::new(made));
    }
    let threads = THREADS.get().ok_or_else(|| Failure::bug("threads were not kept"))?;
    Ok(threads.get("what reads files for DataFusion")?.handle().clone())
}

/// A dataset that is used within another library's runtime.
#[derive(Debug)]
struct HostedDataset {
    table: Arc<dyn TableProvider>,
    threads: Handle,
}

impl TableProvider for HostedDataset {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn table_type(&self) -> TableType {
        self.table.table_type()
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        self.table.supports_filters_pushdown(filters)
    }

    // Written out, because `async_trait` takes seconds to compile here.
    fn scan<'life0, 'life1, 'life2, 'life3, 'async_trait>(
        &'life0 self,
        state: &'life1 dyn Session,
        projection: Option<&'life2 Vec<usize>>,
        filters: &'life3 [Expr],
        limit: Option<usize>,
    ) -> Pin<Box<dyn Future<Output = Result<Arc<dyn ExecutionPlan>>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        'life2: 'async_trait,
        'life3: 'async_trait,
        Self: 'async_trait,
    {
        let work = self.table.scan(state, projection, filters, limit);
        Box::pin(InRuntime { threads: &self.threads, work })
    }
}

/// Work that runs on the threads of this library wherever it is polled, because threads of another library have a different runtime.
struct InRuntime<'a, T> {
    threads: &'a Handle,
    work: Pin<Box<dyn Future<Output = T> + Send + 'a>>,
}

impl<T> Future for InRuntime<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let _entered = self.threads.enter();
        self.work.as_mut().poll(context)
    }
}
