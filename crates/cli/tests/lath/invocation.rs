//! Running the binary.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// The binary under test.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_lath");

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Run {
    /// Standard output as text, after checking the exit code.
    #[track_caller]
    pub(crate) fn text(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "stderr: {}", self.stderr);
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// Standard output as text, whatever the exit code.
    pub(crate) fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard output as JSON lines.
    #[track_caller]
    pub(crate) fn json_lines(&self, code: i32) -> Vec<serde_json::Value> {
        self.text(code).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A command with a plain environment.
pub(crate) fn command<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(BINARY);
    command.args(args).env_remove("NO_COLOR").env_remove("COLUMNS").stdin(Stdio::null());
    command
}

/// Runs the binary with `args` to its end.
pub(crate) fn lath<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Run {
    finish(command(args).output().unwrap())
}

/// Runs the binary with `input` on its standard input.
pub(crate) fn lath_with_input(args: &[&str], input: &[u8]) -> Run {
    let mut child = command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A child that does not read its input closes the pipe, which is not an error here.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    finish(output)
}

pub(crate) fn finish(output: std::process::Output) -> Run {
    let code = output.status.code().unwrap_or(-1);
    Run { code, stdout: output.stdout, stderr: String::from_utf8(output.stderr).unwrap() }
}

/// A sample file or folder.
pub(crate) fn sample(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/data").join(name);
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

/// Starts a server at a free port, and returns its address, which follows `scheme` in the line that the server prints.
pub(crate) fn start_server(server: &mut Command, scheme: &str, printed: &str) -> (Child, String) {
    let mut child = server.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let rest = line.strip_prefix(scheme).and_then(|rest| rest.strip_prefix("://"));
    let address = rest.and_then(|rest| rest.split(' ').next()).unwrap().to_owned();
    assert!(line.contains(printed), "{line}");
    (child, address)
}
