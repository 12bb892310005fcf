//! The files that a worker may open.

use std::path::{Component, Path};

use lath_parquet::ScanTask;

/// Folders and URLs below which files may be opened.
#[derive(Debug, Clone, Default)]
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

    /// Whether the file of a task lies below one of the prefixes, as far as its name tells.
    pub(crate) fn names(&self, task: &ScanTask) -> bool {
        match task.path() {
            Some(path) => std::path::absolute(path).is_ok_and(|path| self.has_path(&path)),
            None => self.has_url(task.location()),
        }
    }

    /// Why a worker must not open the file of a task. Links are followed.
    pub(crate) fn refusal(&self, task: &ScanTask) -> Option<String> {
        let is_allowed = match task.path() {
            // A file that is not there has no other name; opening it says so.
            Some(path) => std::path::absolute(path).is_ok_and(|named| {
                self.has_path(&named) && path.canonicalize().map_or(true, |real| self.has_path(&real))
            }),
            None => self.has_url(task.location()),
        };
        (!is_allowed).then(|| {
            format!("{}: this worker may not open it; start the worker with --allow and its folder", task.location())
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
    use super::*;

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
