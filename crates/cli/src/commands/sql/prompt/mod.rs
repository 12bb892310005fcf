//! The prompt, which reads and runs statements one after the other.

mod command;
mod complete;
mod editor;
mod history;
mod pager;
mod scope;
mod tokens;

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lath_sql::{Answer, BlockingSession, Stop, split_statements};
use rustyline::error::ReadlineError;

use self::command::{Command, is_command, is_shown};
use self::complete::Completer;
use self::editor::{SqlEditor, editor};
use self::pager::PagedOutput;
use super::answer::check;
use super::mistake::failed_in;
use crate::args::{Format, SqlArgs};
use crate::commands::engine::{failed, quoted, watch};
use crate::console::quantity::plural;
use crate::console::terminal::{Terminal, wants_colour};
use crate::failure::{Failure, Outcome, Result};
use crate::interrupt::Interactive;
use crate::output::Output;
use crate::target::Target;

const PROMPT: &str = "lath> ";

/// The prompt while a transaction is open.
const PROMPT_IN_TRANSACTION: &str = "lath*> ";

/// Runs the prompt until its input ends.
pub(super) fn run(session: &BlockingSession, args: &SqlArgs) -> Result<Outcome> {
    let format = args.output.format.unwrap_or(Format::Table);
    if !is_shown(format) {
        return Err(Failure::Usage(
            "this format cannot be shown in a terminal; give statements as an argument, and -o FILE".to_owned(),
        ));
    }
    let mut prompt = Prompt::new(session, format);
    let mut editor = editor(Completer::new(session), wants_colour()).map_err(on_terminal)?;
    let history = (!args.no_history).then(history::file).flatten();
    if let Some(history) = &history {
        // There is none at the first time.
        let _ = editor.load_history(history);
    }
    say(&format!("lath {}: statements end with ; and .help lists the commands\n", env!("CARGO_PKG_VERSION")))?;
    loop {
        let is_in_transaction = session.session().is_in_transaction();
        match editor.readline(if is_in_transaction { PROMPT_IN_TRANSACTION } else { PROMPT }) {
            Ok(text) => {
                remember(&mut editor, &text, history.as_deref());
                match prompt.answer(&text) {
                    Ok(Next::Go) => {}
                    Ok(Next::End) => break,
                    // Errors do not end the session.
                    Err(Failure::Interrupted) => say("stopped\n")?,
                    Err(failure) => failure.report(),
                }
                if let Some(helper) = editor.helper() {
                    helper.forget_tables();
                }
            }
            // Ctrl-C clears what was typed.
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(on_terminal(error)),
        }
    }
    if session.session().rollback() {
        say("the transaction was not committed, so its changes are undone\n")?;
    }
    Ok(Outcome::Done)
}

fn on_terminal(error: ReadlineError) -> Failure {
    Failure::Io(format!("the terminal: {error}"))
}

/// Adds a line to the history and its file, so that a killed session loses nothing.
fn remember(editor: &mut SqlEditor<'_>, text: &str, file: Option<&Path>) {
    let is_new = !text.trim().is_empty() && editor.add_history_entry(text.trim_end()).unwrap_or(false);
    if let Some(file) = file.filter(|_| is_new) {
        // A history that cannot be written is not an error.
        let _ = editor.append_history(file);
    }
}

/// Whether the session goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Go,
    End,
}

/// The running statement, for Ctrl-C.
type Running = Arc<Mutex<Option<Stop>>>;

struct Prompt<'a> {
    session: &'a BlockingSession,
    format: Format,
    has_timing: bool,
    has_pager: bool,
    running: Running,
    _interactive: Interactive,
}

