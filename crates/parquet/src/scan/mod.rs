//! Finding rows: what a predicate lets pass of files, as batches.
//!
//! Of every row group the columns of the predicate are read first, a window of rows at a time, part by part of the predicate
//! as long as rows are left. Other columns are read where rows survive. Dictionary-encoded pages are tested by their indices.
//!
//! | module | what it does |
//! | --- | --- |
//! | `builder` | The options of a scan. |
//! | `job`, `work` | The settings that all row groups share, and the column readers of a thread. |
//! | `planner` | Plans the row groups and rows of a file to scan, also with conditions that arrive later. |
//! | `steps` | Plans a scan step by step, while the caller reads the bytes. |
//! | `task` | Scans as values, to run here or in another process. |
//! | `dynamic`, `deletes` | Conditions that arrive while a scan runs, and deleted rows. |
//! | `selection` | Rows chosen by number. |
//! | `file_plan`, `planned_leaf`, `target` | Plan the columns to read from files of one schema, and map them to the columns of the result. |
//! | `row_group` | Tests the rows of a row group and decodes the survivors. |
//! | `conjuncts` | Orders the parts of a predicate. |
//! | `page_search`, `key_list` | Skip pages that have none of the wanted strings, before decoding them. |
//! | `window`, `mask`, `leaf_places` | Cut a row group into windows, mark rows in them, and find their pages. |
//! | `row_reader` | Reads short, known ranges of rows of one file. |
//! | `truth` | Tests dictionary entries once, and rows by their indices. |
//! | `thresholds` | Tuning constants, with measurements. |
//! | `producer`, `serial`, `parallel`, `by_column`, `count` | Produce batches on one or several threads, in order, or only count rows. |

mod batches;
mod builder;
mod by_column;
mod cancel;
mod conjuncts;
mod count;
mod counters;
mod deletes;
mod dynamic;
mod file_plan;
mod job;
mod key_list;
mod leaf_places;
mod mask;
mod page_search;
mod parallel;
mod plan_all;
mod planned_leaf;
mod planner;
mod producer;
mod progress;
mod report;
mod row_group;
mod row_reader;
mod selection;
mod serial;
mod steps;
mod stream;
mod target;
mod task;
mod thresholds;
mod truth;
mod window;
mod work;

pub use batches::ScanBatches;
pub use builder::Scan;
pub use cancel::Cancel;
pub use deletes::DeleteMask;
pub use dynamic::DynamicFilter;
pub use progress::ScanProgress;
pub use report::{ScanReport, ScanTimes};
pub use row_reader::RowReader;
pub use steps::{Need, PlanStep, ScanPlanner};
pub use stream::ScanStream;
pub use task::{ScanPlan, ScanTask};
