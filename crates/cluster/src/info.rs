//! The description of a worker, which it sends.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::access::Access;

/// The description of a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct WorkerInfo {
    lath: String,
    /// Differs each time the process is started.
    pub(crate) started: String,
    pub(crate) threads: usize,
    /// Folders and URLs below which it opens files.
    pub(crate) allow: Vec<String>,
    /// URLs below which it writes objects.
    pub(crate) allow_write: Vec<String>,
}

impl WorkerInfo {
    pub(crate) fn new(access: &Access, write_access: &Access, threads: usize) -> Self {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        Self {
            lath: env!("CARGO_PKG_VERSION").to_owned(),
            started: format!("{}-{time}", std::process::id()),
            threads,
            allow: access.prefixes().to_vec(),
            allow_write: write_access.prefixes().to_vec(),
        }
    }

    pub(crate) fn write(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the answer of a worker; an error says why the worker cannot be used.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let info: Self = serde_json::from_str(text).map_err(|_| "it is not a worker of Lath".to_owned())?;
        let own = env!("CARGO_PKG_VERSION");
        match info.lath == own {
            true => Ok(info),
            false => {
                Err(format!("it runs version {} of Lath, and this is {own}; run one version everywhere", info.lath))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_cannot_be_used() {
        let access = |prefix: &str| Access::new(vec![prefix.to_owned()]);
        let own = WorkerInfo::new(&access("/data"), &access("s3://lake/"), 3);
        let read = WorkerInfo::read(&own.write()).unwrap();
        assert_eq!((read.threads, read.allow, &read.started), (3, own.allow.clone(), &own.started));
        assert_eq!(read.allow_write, ["s3://lake/"]);
        let other = WorkerInfo { lath: "99.1.0".to_owned(), ..own };
        let error = WorkerInfo::read(&other.write()).unwrap_err();
        assert!(error.contains("99.1.0") && error.contains(env!("CARGO_PKG_VERSION")), "{error}");
        for text in ["", "55.0.0", "{}"] {
            assert_eq!(WorkerInfo::read(text).unwrap_err(), "it is not a worker of Lath", "{text}");
        }
    }
}
