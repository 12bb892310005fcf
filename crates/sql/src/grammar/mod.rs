//! Parses statements, with Lath's additions to DataFusion's grammar: `COPY … TO 'x.parquet' (profile lookup, bloom 'id')`, `COPY t FROM 'x.csv'`,
//! `INSERT INTO t BY NAME SELECT …`, `ALTER SEQUENCE`, `SHOW ALL TABLES`, `FROM t AT (VERSION => 3)`.

mod alter_sequence;
mod at;
mod by_name;
mod conflict_target;
mod copy_from;
mod edits;
mod foreign;
mod lambda;
mod nearest_join;
mod parameters;
mod reshape;
mod sampling;
mod sequence_options;
mod short_forms;
mod time_to_live;

use std::collections::VecDeque;
use std::ops::ControlFlow;

use datafusion::common::format::ExplainStatementOptions;
use datafusion::common::{Result, plan_err};
use datafusion::sql::parser::{CopyToSource, CopyToStatement, DFParser, DFParserBuilder, ExplainStatement, Statement};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, Select, SelectFlavor, SelectItem, SetExpr, Statement as SqlStatement, Value, VisitMut,
    VisitorMut, WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::dialect::LathDialect;
use crate::refusal::refuse_ignored;
use crate::rewrite::{rewrite, rewrite_expression};
use crate::statement::explained;

pub(crate) use alter_sequence::{ALTER_SEQUENCE, is_alter_sequence};
pub(crate) use by_name::{Overriding, is_by_name, take_overriding};
pub(crate) use copy_from::CopyFrom;

/// The query of `SHOW ALL TABLES`.
const ALL_TABLES: &str = "SELECT * FROM information_schema.tables";

/// Parses a text that is one statement.
pub(crate) fn parse_one(text: &str) -> Result<Statement> {
    let mut statements = parse(text)?;
    match (statements.pop_front(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        (None, _) => plan_err!("there is no statement"),
        (Some(_), false) => plan_err!("there is more than one statement; send them one by one"),
    }
}

/// Parses statements separated by `;`.
pub(crate) fn parse(text: &str) -> Result<VecDeque<Statement>> {
    let tokens = Tokenizer::new(&LathDialect, text).tokenize_with_location().map_err(ParserError::from)?;
    let tokens = sequence_options::in_order(by_name::with_names(at::with_states(time_to_live::with_options(
        conflict_target::with_expressions(tokens),
    ))));
    let tokens = lambda::with_marked_arrows(foreign::rewritten(reshape::rewritten(parameters::with_numbers(tokens))?)?);
    let mut parser = DFParserBuilder::new(tokens).with_dialect(&LathDialect).build()?;
    let mut statements = VecDeque::new();
    loop {
        while parser.parser.consume_token(&Token::SemiColon) {}
        if parser.parser.peek_token() == Token::EOF {
            return Ok(statements);
        }
        let start = parser.parser.peek_token_ref().span.start;
        let mut statement = statement(&mut parser)?;
        returning(&mut parser, &mut statement)?;
        adapt(&mut statement)?;
        refuse_ignored(&statement, text, start)?;
        select_all(&mut statement);
        rewrite(&mut statement)?;
        statements.push_back(statement);
        let next = parser.parser.peek_token();
        if next != Token::EOF && next != Token::SemiColon {
            return parser.parser.expected("end of statement", next).map_err(Into::into);
        }
    }
}

/// Parses the name of a type, and returns a null of it.
pub(crate) fn parse_type(name: &str) -> Result<Expr> {
    let text = format!("CAST(NULL AS {name})");
    let mut parser = DFParserBuilder::new(text.as_str()).with_dialect(&LathDialect).build()?;
    let mut null = parser.parser.parse_expr()?;
    let next = parser.parser.peek_token();
    if next != Token::EOF {
        return plan_err!("{name} is not the name of a type");
    }
    rewrite_expression(&mut null)?;
    Ok(null)
}

/// Parses `SELECT * FROM` a table, and lets `change` replace parts of the query.
pub(crate) fn select_from_table(change: impl FnOnce(&mut Query, &mut Select)) -> Result<Statement> {
    let text = "SELECT * FROM the_table";
    let Some(Statement::Statement(mut statement)) = parse(text)?.pop_front() else { return plan_err!("{text}") };
    if let SqlStatement::Query(query) = statement.as_mut()
        && let SetExpr::Select(select) = query.body.as_mut()
    {
        let mut changed = (**select).clone();
        change(query, &mut changed);
        *query.body = SetExpr::Select(Box::new(changed));
    }
    Ok(Statement::Statement(statement))
}

fn statement(parser: &mut DFParser<'_>) -> Result<Statement> {
    let keyword = |parser: &DFParser<'_>, at| match parser.parser.peek_nth_token(at).token {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    if keyword(parser, 0) == Keyword::ATTACH {
        parser.parser.next_token();
        return attach(parser);
    }
    if (0..3).map(|at| keyword(parser, at)).eq([Keyword::SHOW, Keyword::ALL, Keyword::TABLES]) {
        (0..3).for_each(|_| _ = parser.parser.next_token());
        return DFParserBuilder::new(ALL_TABLES).with_dialect(&LathDialect).build()?.parse_statement();
    }
    if (0..2).map(|at| keyword(parser, at)).eq([Keyword::ALTER, Keyword::SEQUENCE]) {
        (0..2).for_each(|_| _ = parser.parser.next_token());
        return alter_sequence::parse(parser);
    }
    let mut before = Vec::new();
    while let word @ (Keyword::EXPLAIN | Keyword::ANALYZE | Keyword::VERBOSE) = keyword(parser, before.len()) {
        before.push(word);
    }
    let is_explained = before.first() == Some(&Keyword::EXPLAIN);
    let is_copy = keyword(parser, before.len()) == Keyword::COPY && keyword(parser, before.len() + 1) != Keyword::INTO;
    if !is_copy || !(before.is_empty() || is_explained) {
        return parser.parse_statement();
    }
    for _ in 0..=before.len() {
        parser.parser.next_token();
    }
    let copy = copy(parser)?;
    if !is_explained {
        return Ok(copy);
    }
    let options = ExplainStatementOptions {
        analyze: before.contains(&Keyword::ANALYZE),
        verbose: before.contains(&Keyword::VERBOSE),
        ..ExplainStatementOptions::default()
    };
    Ok(Statement::Explain(ExplainStatement { options, statement: Box::new(copy) }))
}

