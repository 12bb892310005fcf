//! Asynchronous methods of DataFusion's traits, by methods of the tables.
//!
//! `async_trait` makes a future where lifetimes are bounded by each other. There the compiler uses nothing that it has found elsewhere, and
//! proves anew, for five seconds a method, that expressions can go to another thread: this crate compiled for 189 s, and compiles for 11 s. The
//! functions within these methods have no such bounds.

/// [`TableProvider::scan`](datafusion::catalog::TableProvider::scan) of a table by its asynchronous method.
macro_rules! scan_by {
    ($table:ty, $method:ident) => {
        fn scan<'life0, 'life1, 'life2, 'life3, 'async_trait>(
            &'life0 self,
            state: &'life1 dyn datafusion::catalog::Session,
            projection: Option<&'life2 Vec<usize>>,
            filters: &'life3 [datafusion::logical_expr::Expr],
            limit: Option<usize>,
        ) -> $crate::scan::Planned<'async_trait>
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
            ) -> $crate::scan::Planned<'a> {
                Box::pin(table.$method(state, projection, filters, limit))
            }
            boxed(self, state, projection, filters, limit)
        }
    };
}

/// [`TableProvider::insert_into`](datafusion::catalog::TableProvider::insert_into) of a table by its asynchronous method.
macro_rules! insert_by {
    ($table:ty, $method:ident) => {
        fn insert_into<'life0, 'life1, 'async_trait>(
            &'life0 self,
            state: &'life1 dyn datafusion::catalog::Session,
            input: std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>,
            op: datafusion::logical_expr::dml::InsertOp,
        ) -> $crate::scan::Planned<'async_trait>
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
            ) -> $crate::scan::Planned<'a> {
                Box::pin(table.$method(state, input, op))
            }
            boxed(self, state, input, op)
        }
    };
}

/// The changes of a table that has none by this way, with the error that says so.
macro_rules! changes_refused_by {
    (|$table:pat_param| $error:expr) => {
        fn delete_from<'life0, 'life1, 'async_trait>(
            &'life0 self,
            _: &'life1 dyn datafusion::catalog::Session,
            _: Vec<datafusion::logical_expr::Expr>,
        ) -> $crate::scan::Planned<'async_trait>
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
        ) -> $crate::scan::Planned<'async_trait>
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
        ) -> $crate::scan::Planned<'async_trait>
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

/// [`TableProviderFactory::create`](datafusion::catalog::TableProviderFactory::create) of a factory by its asynchronous method.
macro_rules! create_by {
    ($factory:ty, $method:ident) => {
        fn create<'life0, 'life1, 'life2, 'async_trait>(
            &'life0 self,
            _: &'life1 dyn datafusion::catalog::Session,
            command: &'life2 datafusion::logical_expr::CreateExternalTable,
        ) -> $crate::scan::Made<'async_trait>
        where
            'life0: 'async_trait,
            'life1: 'async_trait,
            'life2: 'async_trait,
            Self: 'async_trait,
        {
            fn boxed<'a>(
                factory: &'a $factory,
                command: &'a datafusion::logical_expr::CreateExternalTable,
            ) -> $crate::scan::Made<'a> {
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

/// A plan of a table that is being made.
pub(crate) type Planned<'a> = BoxFuture<'a, Result<Arc<dyn ExecutionPlan>>>;

/// A table that is being made.
pub(crate) type Made<'a> = BoxFuture<'a, Result<Arc<dyn TableProvider>>>;
