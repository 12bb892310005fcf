//! The dialect of conditions: its differences from the parser's generic SQL.

use sqlparser::ast::{
    BinaryOperator, CastKind, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments,
    Ident, ObjectName, TypedString, UnaryOperator, Value,
};
use sqlparser::dialect::{Dialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::position::at;
use crate::value::sql_type;

/// Keywords of conditions. Only a column with one of these names needs quotes.
const RESERVED: [&str; 12] =
    ["AND", "OR", "NOT", "IN", "IS", "LIKE", "ILIKE", "BETWEEN", "ESCAPE", "SELECT", "CASE", "EXISTS"];

/// The names of the only function.
pub(super) const CONTAINS: [&str; 4] = ["LIST_CONTAINS", "ARRAY_CONTAINS", "LIST_HAS", "ARRAY_HAS"];

/// The dialect of conditions.
///
/// Expressions that start with a word or a parenthesis are parsed here, so that almost every word can be a column, and nothing is parsed twice:
/// the generic parser tries a word as a type, as a keyword and as a name, and looks for queries, whose nesting takes much more stack. Queries
/// are never parsed.
#[derive(Debug)]
pub(super) struct ConditionDialect;

impl Dialect for ConditionDialect {
    fn is_identifier_start(&self, c: char) -> bool {
        c.is_alphabetic() || c == '_'
    }

    fn is_identifier_part(&self, c: char) -> bool {
        c.is_alphanumeric() || matches!(c, '_' | '$' | '@' | '#')
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        let (first, second) = (parser.peek_nth_token_ref(0), parser.peek_nth_token_ref(1));
        let value = match (&first.token, &second.token) {
            (Token::Minus | Token::Plus, Token::Number(..)) => return Some(Ok(signed_number(parser))),
            (Token::LParen, _) => return Some(nested(parser)),
            (Token::Word(word), _) => {
                let word = word.clone();
                return Some(starting_with(&word, parser));
            }
            (Token::Number(text, is_long), _) => Value::Number(text.clone(), *is_long),
            (Token::SingleQuotedString(text), _) => Value::SingleQuotedString(text.clone()),
            (Token::HexStringLiteral(hex), _) => Value::HexStringLiteral(hex.clone()),
            _ => return None,
        };
        let value = value.with_span(first.span);
        parser.advance_token();
        Some(Ok(Expr::Value(value)))
    }

    fn parse_infix(&self, parser: &mut Parser, expr: &Expr, precedence: u8) -> Option<Result<Expr, ParserError>> {
        let is_at = |number, keyword| is_keyword(parser.peek_nth_token_ref(number), keyword);
        let negated = is_at(0, Keyword::NOT) && is_at(1, Keyword::IN);
        if negated || is_at(0, Keyword::IN) {
            return Some(in_list(parser, expr, negated));
        }
        if is_at(0, Keyword::IS) {
            return distinct_from(parser, expr);
        }
        let word = [Keyword::ANY, Keyword::SOME, Keyword::ALL].into_iter().find(|&word| is_at(1, word))?;
        let op = comparison(&parser.peek_token_ref().token)?;
        Some(compared_with_word(parser, expr, op, word, precedence))
    }
}

/// `IS [NOT] DISTINCT FROM`, whose right side ends before AND and OR.
fn distinct_from(parser: &mut Parser, left: &Expr) -> Option<Result<Expr, ParserError>> {
    let is_at = |number, keyword| is_keyword(parser.peek_nth_token_ref(number), keyword);
    let negated = is_at(1, Keyword::NOT);
    let skipped = 1 + usize::from(negated);
    if !is_at(skipped, Keyword::DISTINCT) || !is_at(skipped + 1, Keyword::FROM) {
        return None;
    }
    for _ in 0..skipped + 2 {
        parser.advance_token();
    }
    let left = Box::new(left.clone());
    let right = parser.parse_subexpr(ConditionDialect.prec_value(Precedence::Is)).map(Box::new);
    Some(right.map(|right| match negated {
        true => Expr::IsNotDistinctFrom(left, right),
        false => Expr::IsDistinctFrom(left, right),
    }))
}

fn comparison(token: &Token) -> Option<BinaryOperator> {
    Some(match token {
        Token::Eq | Token::DoubleEq => BinaryOperator::Eq,
        Token::Neq => BinaryOperator::NotEq,
        Token::Lt => BinaryOperator::Lt,
        Token::LtEq => BinaryOperator::LtEq,
        Token::Gt => BinaryOperator::Gt,
        Token::GtEq => BinaryOperator::GtEq,
        _ => return None,
    })
}

/// `= ANY (…)` and similar operators, or a column with that name.
fn compared_with_word(
    parser: &mut Parser,
    expr: &Expr,
    op: BinaryOperator,
    word: Keyword,
    precedence: u8,
) -> Result<Expr, ParserError> {
    parser.advance_token();
    let left = Box::new(expr.clone());
    if parser.peek_nth_token_ref(1).token != Token::LParen {
        return Ok(Expr::BinaryOp { left, op, right: Box::new(parser.parse_subexpr(precedence)?) });
    }
    parser.advance_token();
    let right = Box::new(nested(parser)?);
    Ok(match word {
        Keyword::ALL => Expr::AllOp { left, compare_op: op, right },
        _ => Expr::AnyOp { left, compare_op: op, right, is_some: word == Keyword::SOME },
    })
}

/// An expression in parentheses, which is never a query.
fn nested(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let inner = parser.parse_expr()?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Nested(Box::new(inner)))
}