/// Parses `RETURNING` behind `ORDER BY` and `LIMIT`; the parser knows it before them.
fn returning(parser: &mut DFParser<'_>, statement: &mut Statement) -> Result<()> {
    let Statement::Statement(statement) = explained(statement) else { return Ok(()) };
    let returning = match statement.as_mut() {
        SqlStatement::Update(update) => &mut update.returning,
        SqlStatement::Delete(delete) => &mut delete.returning,
        _ => return Ok(()),
    };
    if returning.is_none() && parser.parser.parse_keyword(Keyword::RETURNING) {
        *returning = Some(parser.parser.parse_comma_separated(Parser::parse_select_item)?);
    }
    Ok(())
}

/// Replaces samples and joins to the nearest row.
fn adapt(statement: &mut Statement) -> Result<(), ParserError> {
    for step in [visit(statement, &mut sampling::Sampling), visit(statement, &mut nearest_join::NearestJoins)] {
        if let ControlFlow::Break(error) = step {
            return Err(error);
        }
    }
    Ok(())
}

/// Visits the query of a statement, even within EXPLAIN or COPY.
fn visit<V: VisitorMut>(statement: &mut Statement, visitor: &mut V) -> ControlFlow<V::Break> {
    match explained(statement) {
        Statement::Statement(statement) => statement.visit(visitor),
        Statement::CopyTo(CopyToStatement { source: CopyToSource::Query(query), .. }) => query.visit(visitor),
        _ => ControlFlow::Continue(()),
    }
}

/// Makes `FROM trips` select all columns.
fn select_all(statement: &mut Statement) {
    let _ = match explained(statement) {
        Statement::Statement(statement) => statement.visit(&mut SelectAll),
        Statement::CopyTo(CopyToStatement { source: CopyToSource::Query(query), .. }) => query.visit(&mut SelectAll),
        _ => return,
    };
}

struct SelectAll;

impl VisitorMut for SelectAll {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if select.flavor == SelectFlavor::FromFirstNoSelect && select.projection.is_empty() {
            select.flavor = SelectFlavor::Standard;
            select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        }
        ControlFlow::Continue(())
    }
}

