//! The files that a worker may open.

use std::path::{Component, Path};
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, plan_err};
use datafusion::physical_plan::ExecutionPlan;
use lath_parquet::ScanTask;
use lath_sql::remote::{PlanCodec, can_travel};

/// The operators by which parts of a plan are connected.
const CONNECTIONS: [&str; 4] = ["BroadcastExec", "NetworkBroadcastExec", "NetworkCoalesceExec", "NetworkShuffleExec"];

/// Refuses a plan with operators that a coordinator of Lath does not send. DataFusion reads others as well, whose scans and sinks open and
/// write any file.
pub(crate) fn check_operators(plan: &Arc<dyn ExecutionPlan>, codec: &PlanCodec) -> Result<()> {
    plan.apply(|operator| {
        if !can_travel(operator, codec) && !CONNECTIONS.contains(&operator.name()) {
            return plan_err!("a worker does not run the operator {}", operator.name());
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .map(drop)
}

/// Folders and URLs below which files may be opened, or objects written.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Access {
    prefixes: Vec<String>,
}

impl Access {
    pub(crate) fn new(prefixes: Vec<String>) -> Self {
        Self { prefixes }
    }

    pub(crate) fn prefixes(&self) -> &[String] {
        &self.prefixes
    }

    /// Whether the file of a task lies below one of the prefixes, also where links lead. The coordinator and the worker see the same folder.
    pub(crate) fn allows(&self, task: &ScanTask) -> bool {
        match task.path() {
            // A file that does not exist has no other name; opening it says so.
            Some(path) => std::path::absolute(path).is_ok_and(|named| {
                self.has_path(&named) && path.canonicalize().map_or(true, |real| self.has_path(&real))
            }),
            None => self.has_url(task.location()),
        }
    }

    /// Why a worker must not open the file of a task.
    pub(crate) fn refusal(&self, task: &ScanTask) -> Option<String> {
        (!self.allows(task)).then(|| {
            format!("{}: this worker may not open it; start the worker with --allow and its folder", task.location())
        })
    }

    /// Whether objects may be written below a URL, if these are the prefixes for writing.
    pub(crate) fn allows_writing(&self, url: &str) -> bool {
        self.has_url(url)
    }

    /// Why a worker must not write objects below a URL, as [`allows_writing`](Self::allows_writing).
    pub(crate) fn write_refusal(&self, url: &str) -> Option<String> {
        (!self.has_url(url)).then(|| {
            format!("{url}: this worker may not write below it; start the worker with --allow-write and its URL")
        })
    }

    fn has_path(&self, path: &Path) -> bool {
        let climbs = path.components().any(|part| part == Component::ParentDir);
        !climbs && self.prefixes.iter().any(|prefix| !prefix.contains("://") && path.starts_with(prefix))
    }

    fn has_url(&self, url: &str) -> bool {
        let climbs = url.split('/').any(|part| part == "..");
        let below = |prefix: &String| {
            prefix.contains("://")
                && url
                    .strip_prefix(prefix.trim_end_matches('/'))
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        !climbs && self.prefixes.iter().any(below)
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::Schema;
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
    use datafusion::physical_plan::empty::EmptyExec;
    use lath_parquet::Runtime;

    use super::*;

    #[test]
    fn scans_of_datafusion_are_refused() {
        let codec = PlanCodec::new(&Runtime::global());
        let schema = Arc::new(Schema::empty());
        let above = |input| Arc::new(CoalescePartitionsExec::new(input)) as Arc<dyn ExecutionPlan>;
        check_operators(&above(Arc::new(EmptyExec::new(Arc::clone(&schema)))), &codec).unwrap();
        let scan = MemorySourceConfig::try_new_exec(&[vec![]], schema, None).unwrap();
        let error = check_operators(&above(scan), &codec).unwrap_err().to_string();
        assert!(error.contains("does not run the operator DataSourceExec"), "{error}");
    }

    #[test]
    fn files_lie_below_a_prefix() {
        let access = Access::new(vec!["/data/lake".to_owned(), "s3://trips/2025/".to_owned()]);
        for path in ["/data/lake/a.parquet", "/data/lake"] {
            assert!(access.has_path(Path::new(path)), "{path}");
        }
        for path in ["/data/lake2/a.parquet", "/data", "/data/lake/../secret", "trips/2025"] {
            assert!(!access.has_path(Path::new(path)), "{path}");
        }
        for url in ["s3://trips/2025/a.parquet", "s3://trips/2025"] {
            assert!(access.has_url(url), "{url}");
        }
        for url in ["s3://trips/20256/a", "s3://trips/2025/../2024/a", "s3://other/2025/a", "/data/lake/a.parquet"] {
            assert!(!access.has_url(url), "{url}");
        }
        assert!(!Access::default().has_path(Path::new("/")));
        assert!(Access::new(vec!["/".to_owned()]).has_path(Path::new("/any/file")));
    }
}
