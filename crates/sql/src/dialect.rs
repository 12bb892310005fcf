//! Lath's SQL dialect: sqlparser's generic dialect with PostgreSQL's operator precedence.

use std::any::TypeId;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, ExactNumberInfo, Expr, Ident, LambdaFunction, LambdaFunctionParameter,
    LambdaSyntax, OneOrManyWithParens, Spanned, UnaryOperator,
};
use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Location, Token};

use crate::syntax::call;

/// Operator precedence of [PostgreSQL](https://www.postgresql.org/docs/current/sql-syntax-lexical.html#SQL-PRECEDENCE). All other operators
/// (`||`, `->`, `~`, `&`, `|`, `<<`, …) have the same level, `OTHER`.
mod binding {
    pub(super) const PERIOD: u8 = 200;
    pub(super) const CAST: u8 = 140;
    pub(super) const SIGN: u8 = 125;
    pub(super) const AT_TIME_ZONE: u8 = 110;
    pub(super) const POWER: u8 = 100;
    pub(super) const TIMES: u8 = 90;
    pub(super) const PLUS: u8 = 80;
    pub(super) const OTHER: u8 = 70;
    pub(super) const BETWEEN: u8 = 60;
    pub(super) const COMPARISON: u8 = 50;
    pub(super) const IS: u8 = 40;
    pub(super) const NOT: u8 = 30;
    pub(super) const AND: u8 = 20;
    pub(super) const OR: u8 = 10;
}

/// Before the names of the arguments that stand for `t AT (…)`.
pub(crate) const AT_PREFIX: &str = "at ";

/// Before the text of an expression that stands in the place of a column's name.
pub(crate) const EXPRESSION_PREFIX: &str = "\u{1f}expression ";

/// Stands for the arrow between the parameters and the body of a function of elements.
pub(crate) const LAMBDA: &str = "lambda";

/// The first condition or column of a join to the nearest row.
pub(crate) const ASOF: &str = "asof join";

/// Before the size of a sample, as the name of a window.
pub(crate) const SAMPLE: &str = "sample ";

/// Functions that stand for forms of queries, which `reshape` plans.
pub(crate) const PIVOT: &str = "pivot form";
pub(crate) const UNPIVOT: &str = "unpivot form";
pub(crate) const SUMMARY: &str = "summarize form";

/// The function that stands for `GROUP BY` within `PIVOT (…)`.
pub(crate) const PIVOT_GROUPS: &str = "pivot groups";

/// The dialect of Lath's statements.
#[derive(Debug)]
pub(crate) struct LathDialect;

/// Forwards methods to the generic dialect.
macro_rules! as_generic {
    ($($supports:ident),* $(,)?) => {
        $(fn $supports(&self) -> bool {
            GenericDialect.$supports()
        })*
    };
}

impl Dialect for LathDialect {
    // The parser checks for the generic dialect by its type.
    fn dialect(&self) -> TypeId {
        TypeId::of::<GenericDialect>()
    }

    fn is_delimited_identifier_start(&self, character: char) -> bool {
        GenericDialect.is_delimited_identifier_start(character)
    }

    fn is_identifier_start(&self, character: char) -> bool {
        GenericDialect.is_identifier_start(character)
    }

    fn is_identifier_part(&self, character: char) -> bool {
        GenericDialect.is_identifier_part(character)
    }