impl<'a> Prompt<'a> {
    fn new(session: &'a BlockingSession, format: Format) -> Self {
        let running = Running::default();
        let stopped = Arc::clone(&running);
        let interactive = Interactive::new(move || {
            if let Some(stop) = stopped.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
                stop.stop();
            }
        });
        Self { session, format, has_timing: true, has_pager: true, running, _interactive: interactive }
    }

    /// Answers what was typed: a command, or statements.
    fn answer(&mut self, text: &str) -> Result<Next> {
        if !is_command(text) {
            return self.run_statements(text, None).map(|()| Next::Go);
        }
        match command::parse(text).map_err(Failure::Usage)? {
            Command::Tables => self.show_tables()?,
            Command::Schema(Some(table)) => self.show_schema(&table)?,
            Command::Schema(None) => {
                for table in self.session.tables() {
                    say(&format!("{table}\n"))?;
                    self.show_schema(&quoted(&table, '"'))?;
                }
            }
            Command::Mode(format) => self.format = format,
            Command::Timing(is_on) => self.has_timing = is_on,
            Command::Pager(is_on) => self.has_pager = is_on,
            Command::Read(path) => {
                let text = super::read(Path::new(&path))?;
                self.run_statements(&text, Some(&path))?;
            }
            Command::Help => say(&command::help())?,
            Command::Exit => return Ok(Next::End),
        }
        Ok(Next::Go)
    }

    fn show_tables(&self) -> Result<()> {
        let tables = self.session.tables();
        if tables.is_empty() {
            return say(
                "there are no tables; files are tables by their names in quotes: SELECT * FROM 'trips.parquet';\n",
            );
        }
        say(&tables.iter().map(|table| format!("{table}\n")).collect::<String>())
    }

    /// Shows the columns of a table, or of files whose name may lack its quotes.
    fn show_schema(&self, table: &str) -> Result<()> {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let is_quoted = table.starts_with(['\'', '"']) || table.chars().all(is_name);
        let table = if is_quoted { table.to_owned() } else { quoted(table, '\'') };
        self.run_statements(&format!("DESCRIBE {table}"), None)
    }

    /// Runs the statements of `text`, which is read from the file `name`, if given.
    fn run_statements(&self, text: &str, name: Option<&str>) -> Result<()> {
        let failed_here = |error| failed_in(text, name, error);
        let statements = split_statements(text).map_err(failed_here)?;
        check(self.session, text, &statements).map_err(failed_here)?;
        for statement in statements {
            let stop = Stop::new();
            self.set_running(Some(stop.clone()));
            let start = Instant::now();
            let answer = self.session.run_in(text, statement, Some(&stop));
            let written = answer.map_err(failed_here).and_then(|answer| self.show(answer, start));
            self.set_running(None);
            match written {
                // The pager was left before it had everything.
                Err(Failure::ClosedPipe) => {}
                written => written?,
            }
        }
        Ok(())
    }

    fn set_running(&self, stop: Option<Stop>) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = stop;
    }

    /// Shows an answer and its time.
    fn show(&self, answer: Answer, start: Instant) -> Result<()> {
        let has_columns = !answer.schema().fields().is_empty();
        let output = Output::settle(Some(self.format), None)?;
        let mut watch = watch(&answer);
        let mut sink = None;
        let schema = answer.schema().clone();
        let mut rows = 0;
        for batch in answer {
            let batch = batch.map_err(failed)?;
            watch = None;
            rows += batch.num_rows() as u64;
            if has_columns {
                let sink = match &mut sink {
                    Some(sink) => sink,
                    none => none.insert(output.open_on(self.target()?, &schema)?),
                };
                sink.write(&batch)?;
            }
        }
        drop(watch);
        let taken = start.elapsed();
        let sink = match sink {
            None if has_columns => Some(output.open_on(self.target()?, &schema)?),
            sink => sink,
        };
        if let Some(sink) = sink {
            sink.finish()?;
        }
        self.show_timing(taken, (has_columns && !self.counts_rows()).then_some(rows))
    }

    /// Whether the format has the number of rows at the end.
    fn counts_rows(&self) -> bool {
        matches!(self.format, Format::Table | Format::Vertical)
    }

    fn target(&self) -> Result<Target> {
        match terminal_size::terminal_size_of(io::stdout()) {
            Some((width, height)) if self.has_pager && height.0 > 0 => {
                Ok(Target::shown(PagedOutput::new(usize::from(height.0), usize::from(width.0))))
            }
            _ => Target::stdout(),
        }
    }

    fn show_timing(&self, taken: Duration, rows: Option<u64>) -> Result<()> {
        let time = self.has_timing.then(|| time_text(taken));
        let parts: Vec<String> = rows.map(|rows| plural(rows, "row")).into_iter().chain(time).collect();
        if parts.is_empty() {
            return Ok(());
        }
        let (dim, plain) = if Terminal::stdout().colour { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
        say(&format!("{dim}{}{plain}\n", parts.join(", ")))
    }
}

/// A duration with three digits.
fn time_text(taken: Duration) -> String {
    match taken.as_secs_f64() {
        seconds if seconds < 0.9995 => format!("{:.0} ms", seconds * 1e3),
        seconds if seconds < 9.995 => format!("{seconds:.2} s"),
        seconds => format!("{seconds:.1} s"),
    }
}

fn say(text: &str) -> Result<()> {
    let mut stdout = io::stdout();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::writing("standard output", &error))
}
