//! The line editor: completeness of statements, colours and completion.

use std::borrow::Cow;
use std::cell::RefCell;

use rustyline::completion::{Completer as Completes, Pair};
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{ColorMode, CompletionType, Config, Context, Editor, Helper};

use super::command::is_command;
use super::complete::{Completer, KEYWORDS};
use super::tokens::{Kind, is_complete, tokens};

/// Connects the editor to the session.
pub(super) struct SqlHelper<'a> {
    completer: RefCell<Completer<'a>>,
}

/// An editor of statements.
pub(super) type SqlEditor<'a> = Editor<SqlHelper<'a>, FileHistory>;

/// An editor on the terminal.
pub(super) fn editor<'a>(completer: Completer<'a>, colour: bool) -> rustyline::Result<SqlEditor<'a>> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .history_ignore_space(true)
        .history_ignore_dups(true)?
        .color_mode(if colour { ColorMode::Enabled } else { ColorMode::Disabled })
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(SqlHelper { completer: RefCell::new(completer) }));
    Ok(editor)
}

impl SqlHelper<'_> {
    /// Called after a statement, which may have changed tables.
    pub(super) fn forget_tables(&self) {
        self.completer.borrow_mut().forget();
    }
}

impl Helper for SqlHelper<'_> {}

impl Hinter for SqlHelper<'_> {
    type Hint = String;
}

impl Validator for SqlHelper<'_> {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input();
        let is_whole = is_command(text) || is_complete(text);
        Ok(if is_whole { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Completes for SqlHelper<'_> {
    type Candidate = Pair;

    fn complete(&self, text: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let offer = self.completer.borrow_mut().offer(text, position);
        let pair = |word: String| Pair { display: last_of_path(&word).to_owned(), replacement: word };
        Ok((offer.start, offer.words.into_iter().map(pair).collect()))
    }
}

/// The last part of a path, which is enough to tell files of one folder apart.
fn last_of_path(word: &str) -> &str {
    let inner = word.trim_end_matches(['/', '\'', ' ']);
    inner.rfind('/').map_or(word, |at| &word[at + 1..]).trim_end_matches(['\'', ' '])
}

impl Highlighter for SqlHelper<'_> {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        if is_command(line) {
            return Cow::Borrowed(line);
        }
        let mut text = String::with_capacity(line.len() + 32);
        for token in tokens(line) {
            let part = &line[token.range];
            let is_keyword = || KEYWORDS.split_whitespace().any(|keyword| keyword.eq_ignore_ascii_case(part));
            let colour = match token.kind {
                Kind::Word if is_keyword() => "\x1b[1m",
                Kind::Text => "\x1b[32m",
                Kind::Number => "\x1b[36m",
                Kind::Comment => "\x1b[2m",
                _ => "",
            };
            let end = if colour.is_empty() { "" } else { "\x1b[0m" };
            text.extend([colour, part, end]);
        }
        Cow::Owned(text)
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        kind != CmdKind::MoveCursor
    }
}
