//! Finding rows: scans files for the rows that match a predicate, and returns them as batches.
//!
//! In each row group the columns of the predicate are read first, one window of rows at a time, and its parts are tested in turn
//! while rows are left. The other columns are read only where rows survive. Dictionary-encoded pages are tested by their indices.
//!
//! | module | what it does |
//! | --- | --- |
//! | `thresholds` | Tuning constants, with measurements. |
//! | `monitor` | Cancellation, counters of a running scan, and reports. |
//! | `rows` | Windows and bit masks of rows, rows chosen by number, and dictionary entries that match. |
//! | `columns` | The columns to read from files of one schema, their places in the result, the order of the parts of a predicate, and the search of strings before they are decoded. |
//! | `dynamic` | Conditions that arrive while a scan runs. |
//! | `planner` | Plans the row groups and rows of a file to scan, also with conditions that arrive later. |
//! | `task` | Scans as values, to run here or in another process. |
//! | `run` | Runs planned scans: tests and decodes row groups, on one or several threads, in order. |
//! | `plan_all`, `steps` | Plan a whole scan at once, or step by step while the caller reads the bytes. |
//! | `builder` | The options of a scan. |
//! | `row_reader` | Reads short, known ranges of rows of one file. |

mod builder;
mod columns;
mod dynamic;
mod monitor;
mod plan_all;
mod planner;
mod row_reader;
mod rows;
mod run;
mod steps;
mod task;
mod thresholds;

pub use builder::Scan;
pub use dynamic::DynamicFilter;
pub use monitor::{Cancel, ScanProgress, ScanReport, ScanTimes};
pub use row_reader::RowReader;
pub use rows::RowSelection;
pub use run::{ScanBatches, ScanStream};
pub use steps::{Need, PlanStep, ScanPlanner};
pub use task::{ScanPlan, ScanTask};