    as_generic! {
        supports_unicode_string_literal,
        supports_partition_by_after_order_by,
        supports_array_join_syntax,
        supports_group_by_expr,
        supports_group_by_with_modifier,
        supports_left_associative_joins_without_parens,
        supports_connect_by,
        supports_match_recognize,
        supports_pipe_operator,
        supports_start_transaction_modifier,
        supports_window_function_null_treatment_arg,
        supports_dictionary_syntax,
        supports_window_clause_named_window_reference,
        supports_parenthesized_set_variables,
        supports_select_wildcard_except,
        support_map_literal_syntax,
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_extract_comma_syntax,
        supports_create_view_comment_syntax,
        supports_parens_around_table_factor,
        supports_values_as_table_factor,
        supports_create_index_with_clause,
        supports_explain_with_utility_options,
        supports_limit_comma,
        supports_update_order_by,
        supports_from_first_select,
        supports_projection_trailing_commas,
        supports_asc_desc_in_column_definition,
        supports_try_convert,
        supports_bitwise_shift_operators,
        supports_comment_on,
        supports_load_extension,
        supports_named_fn_args_with_assignment_operator,
        supports_struct_literal,
        supports_empty_projections,
        supports_nested_comments,
        supports_user_host_grantee,
        supports_string_escape_constant,
        supports_array_typedef_with_brackets,
        supports_match_against,
        supports_set_names,
        supports_comma_separated_set_assignments,
        supports_filter_during_aggregation,
        supports_select_wildcard_exclude,
        supports_data_type_signed_suffix,
        supports_interval_options,
        supports_quote_delimited_string,
        supports_select_wildcard_replace,
        supports_select_wildcard_ilike,
        supports_select_wildcard_rename,
        supports_optimize_table,
        supports_install,
        supports_detach,
        supports_prewhere,
        supports_with_fill,
        supports_limit_by,
        supports_interpolate,
        supports_settings,
        supports_select_format,
        supports_constraint_keyword_without_name,
        supports_key_column_option,
        supports_comma_separated_trim,
        supports_cte_without_as,
        supports_select_item_multi_column_alias,
        supports_xml_expressions,
    }

    fn supports_numeric_literal_underscores(&self) -> bool {
        true
    }

    fn supports_order_by_all(&self) -> bool {
        true
    }

    /// `SELECT 1 ON CONFLICT …` of an INSERT has no alias.
    fn is_column_alias(&self, keyword: &Keyword, parser: &mut Parser) -> bool {
        let is_conflict = *keyword == Keyword::ON && parser.peek_keyword(Keyword::CONFLICT);
        !is_conflict && GenericDialect.is_column_alias(keyword, parser)
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        match precedence {
            Precedence::Period => binding::PERIOD,
            Precedence::DoubleColon => binding::CAST,
            Precedence::AtTz => binding::AT_TIME_ZONE,
            Precedence::MulDivModOp => binding::TIMES,
            Precedence::PlusMinus => binding::PLUS,
            Precedence::Xor
            | Precedence::Ampersand
            | Precedence::Pipe
            | Precedence::Colon
            | Precedence::Caret
            | Precedence::PgOther => binding::OTHER,
            Precedence::Between | Precedence::Like => binding::BETWEEN,
            Precedence::Eq => binding::COMPARISON,
            Precedence::Is => binding::IS,
            Precedence::UnaryNot => binding::NOT,
            Precedence::And => binding::AND,
            Precedence::Or => binding::OR,
        }
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        match parser.peek_token_ref().token {
            Token::Caret => Some(Ok(binding::POWER)),
            Token::StringConcat
            | Token::Tilde
            | Token::TildeAsterisk
            | Token::ExclamationMarkTilde
            | Token::ExclamationMarkTildeAsterisk
            | Token::DoubleTilde
            | Token::DoubleTildeAsterisk
            | Token::ExclamationMarkDoubleTilde
            | Token::ExclamationMarkDoubleTildeAsterisk => Some(Ok(binding::OTHER)),
            _ => None,
        }
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        if let Some(function) = element_function(parser) {
            return Some(function);
        }
        let op = match parser.peek_token_ref().token {
            Token::Minus => UnaryOperator::Minus,
            Token::Plus => UnaryOperator::Plus,
            _ => return None,
        };
        parser.advance_token();
        let operand = parser.parse_subexpr(binding::SIGN);
        Some(operand.map(|expr| Expr::UnaryOp { op, expr: Box::new(expr) }))
    }

    fn parse_infix(&self, parser: &mut Parser, expr: &Expr, precedence: u8) -> Option<Result<Expr, ParserError>> {
        let token = parser.peek_token_ref();
        match &token.token {
            Token::Word(word) if word.keyword == Keyword::IS => distinct_from(parser, expr),
            Token::Word(word) if word.keyword == Keyword::IN => in_list(parser, expr),
            Token::Caret => Some(power(parser, expr)),
            _ if precedence == binding::COMPARISON && is_comparison(expr) => {
                let message =
                    format!("{} after a comparison is ambiguous; put one of them in parentheses", token.token);
                Some(Err(error_at(&message, token.span.start)))
            }
            _ => None,
        }
    }
}

