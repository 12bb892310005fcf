//! `COPY t (a, b) FROM 'file.csv' (FORMAT csv, header false)`, whose options the parser does not know.

use std::collections::HashMap;

use datafusion::common::{Result, plan_err};
use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{CopySource, CopyTarget, Ident, ObjectName, Statement as SqlStatement};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;

use super::{options, value_text};

/// The parts of the statement.
#[derive(Debug)]
pub(crate) struct CopyFrom<'s> {
    pub(crate) table: &'s ObjectName,
    /// The columns of the files, in their order; empty if the statement does not name them.
    pub(crate) columns: &'s [Ident],
    pub(crate) location: &'s str,
    /// The format of the files, in lower case, if it is given.
    pub(crate) format: Option<String>,
    pub(crate) options: HashMap<String, String>,
}

/// Parses the statement behind the name of the table.
pub(super) fn parse(parser: &mut DFParser<'_>, table_name: ObjectName) -> Result<Statement> {
    let mut columns = Vec::new();
    if parser.parser.consume_token(&Token::LParen) {
        columns = parser.parser.parse_comma_separated(Parser::parse_identifier)?;
        parser.parser.expect_token(&Token::RParen)?;
    }
    if !parser.parser.parse_keyword(Keyword::FROM) {
        if columns.is_empty() {
            let next = parser.parser.peek_token();
            return parser.parser.expected("FROM or TO", next).map_err(Into::into);
        }
        return plan_err!(
            "COPY {table_name} (…) is followed by FROM; write COPY (SELECT … FROM {table_name}) TO for some columns"
        );
    }
    let filename = match parser.parser.next_token().token {
        Token::SingleQuotedString(name) => name,
        other => {
            return plan_err!(
                "COPY {table_name} FROM is followed by the name of a file in single quotes, and not by {other}; write rows of a pipe to a file first"
            );
        }
    };
    let mut given = Vec::new();
    if parser.parser.parse_keyword(Keyword::OPTIONS)
        || parser.parser.parse_keyword(Keyword::WITH)
        || parser.parser.peek_token() == Token::LParen
    {
        options(parser, &mut given)?;
    }
    // The parser's own list of options has no others than PostgreSQL's, so that names and values are here, one after the other.
    let values = given.into_iter().flat_map(|(name, value)| [Some(name), Some(value_text(value))]).collect();
    Ok(Statement::Statement(Box::new(SqlStatement::Copy {
        source: CopySource::Table { table_name, columns },
        to: false,
        target: CopyTarget::File { filename },
        options: Vec::new(),
        legacy_options: Vec::new(),
        values,
    })))
}

impl<'s> CopyFrom<'s> {
    /// The parts of a statement that is a COPY … FROM.
    pub(crate) fn from_statement(statement: &'s Statement) -> Option<Self> {
        let Statement::Statement(statement) = statement else { return None };
        let SqlStatement::Copy {
            source: CopySource::Table { table_name, columns },
            to: false,
            target: CopyTarget::File { filename },
            values,
            ..
        } = statement.as_ref()
        else {
            return None;
        };
        let mut options = HashMap::new();
        for pair in values.chunks_exact(2) {
            if let [Some(name), Some(value)] = pair {
                let name = name.to_ascii_lowercase();
                options.insert(name.strip_prefix("format.").unwrap_or(&name).to_owned(), value.clone());
            }
        }
        let format = options.remove("format").map(|format| format.to_ascii_lowercase());
        Some(Self { table: table_name, columns, location: filename, format, options })
    }
}
