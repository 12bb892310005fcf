//! Short forms of DuckDB that the parser does not know, written as what it knows.

use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::edits::{Edits, mark};
use super::short_forms::{alias, glob_regex, is_alias};
use crate::dialect::{ASOF, SAMPLE, error_at};

/// Rewrites the forms of a text.
pub(super) fn rewritten(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>, ParserError> {
    let mut edits = Edits::new(tokens);
    let mut asof = Vec::new();
    let mut depth = 0;
    for at in 0..edits.len() {
        match edits.token(at) {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::Mul => star(&mut edits, at),
            Token::Word(_) if is_alias(&edits, at) => alias(&mut edits, at),
            Token::Word(_) => word(&mut edits, at, depth, &mut asof)?,
            _ => {}
        }
    }
    Ok(edits.finish())
}

fn word(edits: &mut Edits, at: usize, depth: i32, asof: &mut Vec<i32>) -> Result<(), ParserError> {
    let before = |edits: &Edits| at.checked_sub(1).map(|at| edits.token(at).clone());
    match edits.word(at).as_deref() {
        // `FILTER (condition)` is `FILTER (WHERE condition)`.
        Some("filter")
            if before(edits) == Some(Token::RParen)
                && *edits.token(at + 1) == Token::LParen
                && !edits.is_word(at + 2, "where") =>
        {
            edits.insert(at + 2, "WHERE ");
        }
        // A query in WITH is evaluated as often as it likes, because queries with random values in WITH are refused.
        Some("materialized") if at > 0 && *edits.token(at + 1) == Token::LParen => {
            let not = edits.is_word(at - 1, "not");
            if edits.is_word(at - 1 - usize::from(not), "as") {
                edits.remove(at - usize::from(not)..at + 1);
            }
        }
        Some("asof") if edits.is_word(at + 1, "join") || edits.is_word(at + 2, "join") => {
            let is_known = ["join", "left", "inner"].iter().any(|word| edits.is_word(at + 1, word));
            // Snowflake's form has MATCH_CONDITION.
            let right =
                edits.end(at + 1, |at| ["on", "using", "match_condition"].iter().any(|word| edits.is_word(at, word)));
            if !edits.is_word(right, "match_condition") {
                if !is_known {
                    return Err(error_at(
                        "ASOF joins are inner or left; write ASOF JOIN or ASOF LEFT JOIN",
                        edits.span(at).start,
                    ));
                }
                edits.remove(at..at + 1);
                asof.push(depth);
            }
        }
        Some("on") if asof.last() == Some(&depth) => {
            asof.pop();
            edits.insert(at + 1, &format!("\"{ASOF}\" AND "));
        }
        Some("using") if asof.last() == Some(&depth) && *edits.token(at + 1) == Token::LParen => {
            asof.pop();
            edits.insert(at + 2, &format!("\"{ASOF}\", "));
        }
        Some("using") if edits.is_word(at + 1, "sample") => {
            let (end, spec) = sample(edits, at + 2)?;
            edits.remove(at..end);
            edits.insert(end, "WINDOW ");
            edits.insert_tokens(
                end,
                vec![TokenWithSpan { token: mark(&format!("{SAMPLE}{spec}")), span: edits.span(at) }],
            );
            edits.insert(end, " AS () ");
        }
        Some("tablesample") if is_sample(edits, at) => {
            let (end, spec) = sample(edits, at + 1)?;
            let (number, unit) = spec.split_once(' ').unwrap_or((spec.as_str(), "ROWS"));
            edits.remove(at + 1..end);
            edits.insert(end, &format!(" BERNOULLI ({number} {unit}) "));
        }
        // `text GLOB 'a*'` with a pattern that is written out.
        Some("glob")
            if matches!(before(edits), Some(Token::Word(_) | Token::RParen | Token::SingleQuotedString(_)))
                && matches!(edits.token(at + 1), Token::SingleQuotedString(_)) =>
        {
            if let Token::SingleQuotedString(pattern) = edits.token(at + 1).clone() {
                edits.remove(at..at + 2);
                edits.insert(at, &format!(" ~ '{}' ", glob_regex(&pattern).replace('\'', "''")));
            }
        }
        // Macros of tables and of values have the same names.
        Some("macro") if at > 0 && edits.is_word(at - 1, "drop") => {
            let is_of_table = edits.is_word(at + 1, "table");
            edits.remove(at..at + 1 + usize::from(is_of_table));
            edits.insert(at, "FUNCTION ");
        }
        Some("positional") if edits.is_word(at + 1, "join") => {
            let advice = "POSITIONAL JOIN is not supported: number the rows of both sides by row_number() OVER (ORDER BY …), and join ON the numbers";
            return Err(error_at(advice, edits.span(at).start));
        }
        Some("limit") if matches!(edits.token(at + 1), Token::Number(..)) && is_percent(edits, at + 2) => {
            let advice = "LIMIT takes a number of rows, and no percentage: number the rows by row_number() OVER (ORDER BY …), and compare with count(*)";
            return Err(error_at(advice, edits.span(at + 2).start));
        }
        Some("from") if starts_query(edits, at) || follows_definition(edits, at) => select_all(edits, at),
        Some("pragma") if starts_query(edits, at) => {
            let advice =
                "PRAGMA is not supported: SET and SHOW ALL are for settings, SHOW TABLES and DESCRIBE t for tables";
            return Err(error_at(advice, edits.span(at).start));
        }
        _ => {}
    }
    Ok(())
}

/// Whether a percent sign, and no second operand, follows a number.
fn is_percent(edits: &Edits, at: usize) -> bool {
    edits.is_word(at, "percent")
        || *edits.token(at) == Token::Mod
            && (matches!(edits.token(at + 1), Token::EOF | Token::RParen | Token::SemiColon)
                || edits.is_word(at + 1, "offset"))
}

/// Writes `a ** b` as `a ^ b`, and `* LIKE 'a%'` in a select list as `COLUMNS('^a.*$')`.
fn star(edits: &mut Edits, at: usize) {
    let is_power = *edits.token(at + 1) == Token::Mul && edits.span(at).end == edits.span(at + 1).start;
    let before = at.checked_sub(1).map(|before| edits.token(before).clone());
    let is_list = matches!(before, None | Some(Token::Comma)) || at > 0 && edits.is_word(at - 1, "select");
    if is_power && !is_list && before != Some(Token::LParen) {
        edits.remove(at..at + 1);
        edits.replace(at + 1, Token::Caret);
    }
    let insensitive = edits.is_word(at + 1, "ilike");
    if is_list
        && (insensitive || edits.is_word(at + 1, "like"))
        && let Token::SingleQuotedString(pattern) = edits.token(at + 2).clone()
    {
        let regex: String = pattern
            .chars()
            .map(|character| match character {
                '%' => ".*".to_owned(),
                '_' => ".".to_owned(),
                other if other.is_alphanumeric() => other.to_string(),
                other => format!("\\{other}"),
            })
            .collect();
        let prefix = if insensitive { "(?i)" } else { "" };
        edits.remove(at..at + 3);
        edits.insert(at, &format!("COLUMNS('{prefix}^{}$')", regex.replace('\'', "''")));
    }
}

/// Whether a size follows TABLESAMPLE behind a table; else it is the name of a column.
fn is_sample(edits: &Edits, at: usize) -> bool {
    let is_table = at.checked_sub(1).is_some_and(|before| match edits.token(before) {
        Token::Word(_) => !["select", "by", "where", "and", "or", "on", "when", "then", "else"]
            .iter()
            .any(|word| edits.is_word(before, word)),
        Token::RParen | Token::SingleQuotedString(_) => true,
        _ => false,
    });
    let is_size = match edits.token(at + 1) {
        Token::Number(..) | Token::LParen => true,
        _ => METHODS.iter().any(|method| edits.is_word(at + 1, method)),
    };
    // Behind a table, anything but a clause is a wrong size.
    is_table && (is_size || matches!(edits.token(at + 1), Token::Word(_)) && !starts_clause(edits, at + 1))
}

fn starts_clause(edits: &Edits, at: usize) -> bool {
    ["from", "as", "where", "group", "order", "limit", "having", "join", "on", "union", "is", "in", "and", "or"]
        .iter()
        .any(|word| edits.is_word(at, word))
}

/// The methods of samples.
const METHODS: [&str; 3] = ["reservoir", "bernoulli", "system"];

/// Parses the size of a sample, and returns where it ends, and `10 PERCENT` or `10 ROWS`.
fn sample(edits: &Edits, start: usize) -> Result<(usize, String), ParserError> {
    let mut at = start;
    let method = edits.word(at).filter(|word| METHODS.contains(&word.as_str()));
    let is_called = method.is_some() && *edits.token(at + 1) == Token::LParen || *edits.token(at) == Token::LParen;
    if is_called {
        at += 1 + usize::from(method.is_some());
    }
    let wrong = |at: usize| error_at("a sample has a size, as 10%, 10 PERCENT or 1000 ROWS", edits.span(at).start);
    let Token::Number(number, _) = edits.token(at) else { return Err(wrong(at)) };
    at += 1;
    let is_percent = *edits.token(at) == Token::Mod || edits.is_word(at, "percent");
    let is_rows = edits.is_word(at, "rows") || edits.is_word(at, "row");
    at += usize::from(is_percent || is_rows);
    if is_called {
        if *edits.token(at) != Token::RParen {
            return Err(wrong(at));
        }
        at += 1;
    } else if *edits.token(at) == Token::LParen {
        let method = edits.word(at + 1).filter(|word| METHODS.contains(&word.as_str()));
        if method.is_none() || *edits.token(at + 2) != Token::RParen {
            return Err(error_at("samples are random, without a seed; leave it out", edits.span(at).start));
        }
        at += 3;
    }
    if edits.is_word(at, "repeatable") {
        return Err(error_at("samples are random, without a seed; leave out REPEATABLE", edits.span(at).start));
    }
    Ok((at, format!("{number} {}", if is_percent { "PERCENT" } else { "ROWS" })))
}

/// Whether a word is the first of a query.
pub(super) fn starts_query(edits: &Edits, at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else { return true };
    match edits.token(before) {
        Token::LParen => {
            // `trim(FROM x)` has no query in its parentheses.
            before.checked_sub(1).and_then(|at| edits.word(at)).is_none_or(|name| name != "trim")
        }
        Token::SemiColon => true,
        _ => ["explain", "analyze", "verbose", "union", "all", "except", "intersect", "describe", "summarize"]
            .iter()
            .any(|word| edits.is_word(before, word)),
    }
}

/// Whether a query begins behind `WITH a AS (…)`, `PREPARE p AS`, `CREATE VIEW v AS` or `INSERT INTO t`.
pub(super) fn follows_definition(edits: &Edits, at: usize) -> bool {
    let is_as = at > 0 && edits.is_word(at - 1, "as");
    let mut depth = 0;
    for before in (0..at).rev() {
        match edits.token(before) {
            Token::RParen | Token::RBracket | Token::RBrace => depth += 1,
            Token::LParen | Token::LBracket | Token::LBrace if depth == 0 => return false,
            Token::LParen | Token::LBracket | Token::LBrace => depth -= 1,
            Token::SemiColon if depth == 0 => return false,
            Token::Word(_) if depth == 0 => match edits.word(before).as_deref() {
                Some("with") => return *edits.token(at - 1) == Token::RParen,
                Some("prepare" | "create") => return is_as,
                Some("insert") => return true,
                Some("select" | "from" | "values" | "delete" | "update" | "merge" | "copy") => return false,
                _ => {}
            },
            _ => {}
        }
    }
    false
}

/// Writes `FROM t WHERE …` as `SELECT * FROM t WHERE …`.
fn select_all(edits: &mut Edits, at: usize) {
    let is_set = |at: usize| ["union", "except", "intersect"].iter().any(|word| edits.is_word(at, word));
    let end = edits.end(at, is_set);
    let selects = edits.end(at, |at| edits.is_word(at, "select") || is_set(at));
    let has_clause = edits.end(at, |at| {
        ["where", "group", "order", "limit", "qualify", "having", "window", "using", "offset"]
            .iter()
            .any(|word| edits.is_word(at, word))
    });
    if selects == end && has_clause < end {
        edits.insert(at, "SELECT * ");
    }
}
