//! Computes once what a statement uses several times: queries in WITH, views, and equal subqueries.
//!
//! DataFusion (55) copies the plan of a query in WITH, and of a view, to each of its uses. An analyzer rule finds equal plans and replaces
//! them by scans of a made-up table. So each use pushes its conditions and columns down to its scan, as it would for any other table. When the
//! statement is planned, the uses of a table are known: its rows are computed with the columns that any use reads, and for the rows that
//! satisfy the conditions of any use. Each use applies its own conditions to them again.
//!
//! The uses read the rows at their own pace. The one that is ahead computes the next rows, and rows are kept, in memory or on disk, until
//! the last use has read them.
//!
//! Rows that differ each time they are computed, such as random ones, are always shared ([`SharedPlan`](crate::shared_plan::SharedPlan)).
//!
//! | module | what it does |
//! | --- | --- |
//! | `equality` | compares plans and the tables that they read |
//! | `candidates` | selects the plans that are worth sharing |
//! | `find` | replaces equal plans by scans of shared tables |
//! | `table` | the shared table |
//! | `conditions` | combines the conditions of all uses |
//! | `uses` | what the uses of a shared table read, and whether errors are possible |
//! | `resolve` | decides what is shared, from the optimized uses |
//! | `read` | the use of a shared table in a resolved plan |
//! | `planner` | plans shared tables before the plans that use them |
//! | `attach` | puts the shared plan below its first use |
//! | `exec` | reads shared rows |
//! | `rows` | the executions of a shared plan |

mod attach;
mod candidates;
mod conditions;
mod equality;
mod exec;
mod find;
mod planner;
mod read;
mod resolve;
mod rows;
mod table;
mod uses;

pub(crate) use self::attach::AttachShared;
pub(crate) use self::find::{CommonSubplans, SharingOptions};
pub(crate) use self::planner::SharingPlanner;