fn is_keyword(token: &TokenWithSpan, keyword: Keyword) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.keyword == keyword)
}

/// A sign belongs to the number after it: `-5::INTEGER` casts −5.
fn signed_number(parser: &mut Parser) -> Expr {
    let sign = parser.next_token();
    let number = parser.next_token();
    let text = match number.token {
        Token::Number(text, _) if sign.token == Token::Minus => format!("-{text}"),
        token => token.to_string(),
    };
    Expr::Value(Value::Number(text, false).with_span(sign.span.union(&number.span)))
}

fn starting_with(word: &Word, parser: &mut Parser) -> Result<Expr, ParserError> {
    let span = parser.peek_token_ref().span;
    let name = Ident { value: word.value.clone(), quote_style: word.quote_style, span };
    if word.quote_style.is_some() {
        parser.advance_token();
        return Ok(Expr::Identifier(name));
    }
    let upper = word.value.to_ascii_uppercase();
    let constant = match upper.as_str() {
        "NULL" => Some(Value::Null),
        "TRUE" => Some(Value::Boolean(true)),
        "FALSE" => Some(Value::Boolean(false)),
        _ => None,
    };
    if let Some(constant) = constant {
        parser.advance_token();
        return Ok(Expr::Value(constant.with_span(span)));
    }
    match upper.as_str() {
        "NOT" => {
            parser.advance_token();
            let expr = Box::new(parser.parse_subexpr(ConditionDialect.prec_value(Precedence::UnaryNot))?);
            return Ok(Expr::UnaryOp { op: UnaryOperator::Not, expr });
        }
        "SELECT" | "CASE" | "EXISTS" => return Err(error_at(format!("{upper} is not supported"), span)),
        reserved if RESERVED.contains(&reserved) => {
            return parser.expected("a column or a literal", parser.peek_token());
        }
        _ => {}
    }
    let second = parser.peek_nth_token_ref(1);
    let is_typed_literal = match &second.token {
        Token::SingleQuotedString(_) => true,
        Token::Word(second) => match upper.as_str() {
            "DOUBLE" => second.keyword == Keyword::PRECISION,
            "TIMESTAMP" | "TIME" => matches!(second.keyword, Keyword::WITH | Keyword::WITHOUT),
            _ => false,
        },
        Token::LParen => sql_type::is_type_name(&upper) && has_text_after_parentheses(parser),
        _ => false,
    };
    let is_call = second.token == Token::LParen;
    if is_typed_literal {
        return typed_literal(&upper, parser);
    }
    parser.advance_token();
    match upper.as_str() {
        _ if !is_call => Ok(Expr::Identifier(name)),
        "CAST" => parser.parse_cast_expr(CastKind::Cast),
        "TRY_CAST" => parser.parse_cast_expr(CastKind::TryCast),
        function if CONTAINS.contains(&function) => Ok(Expr::Function(call(name, items(parser)?))),
        _ => Err(error_at(format!("functions such as {} are not supported", word.value), span)),
    }
}

/// A typed literal: `DATE '…'`, `TIMESTAMP(3) WITH TIME ZONE '…'` and others.
fn typed_literal(word: &str, parser: &mut Parser) -> Result<Expr, ParserError> {
    let data_type = parser.parse_data_type()?;
    let found = parser.next_token();
    let Token::SingleQuotedString(text) = found.token else {
        return Err(error_at(format!("{word} needs a string in single quotes after it"), found.span));
    };
    let value = Value::SingleQuotedString(text).with_span(found.span);
    Ok(Expr::TypedString(TypedString { data_type, value, uses_odbc_syntax: false }))
}

/// Whether a string follows the next word, after optional parentheses and an optional time zone.
fn has_text_after_parentheses(parser: &Parser) -> bool {
    // A type has two arguments at most, and a comma between them.
    let close = (2..6).find(|&number| parser.peek_nth_token_ref(number).token == Token::RParen);
    close.is_some_and(|close| {
        let after = parser.peek_nth_token_ref(close + 1);
        let is_zone = is_keyword(after, Keyword::WITH) || is_keyword(after, Keyword::WITHOUT);
        is_zone || matches!(after.token, Token::SingleQuotedString(_))
    })
}

fn in_list(parser: &mut Parser, expr: &Expr, negated: bool) -> Result<Expr, ParserError> {
    for _ in 0..=usize::from(negated) {
        parser.advance_token();
    }
    Ok(Expr::InList { expr: Box::new(expr.clone()), list: items(parser)?, negated })
}

/// Expressions in parentheses, separated by commas.
fn items(parser: &mut Parser) -> Result<Vec<Expr>, ParserError> {
    parser.expect_token(&Token::LParen)?;
    if is_keyword(parser.peek_token_ref(), Keyword::SELECT) {
        let span = parser.peek_token_ref().span;
        return Err(error_at("subqueries are not supported; write a list of literals".to_owned(), span));
    }
    let items = parser.parse_comma_separated0(Parser::parse_expr, Token::RParen)?;
    parser.expect_token(&Token::RParen)?;
    Ok(items)
}

fn call(name: Ident, arguments: Vec<Expr>) -> Function {
    let args = arguments.into_iter().map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))).collect();
    Function {
        name: ObjectName::from(vec![name]),
        args: FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() }),
        parameters: FunctionArguments::None,
        within_group: Vec::new(),
        filter: None,
        null_treatment: None,
        over: None,
        uses_odbc_syntax: false,
    }
}

/// An error with its position.
fn error_at(message: String, span: sqlparser::tokenizer::Span) -> ParserError {
    ParserError::ParserError(format!("{message}{}", at(span.start)))
}