/// Parses a statement after the word `COPY`.
fn copy(parser: &mut DFParser<'_>) -> Result<Statement> {
    let source = if parser.parser.consume_token(&Token::LParen) {
        let query = parser.parser.parse_query()?;
        parser.parser.expect_token(&Token::RParen)?;
        CopyToSource::Query(query)
    } else {
        let name = parser.parser.parse_object_name(true)?;
        if parser.parser.peek_token() == Token::LParen || parser.parser.peek_keyword(Keyword::FROM) {
            return copy_from::parse(parser, name);
        }
        CopyToSource::Relation(name)
    };
    let mut copy = CopyToStatement {
        source,
        target: String::new(),
        partitioned_by: Vec::new(),
        stored_as: None,
        options: Vec::new(),
    };
    parser.parser.expect_keyword(Keyword::TO)?;
    copy.target = parser.parser.parse_literal_string()?;
    loop {
        if parser.parser.parse_keywords(&[Keyword::STORED, Keyword::AS]) {
            copy.stored_as = Some(parser.parser.parse_identifier()?.value.to_ascii_uppercase());
        } else if parser.parser.parse_keywords(&[Keyword::PARTITIONED, Keyword::BY]) {
            parser.parser.expect_token(&Token::LParen)?;
            let columns = parser.parser.parse_comma_separated(Parser::parse_identifier)?;
            parser.parser.expect_token(&Token::RParen)?;
            copy.partitioned_by = columns.into_iter().map(|column| column.value).collect();
        } else if parser.parser.parse_keyword(Keyword::OPTIONS)
            || parser.parser.parse_keyword(Keyword::WITH)
            || parser.parser.peek_token() == Token::LParen
        {
            options(parser, &mut copy.options)?;
        } else {
            break;
        }
    }
    // DuckDB's names of options.
    if let Some(at) = copy.options.iter().position(|(name, _)| name.eq_ignore_ascii_case("partition_by")) {
        let columns = value_text(copy.options.remove(at).1);
        if !copy.partitioned_by.is_empty() {
            return plan_err!("PARTITIONED BY and the option partition_by are the same; give one of them");
        }
        copy.partitioned_by = columns.split(',').map(|column| column.trim().to_owned()).collect();
    }
    for (name, _) in &mut copy.options {
        let known = [
            ("row_group_size", "row_group_rows"),
            ("overwrite_or_ignore", "overwrite"),
            ("delim", "delimiter"),
            ("sep", "delimiter"),
            ("nullstr", "null_value"),
        ];
        if let Some((_, own)) = known.iter().find(|(foreign, _)| name.eq_ignore_ascii_case(foreign)) {
            (*own).clone_into(name);
        }
    }
    // `(FORMAT csv)` is `STORED AS CSV`.
    if let Some(at) = copy.options.iter().position(|(name, _)| name.eq_ignore_ascii_case("format")) {
        let format = value_text(copy.options.remove(at).1).to_ascii_uppercase();
        if copy.stored_as.as_ref().is_some_and(|known| *known != format) {
            return plan_err!("STORED AS and the option format are the same; give one of them");
        }
        copy.stored_as = Some(format);
    }
    Ok(Statement::CopyTo(copy))
}

/// Parses a statement after the word `ATTACH`: `[DATABASE] [IF NOT EXISTS] 'rest://HOST' AS name [(TYPE iceberg, READ_ONLY)]`.
fn attach(parser: &mut DFParser<'_>) -> Result<Statement> {
    let database = parser.parser.parse_keyword(Keyword::DATABASE);
    let if_not_exists = parser.parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let location = match parser.parser.next_token().token {
        Token::SingleQuotedString(location) => location,
        other => {
            return plan_err!(
                "ATTACH is followed by a location in single quotes, as 'rest://lake.example', and not by {other}"
            );
        }
    };
    parser.parser.expect_keyword(Keyword::AS)?;
    let name = parser.parser.parse_identifier()?;
    let mut given = Vec::new();
    if parser.parser.peek_token() == Token::LParen {
        options(parser, &mut given)?;
    }
    for (option, value) in given {
        let value = value_text(value);
        match option.to_ascii_lowercase().as_str() {
            "type" if value.eq_ignore_ascii_case("iceberg") => {}
            "read_only" if value.eq_ignore_ascii_case("true") => {}
            "read_only" => return plan_err!("attached catalogs are only read; leave out READ_ONLY {value}"),
            "type" => {
                return plan_err!(
                    "TYPE is {value}, and only REST catalogs of Iceberg are attached: write TYPE iceberg"
                );
            }
            "endpoint" => {
                let host = value.split_once("://").map_or(value.as_str(), |(_, host)| host);
                return plan_err!(
                    "the endpoint is part of the location: write ATTACH 'rest://{host}?warehouse={location}' AS {name}"
                );
            }
            other => {
                return plan_err!(
                    "ATTACH has no option {other}; the options are TYPE and READ_ONLY, and tokens are in the environment (LATH_REST_TOKEN)"
                );
            }
        }
    }
    Ok(Statement::Statement(Box::new(SqlStatement::AttachDuckDBDatabase {
        if_not_exists,
        database,
        database_path: Ident::with_quote('\'', location),
        database_alias: Some(name),
        attach_options: Vec::new(),
    })))
}

