//! Implements asynchronous methods of DataFusion's traits without `async_trait`.
//!
//! `async_trait` builds the future where lifetimes are bounded by each other. Under such bounds the compiler cannot reuse trait proofs and
//! proves again for each method, in five seconds, that expressions are `Send`: this crate took 189 s to compile, and takes 11 s. The inner
//! functions of these macros have no such bounds.

/// [`TableProvider::scan`](datafusion::catalog::TableProvider::scan) that calls an asynchronous method of the table.
macro_rules! scan_by {
    ($table:ty, $method:ident) => {
        fn scan<'life0, 'life1, 'life2, 'life3, 'async_trait>(
            &'life0 self,
            state: &'life1 dyn datafusion::catalog::Session,
            projection: Option<&'life2 Vec<usize>>,
            filters: &'life3 [datafusion::logical_expr::Expr],
            limit: Option<usize>,
        ) -> $crate::scan::PlanFuture<'async_trait>
        where
            'life0: 'async_trait,
            'life1: 'async_trait,
            'life2: 'async_trait,
            'life3: 'async_trait,
            Self: 'async_trait,
        {
            fn boxed<'a>(
                table: &'a $table,
                state: &'a dyn datafusion::catalog::Session,
                projection: Option<&'a Vec<usize>>,
                filters: &'a [datafusion::logical_expr::Expr],
                limit: Option<usize>,
            ) -> $crate::scan::PlanFuture<'a> {
                Box::pin(table.$method(state, projection, filters, limit))
            }
            boxed(self, state, projection, filters, limit)
        }
    };
}

/// [`TableProvider::insert_into`](datafusion::catalog::TableProvider::insert_into) that calls an asynchronous method of the table.
macro_rules! insert_by {
    ($table:ty, $method:ident) => {
        fn insert_into<'life0, 'life1, 'async_trait>(
            &'life0 self,
            state: &'life1 dyn datafusion::catalog::Session,
            input: std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>,
            op: datafusion::logical_expr::dml::InsertOp,
        ) -> $crate::scan::PlanFuture<'async_trait>
        where
            'life0: 'async_trait,
            'life1: 'async_trait,
            Self: 'async_trait,
        {
            fn boxed<'a>(
                table: &'a $table,
                state: &'a dyn datafusion::catalog::Session,
                input: std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>,
                op: datafusion::logical_expr::dml::InsertOp,
            ) -> $crate::scan::PlanFuture<'a> {
                Box::pin(table.$method(state, input, op))
            }
            boxed(self, state, input, op)
        }
    };
}

/// Implements `delete_from`, `update` and `truncate` of a table that does not support them, with the given error.
macro_rules! changes_refused_by {
    (|$table:pat_param| $error:expr) => {
        fn delete_from<'life0, 'life1, 'async_trait>(
            &'life0 self,
            _: &'life1 dyn datafusion::catalog::Session,
            _: Vec<datafusion::logical_expr::Expr>,
        ) -> $crate::scan::PlanFuture<'async_trait>
        where
            'life0: 'async_trait,
            'life1: 'async_trait,
            Self: 'async_trait,
        {
            let $table = self;
            Box::pin(std::future::ready(Err($error)))
        }

        fn update<'life0, 'life1, 'async_trait>(
            &'life0 self,
            _: &'life1 dyn datafusion::catalog::Session,
            _: Vec<(String, datafusion::logical_expr::Expr)>,
            _: Vec<datafusion::logical_expr::Expr>,
        ) -> $crate::scan::PlanFuture<'async_trait>
        where
            'life0: 'async_trait,
            'life1: 'async_trait,
            Self: 'async_trait,
        {
            let $table = self;
            Box::pin(std::future::ready(Err($error)))
        }

        fn truncate<'life0, 'life1, 'async_trait>(
            &'life0 self,
            _: &'life1 dyn datafusion::catalog::Session,
        ) -> $crate::scan::PlanFuture<'async_trait>
        where
            'life0: 'async_trait,
            'life1: 'async_trait,
            Self: 'async_trait,
        {
            let $table = self;
            Box::pin(std::future::ready(Err($error)))
        }
    };
}

/// [`TableProviderFactory::create`](datafusion::catalog::TableProviderFactory::create) that calls an asynchronous method of the factory.
macro_rules! create_by {
    ($factory:ty, $method:ident) => {
        fn create<'life0, 'life1, 'life2, 'async_trait>(
            &'life0 self,
            _: &'life1 dyn datafusion::catalog::Session,
            command: &'life2 datafusion::logical_expr::CreateExternalTable,
        ) -> $crate::scan::TableFuture<'async_trait>
        where
            'life0: 'async_trait,
            'life1: 'async_trait,
            'life2: 'async_trait,
            Self: 'async_trait,
        {
            fn boxed<'a>(
                factory: &'a $factory,
                command: &'a datafusion::logical_expr::CreateExternalTable,
            ) -> $crate::scan::TableFuture<'a> {
                Box::pin(factory.$method(command))
            }
            boxed(self, command)
        }
    };
}

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::Result;
use datafusion::physical_plan::ExecutionPlan;
use futures_util::future::BoxFuture;

pub(crate) use {changes_refused_by, create_by, insert_by, scan_by};

/// The future that `scan` and `insert_into` return.
pub(crate) type PlanFuture<'a> = BoxFuture<'a, Result<Arc<dyn ExecutionPlan>>>;

/// The future of a table that is being opened or created.
pub(crate) type TableFuture<'a> = BoxFuture<'a, Result<Arc<dyn TableProvider>>>;
