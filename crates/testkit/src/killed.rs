//! Tests that start themselves as another process and kill it.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Prints a line and flushes it, so that the parent has read it before it kills this process.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // The parent may be gone.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Runs the test `test` of the calling program in a process with these environment variables, and kills it after
/// `delay`. Returns its lines of output.
///
/// # Panics
/// If the process cannot be started, ends by itself, or prints something that is not UTF-8.
pub fn lines_until_killed(test: &str, environment: &[(&str, &OsStr)], delay: Duration) -> Vec<String> {
    let program = std::env::current_exe().expect("a test has a path");
    let mut child = Command::new(program)
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .envs(environment.iter().copied())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test can be started");
    let out = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
    let reader = thread::spawn(move || out.lines().map(|line| line.expect("lines are UTF-8")).collect());
    thread::sleep(delay);
    assert!(child.try_wait().expect("the child can be waited for").is_none(), "the child ended by itself");
    child.kill().expect("the child can be killed");
    child.wait().expect("the child can be waited for");
    reader.join().expect("lines can be read")
}
