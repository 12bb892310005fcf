//! Lists the processes that have the files of a store open, for messages.

use std::fmt;
use std::path::{Path, PathBuf};

/// A process that has a store open.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreUser {
    /// The process number.
    pub process: u32,
    /// The command line, truncated to 80 characters.
    pub command: String,
    /// Whether the process may write.
    pub is_writer: bool,
}

impl fmt::Display for StoreUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let does = if self.is_writer { "writes to it" } else { "reads it" };
        write!(f, "process {} ({}) {does}", self.process, self.command)
    }
}

/// Lists the processes that have the store at `path` open, as far as the operating system shows them to this process.
/// Empty on systems that do not show them. A listed process does not necessarily exclude others.
pub fn store_users(path: impl AsRef<Path>) -> Vec<StoreUser> {
    let Ok(path) = path.as_ref().canonicalize() else { return Vec::new() };
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let users = processes.flatten().filter_map(|entry| {
        let process = entry.file_name().to_str()?.parse().ok()?;
        let is_writer = opened_for_writing(&entry.path(), &path)?;
        Some(StoreUser { process, command: command_line(&entry.path()), is_writer })
    });
    users.collect()
}

/// Returns whether a process may write to a file; `None` if it has not opened the file.
fn opened_for_writing(process: &Path, path: &PathBuf) -> Option<bool> {
    let mut found = None;
    for descriptor in std::fs::read_dir(process.join("fd")).ok()?.flatten() {
        if std::fs::read_link(descriptor.path()).is_ok_and(|target| target == *path) {
            let info = std::fs::read_to_string(process.join("fdinfo").join(descriptor.file_name())).unwrap_or_default();
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).map_or("0", str::trim);
            // The last octal digit is the access mode: 0 to read, 1 to write, 2 both.
            let writes = flags.chars().last().is_some_and(|digit| matches!(digit, '1' | '2'));
            found = Some(found.unwrap_or(false) || writes);
        }
    }
    found
}

fn command_line(process: &Path) -> String {
    let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    match line.trim() {
        "" => "unknown".to_owned(),
        line => line.chars().take(80).collect(),
    }
}
