//! A pager for answers that are longer than the screen.

use std::env;
use std::io::{self, Write};
use std::mem;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Writes to the terminal, or to a pager as soon as it is known that the screen is too small.
pub(super) struct PagedOutput {
    state: State,
    rows: usize,
    width: usize,
}

enum State {
    /// Output that fits on the screen so far, and its number of lines.
    Held {
        text: Vec<u8>,
        lines: usize,
        column: usize,
    },
    Pager(Child),
    Terminal,
}

impl PagedOutput {
    /// Creates the output for a screen of this size.
    pub(super) fn new(rows: usize, width: usize) -> Self {
        Self { state: State::Held { text: Vec::new(), lines: 0, column: 0 }, rows, width: width.max(1) }
    }

    /// Starts the pager and writes the held output to it, or to the terminal if there is no pager.
    fn overflow(&mut self) -> io::Result<()> {
        let State::Held { text, .. } = mem::replace(&mut self.state, State::Terminal) else { return Ok(()) };
        if let Some(child) = command().and_then(|mut command| command.stdin(Stdio::piped()).spawn().ok()) {
            self.state = State::Pager(child);
        }
        self.write_all(&text)
    }
}

impl Write for PagedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.state {
            State::Held { text, lines, column } => {
                text.extend_from_slice(bytes);
                for &byte in bytes {
                    // Escapes and characters of several bytes make lines seem longer, which is no harm.
                    *column += 1;
                    if byte == b'\n' {
                        *lines += (*column - 1).div_ceil(self.width).max(1);
                        *column = 0;
                    }
                }
                // The prompt and the time need lines too.
                if *lines + 2 > self.rows {
                    self.overflow()?;
                }
                Ok(bytes.len())
            }
            State::Pager(child) => match &mut child.stdin {
                Some(stdin) => stdin.write(bytes),
                None => Ok(bytes.len()),
            },
            State::Terminal => io::stdout().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.state {
            State::Held { text, .. } => {
                let text = mem::take(text);
                self.state = State::Terminal;
                io::stdout().write_all(&text)?;
                io::stdout().flush()
            }
            State::Pager(child) => child.stdin.as_mut().map_or(Ok(()), Write::flush),
            State::Terminal => io::stdout().flush(),
        }
    }
}

impl Drop for PagedOutput {
    fn drop(&mut self) {
        let _ = self.flush();
        if let State::Pager(child) = &mut self.state {
            // The pager ends when its user says so, and has all of its input only when the pipe is closed.
            child.stdin = None;
            let _ = child.wait();
        }
    }
}

/// `$PAGER`, or `less` if there is one.
fn command() -> Option<Command> {
    match env::var("PAGER") {
        Ok(pager) if pager.trim().is_empty() => None,
        Ok(pager) => {
            let mut command = Command::new("sh");
            command.args(["-c", &pager]);
            Some(command)
        }
        Err(_) => {
            let is_there = |folder: &Path| folder.join("less").is_file();
            let path = env::var_os("PATH")?;
            env::split_paths(&path).any(|folder| is_there(&folder)).then(|| {
                let mut command = Command::new("less");
                command.arg("-SRFX");
                command
            })
        }
    }
}
