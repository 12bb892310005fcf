//! The commands of the prompt, which begin with a dot.

use clap::ValueEnum;

use super::scope::unquoted;
use crate::args::Format;

/// A command of the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Tables,
    Schema(Option<String>),
    Mode(Format),
    Timing(bool),
    Pager(bool),
    Read(String),
    Help,
    Exit,
}

/// The commands, and what they do.
pub(super) const NAMES: [(&str, &str); 9] = [
    (".tables", "the tables and views of this session"),
    (".schema", "[TABLE or 'FILES']: columns and their types"),
    (".mode", "FORMAT: table, vertical, csv, json or jsonl"),
    (".timing", "on|off: the time after each answer"),
    (".pager", "on|off: answers that are longer than the screen"),
    (".read", "FILE: run the statements of a file"),
    (".help", "this list"),
    (".exit", "the end, as Ctrl-D"),
    (".quit", "the same"),
];

/// Whether `text` is a command rather than the beginning of a statement.
pub(super) fn is_command(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('.') || ["exit", "quit"].contains(&text.trim_end_matches(';'))
}

/// Whether a format is one for the terminal.
pub(super) fn is_shown(format: Format) -> bool {
    !matches!(format, Format::Arrow | Format::Parquet)
}

/// Reads a command.
pub(super) fn parse(text: &str) -> Result<Command, String> {
    let text = text.trim().trim_end_matches(';').trim_end();
    let (name, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let argument = argument.trim();
    let is_on = || match argument {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("write {name} on or {name} off")),
    };
    match name {
        ".tables" => Ok(Command::Tables),
        ".schema" => Ok(Command::Schema((!argument.is_empty()).then(|| argument.to_owned()))),
        ".mode" => match Format::from_str(argument, true) {
            Ok(format) if is_shown(format) => Ok(Command::Mode(format)),
            Ok(_) => Err(format!("{argument} cannot be shown in a terminal; write it with lath sql \"…\" -o FILE")),
            Err(_) => Err("write .mode table, vertical, csv, json or jsonl".to_owned()),
        },
        ".timing" => is_on().map(Command::Timing),
        ".pager" => is_on().map(Command::Pager),
        ".read" if argument.is_empty() => Err("write .read FILE".to_owned()),
        ".read" => Ok(Command::Read(unquoted(argument))),
        ".help" => Ok(Command::Help),
        ".exit" | ".quit" | "exit" | "quit" => Ok(Command::Exit),
        _ => Err(format!("unknown command {name}; .help lists the commands")),
    }
}

/// The text of `.help`.
pub(super) fn help() -> String {
    let mut text = String::from(
        "Statements in SQL end with ; and may have several lines. Files are tables by their names in quotes.\n",
    );
    for (name, what) in NAMES {
        text.push_str(&format!("  {name:<8} {what}\n"));
    }
    text.push_str(
        "Tab completes names, the arrow keys go through the history, Ctrl-C stops a query or clears the line.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_their_arguments() {
        assert_eq!(parse(" .mode CSV ;"), Ok(Command::Mode(Format::Csv)));
        assert_eq!(parse(".schema 'a b.parquet'"), Ok(Command::Schema(Some("'a b.parquet'".to_owned()))));
        assert_eq!(parse(".read 'a b.sql'"), Ok(Command::Read("a b.sql".to_owned())));
        assert_eq!(parse(".timing off"), Ok(Command::Timing(false)));
        assert_eq!(parse("quit;"), Ok(Command::Exit));
        for wrong in [".mode", ".mode parquet", ".timing maybe", ".read", ".nothing"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
