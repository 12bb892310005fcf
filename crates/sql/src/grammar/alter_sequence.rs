//! `ALTER SEQUENCE s RESTART WITH 5 INCREMENT BY 2`, which the parser does not know, as a call of a procedure.

use datafusion::common::{Result, plan_err};
use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::Function;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::Token;

use crate::dialect::normal;

/// The procedure, with a name that no statement has.
pub(crate) const ALTER_SEQUENCE: &str = "*alter sequence";

/// Parses a statement after the words `ALTER SEQUENCE`.
pub(super) fn parse(parser: &mut DFParser<'_>) -> Result<Statement> {
    let parser = &mut parser.parser;
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    let Some(sequence) = name.0.last().and_then(|part| part.as_ident()).map(normal) else {
        return plan_err!("ALTER SEQUENCE {name}: expected the name of a sequence");
    };
    let mut options = vec![format!("if_exists => {if_exists}")];
    loop {
        let no = parser.parse_keyword(Keyword::NO);
        let token = parser.peek_token();
        let word = match &token.token {
            Token::Word(word) if word.quote_style.is_none() => word.value.to_ascii_lowercase(),
            _ if no => return parser.expected("MINVALUE, MAXVALUE or CYCLE after NO", token).map_err(Into::into),
            _ => break,
        };
        parser.next_token();
        let option = match word.as_str() {
            "cycle" => format!("cycle => {}", !no),
            "minvalue" | "maxvalue" if no => format!("no_{word} => true"),
            "restart" if !no && !starts_number(&parser.peek_token().token) && !parser.peek_keyword(Keyword::WITH) => {
                "restart_at_start => true".to_owned()
            }
            "restart" | "start" | "increment" | "minvalue" | "maxvalue" if !no => {
                let _ = parser.parse_keyword(Keyword::WITH) || parser.parse_keyword(Keyword::BY);
                format!("{word} => {}", parser.parse_expr()?)
            }
            _ => {
                return plan_err!(
                    "ALTER SEQUENCE {sequence} {token}: the changes are RESTART [WITH n], START WITH n, INCREMENT BY n, [NO] MINVALUE, [NO] MAXVALUE and [NO] CYCLE"
                );
            }
        };
        if options.iter().any(|other| other.split(" =>").next() == option.split(" =>").next()) {
            return plan_err!("ALTER SEQUENCE {sequence} has {} twice; write it once", word.to_ascii_uppercase());
        }
        options.push(option);
    }
    if options.len() == 1 {
        return plan_err!(
            "ALTER SEQUENCE {sequence} changes nothing; write RESTART, INCREMENT BY n, or another option"
        );
    }
    let text = format!("CALL \"{ALTER_SEQUENCE}\"('{}', {})", sequence.replace('\'', "''"), options.join(", "));
    match super::parse(&text)?.pop_front() {
        Some(statement) => Ok(statement),
        None => plan_err!("{text}"),
    }
}

/// Whether a call stands for `ALTER SEQUENCE`.
pub(crate) fn is_alter_sequence(function: &Function) -> bool {
    let name = function.name.0.last().and_then(|part| part.as_ident());
    name.is_some_and(|name| name.value == ALTER_SEQUENCE)
}

fn starts_number(token: &Token) -> bool {
    matches!(token, Token::Number(..) | Token::Minus | Token::Plus)
}
