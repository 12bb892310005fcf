//! Finding rows: what a predicate lets pass of files, as batches.
//!
//! Of every row group the columns of the predicate are read first, a window of rows at a time, part by part of the predicate
//! as long as rows are left. Other columns are read where rows survive. Dictionary-encoded pages are tested by their indices.
//!
//! | module | the question |
//! | --- | --- |
//! | `builder` | What can be asked? |
//! | `job`, `work` | What is settled before a scan starts, and what is there to do in a row group? |
//! | `planner` | Which row groups and rows of a file are to be looked at, also by what becomes known later? |
//! | `steps` | How is a scan planned by a caller that reads the bytes itself? |
//! | `task` | How is that written down, for another process to do? |
//! | `dynamic`, `deletes` | Which rows are ruled out while a scan runs, and which are not there any more? |
//! | `selection` | Which rows were chosen by number? |
//! | `file_plan`, `planned_leaf`, `target` | Which columns are read of files of one schema, and how do they become those of the result? |
//! | `row_group` | Which rows of a row group survive, and what are their values? |
//! | `conjuncts` | Which part of the predicate is tested first? |
//! | `page_search`, `key_list` | Which pages have none of the strings that are looked for? |
//! | `window`, `mask`, `leaf_places` | Which rows of a row group are looked at together, and where are their pages? |
//! | `row_reader` | How are short ranges of rows read that nobody has to find? |
//! | `truth` | What does a dictionary say of its rows? |
//! | `thresholds` | From which numbers on is something done in another way? |
//! | `producer`, `serial`, `parallel`, `by_column`, `count` | Which thread makes which batch, and in which order do they come? |

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