/// Parses `(name value, name (value, value), name, …)`. An option without a value is true.
fn options(parser: &mut DFParser<'_>, options: &mut Vec<(String, Value)>) -> Result<()> {
    parser.parser.expect_token(&Token::LParen)?;
    loop {
        let name = parser.parse_option_key()?;
        if options.iter().any(|(known, _)| *known == name) {
            return plan_err!("option {name} is given twice");
        }
        let _ = parser.parser.consume_token(&Token::Eq);
        let value = if parser.parser.consume_token(&Token::LParen) {
            let mut values = Vec::new();
            loop {
                let value = parser.parse_option_value()?;
                values.push(value_text(value));
                if !parser.parser.consume_token(&Token::Comma) {
                    break;
                }
            }
            parser.parser.expect_token(&Token::RParen)?;
            Value::SingleQuotedString(values.join(","))
        } else if matches!(parser.parser.peek_token().token, Token::Comma | Token::RParen) {
            Value::SingleQuotedString("true".to_owned())
        } else {
            parser.parse_option_value()?
        };
        options.push((name, value));
        let comma = parser.parser.consume_token(&Token::Comma);
        if parser.parser.consume_token(&Token::RParen) {
            return Ok(());
        }
        if !comma {
            let next = parser.parser.peek_token();
            return parser.parser.expected("',' or ')' after an option", next).map_err(Into::into);
        }
    }
}

fn value_text(value: Value) -> String {
    match value {
        Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) | Value::EscapedStringLiteral(text) => text,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        parse(text).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn copies_have_options_in_parentheses() {
        let copies = shown(
            "COPY t TO 'a.parquet' (profile lookup, bloom (id, name), sort 'ts');
             copy (SELECT 1) to 'b' stored as parquet partitioned by (x, \"Y\") options (codec = 'zstd');
             COPY t TO 'c.csv' WITH (format.has_header false);
             COPY t TO 'd' (FORMAT csv, header, delimiter ';')",
        );
        assert_eq!(
            copies,
            [
                "COPY t TO a.parquet OPTIONS ('profile' 'lookup', 'bloom' 'id,name', 'sort' 'ts')",
                "COPY (SELECT 1) TO b STORED AS PARQUET PARTITIONED BY (x, Y) OPTIONS ('codec' 'zstd')",
                "COPY t TO c.csv OPTIONS ('format.has_header' 'false')",
                "COPY t TO d STORED AS CSV OPTIONS ('header' 'true', 'delimiter' ';')",
            ]
        );
    }

    #[test]
    fn a_from_alone_selects_all_columns() {
        assert_eq!(
            shown("FROM t; EXPLAIN FROM t; SELECT 1 UNION ALL FROM u"),
            ["SELECT * FROM t", "EXPLAIN SELECT * FROM t", "SELECT 1 UNION ALL SELECT * FROM u"]
        );
    }

    #[test]
    fn copies_can_be_explained() {
        assert_eq!(shown("EXPLAIN ANALYZE COPY t TO 'a.parquet' (sort x)").len(), 1);
        assert_eq!(shown("EXPLAIN SELECT 1; SELECT 2;;").len(), 2);
    }

    #[test]
    fn catalogs_are_attached_under_a_name() {
        assert_eq!(
            shown(
                "ATTACH 'rest://h' AS a; ATTACH DATABASE IF NOT EXISTS 'rest://h' AS \"B\" (TYPE iceberg, READ_ONLY); DETACH a"
            ),
            ["ATTACH 'rest://h' AS a", "ATTACH DATABASE IF NOT EXISTS 'rest://h' AS \"B\"", "DETACH a"]
        );
        let message = |text: &str| parse(text).unwrap_err().to_string();
        let of_duckdb = "ATTACH 'w' AS lake (TYPE iceberg, ENDPOINT 'https://lake.example/api')";
        assert!(message(of_duckdb).contains("ATTACH 'rest://lake.example/api?warehouse=w' AS lake"));
        assert!(message("ATTACH 'w' AS lake (TOKEN 's3cret')").contains("LATH_REST_TOKEN"));
        assert!(!message("ATTACH 'w' AS lake (TOKEN 's3cret')").contains("s3cret"));
        for text in [
            "ATTACH 'rest://h'",
            "ATTACH lake AS a",
            "ATTACH 'h' AS a (TYPE sqlite)",
            "ATTACH 'h' AS a (READ_ONLY false)",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_option_is_an_error() {
        for text in
            ["COPY t TO 'a' ()", "COPY t TO 'a' (x 1 y 2)", "COPY t TO 'a' (x 1, x 2)", "COPY t 'a'", "SELECT 1 2 3"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