/// A syntax error at a position of the text.
pub(crate) fn error_at(message: &str, place: Location) -> ParserError {
    ParserError::ParserError(format!("{message}{place}"))
}

/// A syntax error at the position of an expression.
pub(crate) fn error_in(message: &str, expr: &Expr) -> ParserError {
    error_at(message, expr.span().start)
}

/// Normalizes an identifier to the name of a column.
pub(crate) fn normal(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}

fn is_comparison(expr: &Expr) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq, Spaceship};
    match expr {
        Expr::BinaryOp { op, .. } | Expr::AnyOp { compare_op: op, .. } | Expr::AllOp { compare_op: op, .. } => {
            matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | Spaceship)
        }
        _ => false,
    }
}

/// Parses `IS [NOT] DISTINCT FROM`. The generic parser would read its right side to the end of the condition.
fn distinct_from(parser: &mut Parser, left: &Expr) -> Option<Result<Expr, ParserError>> {
    let is = |number: usize, keyword: Keyword| match &parser.peek_nth_token_ref(number).token {
        Token::Word(word) => word.keyword == keyword,
        _ => false,
    };
    let negated = is(1, Keyword::NOT);
    let skipped = 1 + usize::from(negated);
    if !is(skipped, Keyword::DISTINCT) || !is(skipped + 1, Keyword::FROM) {
        return None;
    }
    for _ in 0..skipped + 2 {
        parser.advance_token();
    }
    let left = Box::new(left.clone());
    Some(parser.parse_subexpr(binding::IS).map(|right| match negated {
        true => Expr::IsNotDistinctFrom(left, Box::new(right)),
        false => Expr::IsDistinctFrom(left, Box::new(right)),
    }))
}

/// Parses `value IN list`, where the list is not in parentheses.
fn in_list(parser: &mut Parser, value: &Expr) -> Option<Result<Expr, ParserError>> {
    if *parser.peek_nth_token_ref(1) == Token::LParen
        || matches!(&parser.peek_nth_token_ref(1).token, Token::Word(word) if word.keyword == Keyword::UNNEST)
    {
        return None;
    }
    parser.advance_token();
    Some(parser.parse_subexpr(binding::BETWEEN).map(|list| call("array_has", vec![list, value.clone()])))
}

/// Parses a function of elements, `x -> x + 1` or `(x, y) -> x + y`, if the arrow is marked as one.
fn element_function(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let is_arrow =
        |number: usize| matches!(&parser.peek_nth_token_ref(number).token, Token::Placeholder(text) if text == LAMBDA);
    let in_parentheses = *parser.peek_token_ref() == Token::LParen;
    let mut names = Vec::new();
    let mut number = usize::from(in_parentheses);
    loop {
        let Token::Word(word) = &parser.peek_nth_token_ref(number).token else { return None };
        names.push(word.clone().into_ident(parser.peek_nth_token_ref(number).span));
        number += 1;
        if !in_parentheses || *parser.peek_nth_token_ref(number) != Token::Comma {
            break;
        }
        number += 1;
    }
    number += usize::from(in_parentheses);
    if !is_arrow(number) {
        return None;
    }
    for _ in 0..=number {
        parser.advance_token();
    }
    let parameter = |name| LambdaFunctionParameter { name, data_type: None };
    let parameters: Vec<LambdaFunctionParameter> = names.into_iter().map(parameter).collect();
    Some(parser.parse_expr().map(|body| {
        let params = OneOrManyWithParens::Many(parameters);
        Expr::Lambda(LambdaFunction { params, body: Box::new(body), syntax: LambdaSyntax::Arrow })
    }))
}

/// Parses `a ^ b` as a power; in the generic dialect it is bitwise XOR. The power is one of doubles, so that it cannot overflow an integer.
fn power(parser: &mut Parser, left: &Expr) -> Result<Expr, ParserError> {
    parser.advance_token();
    let right = parser.parse_subexpr(binding::POWER)?;
    let double = |expr: Expr| {
        Box::new(Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(expr),
            data_type: DataType::Double(ExactNumberInfo::None),
            array: false,
            format: None,
        })
    };
    Ok(Expr::BinaryOp { left: double(left.clone()), op: BinaryOperator::PGExp, right: double(right) })
}

#[cfg(test)]
mod tests;
