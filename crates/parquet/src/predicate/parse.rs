//! From SQL text to a [`Condition`].

use sqlparser::ast::{
    AccessExpr, BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    Subscript, UnaryOperator, Value,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::moment;
use super::number::Number;
use super::syntax::{ColumnName, Comparison, Condition, Literal, Name, Operand, Step};

/// Why an expression is not understood.
pub(super) type Result<T, E = String> = std::result::Result<T, E>;

/// Reads what SQL allows after WHERE.
pub(super) fn parse(text: &str) -> Result<Condition> {
    let dialect = GenericDialect {};
    let mut parser = Parser::new(&dialect)
        .try_with_sql(text)
        .map_err(|error| format!("cannot read the expression: {}", plain(&error.to_string())))?;
    let expr =
        parser.parse_expr().map_err(|error| format!("cannot read the expression: {}", plain(&error.to_string())))?;
    let rest = parser.peek_token();
    if rest.token != Token::EOF {
        return Err(format!(
            "cannot read the expression from {:?} on (column {}); join conditions with AND or OR",
            rest.token.to_string(),
            rest.span.start.column
        ));
    }
    condition(&expr)
}

/// The parser's message without its name.
fn plain(message: &str) -> String {
    message.trim_start_matches("sql parser error: ").replace(", found: EOF", ", but the expression ends")
}

fn condition(expr: &Expr) -> Result<Condition> {
    Ok(match expr {
        Expr::Nested(inner) => condition(inner)?,
        Expr::BinaryOp { op: BinaryOperator::And, .. } => {
            Condition::And(chain(expr, &BinaryOperator::And).into_iter().map(condition).collect::<Result<_>>()?)
        }
        Expr::BinaryOp { op: BinaryOperator::Or, .. } => {
            Condition::Or(chain(expr, &BinaryOperator::Or).into_iter().map(condition).collect::<Result<_>>()?)
        }
        Expr::BinaryOp { left, op, right } => {
            Condition::Compare { left: operand(left)?, op: comparison(op)?, right: operand(right)? }
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => Condition::Not(Box::new(condition(expr)?)),
        Expr::IsNull(inner) => is_null(inner)?,
        Expr::IsNotNull(inner) => negated(true, is_null(inner)?),
        Expr::IsTrue(inner) => is(inner, Some(true))?,
        Expr::IsNotTrue(inner) => negated(true, is(inner, Some(true))?),
        Expr::IsFalse(inner) => is(inner, Some(false))?,
        Expr::IsNotFalse(inner) => negated(true, is(inner, Some(false))?),
        Expr::IsUnknown(inner) => is(inner, None)?,
        Expr::IsNotUnknown(inner) => negated(true, is(inner, None)?),
        Expr::IsDistinctFrom(left, right) => negated(true, Condition::Same(operand(left)?, operand(right)?)),
        Expr::IsNotDistinctFrom(left, right) => Condition::Same(operand(left)?, operand(right)?),
        Expr::Between { expr, negated: not, low, high } => {
            negated(*not, between(operand(expr)?, operand(low)?, operand(high)?))
        }
        Expr::InList { expr, list, negated: not } => negated(*not, in_list(operand(expr)?, list)?),
        Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => match (operand(left)?, operand(right)?) {
            (Operand::Literal(element), list) => Condition::Contains { operand: list, element },
            _ => return Err("= ANY needs a literal on its left and a list on its right".to_owned()),
        },
        Expr::Function(function) => contains(function)?,
        Expr::Like { negated: not, any: false, expr, pattern, escape_char } => {
            negated(*not, like(expr, pattern, escape_char.as_deref(), false)?)
        }
        Expr::ILike { negated: not, any: false, expr, pattern, escape_char } => {
            negated(*not, like(expr, pattern, escape_char.as_deref(), true)?)
        }
        other => Condition::Truth(operand(other)?),
    })
}

/// The conditions that one operator joins. Long chains lean to the left, so they are followed without recursion.
fn chain<'a>(mut expr: &'a Expr, operator: &BinaryOperator) -> Vec<&'a Expr> {
    let mut links = Vec::new();
    loop {
        match expr {
            Expr::BinaryOp { left, op, right } if op == operator => {
                links.push(right.as_ref());
                expr = left;
            }
            _ => break,
        }
    }
    links.push(expr);
    links.reverse();
    links
}

fn negated(not: bool, condition: Condition) -> Condition {
    if not { Condition::Not(Box::new(condition)) } else { condition }
}

/// The null of a condition is its third truth value.
fn is_null(inner: &Expr) -> Result<Condition> {
    operand(inner).map(Condition::IsNull).or_else(|_| is(inner, None))
}

fn is(inner: &Expr, truth: Option<bool>) -> Result<Condition> {
    Ok(Condition::Is(Box::new(condition(inner)?), truth))
}

fn between(value: Operand, low: Operand, high: Operand) -> Condition {
    match (value, low, high) {
        (operand, Operand::Literal(low), Operand::Literal(high)) if !matches!(operand, Operand::Literal(_)) => {
            Condition::Between { operand, low, high }
        }
        (value, low, high) => Condition::And(vec![
            Condition::Compare { left: value.clone(), op: Comparison::GreaterOrEqual, right: low },
            Condition::Compare { left: value, op: Comparison::LessOrEqual, right: high },
        ]),
    }
}

/// A list of literals stays one; a list with columns in it is as many comparisons.
fn in_list(value: Operand, items: &[Expr]) -> Result<Condition> {
    let items: Vec<Operand> = items.iter().map(operand).collect::<Result<_>>()?;
    let is_literal = |operand: &Operand| matches!(operand, Operand::Literal(_));
    if is_literal(&value) || !items.iter().all(is_literal) {
        let equal = |right| Condition::Compare { left: value.clone(), op: Comparison::Equal, right };
        return Ok(Condition::Or(items.into_iter().map(equal).collect()));
    }
    let literal = |operand| if let Operand::Literal(literal) = operand { Some(literal) } else { None };
    Ok(Condition::In { operand: value, list: items.into_iter().filter_map(literal).collect() })
}

/// `list_contains(list, element)`, by any of its names.
fn contains(function: &Function) -> Result<Condition> {
    let name = function.name.to_string().to_lowercase();
    let unsupported = || format!("functions such as {} are not supported", function.name);
    if !matches!(name.as_str(), "list_contains" | "array_contains" | "list_has" | "array_has") {
        return Err(unsupported());
    }
    let FunctionArguments::List(arguments) = &function.args else { return Err(unsupported()) };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(list)), FunctionArg::Unnamed(FunctionArgExpr::Expr(element))] =
        arguments.args.as_slice()
    else {
        return Err(format!("{name} takes a list and an element"));
    };
    match operand(element)? {
        Operand::Literal(element) => Ok(Condition::Contains { operand: operand(list)?, element }),
        _ => Err(format!("{name} needs a literal as its element, not {element}")),
    }
}

fn comparison(op: &BinaryOperator) -> Result<Comparison> {
    Ok(match op {
        BinaryOperator::Eq => Comparison::Equal,
        BinaryOperator::NotEq => Comparison::NotEqual,
        BinaryOperator::Lt => Comparison::Less,
        BinaryOperator::LtEq => Comparison::LessOrEqual,
        BinaryOperator::Gt => Comparison::Greater,
        BinaryOperator::GtEq => Comparison::GreaterOrEqual,
        other => {
            return Err(format!("the operator {other} is not supported; compare columns with literals or columns"));
        }
    })
}

fn like(expr: &Expr, pattern: &Expr, escape: Option<&Expr>, ignore_case: bool) -> Result<Condition> {
    let Operand::Literal(Literal::String(pattern)) = operand(pattern)? else {
        return Err(format!("LIKE needs a pattern in quotes, not {pattern}"));
    };
    let escape = match escape.map(operand).transpose()? {
        None => None,
        Some(Operand::Literal(Literal::String(text))) if text.chars().count() == 1 => text.chars().next(),
        Some(_) => return Err("ESCAPE needs one character in quotes".to_owned()),
    };
    Ok(Condition::Like { operand: operand(expr)?, pattern: escape_pattern(&pattern, escape)?, ignore_case })
}

/// The pattern with `\` as its escape character, which the standard leaves to `ESCAPE` alone.
fn escape_pattern(pattern: &str, escape: Option<char>) -> Result<String> {
    let mut escaped = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if Some(c) == escape {
            let literal = chars.next().ok_or("the pattern of LIKE ends with its escape character")?;
            if matches!(literal, '%' | '_' | '\\') {
                escaped.push('\\');
            }
            escaped.push(literal);
        } else {
            if c == '\\' {
                escaped.push('\\');
            }
            escaped.push(c);
        }
    }
    Ok(escaped)
}

fn operand(expr: &Expr) -> Result<Operand> {
    Ok(match expr {
        Expr::Nested(inner) => operand(inner)?,
        Expr::Identifier(ident) => Operand::Column(column(std::slice::from_ref(ident))?),
        Expr::CompoundIdentifier(idents) => Operand::Column(column(idents)?),
        Expr::CompoundFieldAccess { root, access_chain } => Operand::Column(within(root, access_chain)?),
        Expr::Value(value) => Operand::Literal(literal(&value.value)?),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match operand(expr)? {
            Operand::Literal(Literal::Number(number)) => Operand::Literal(Literal::Number(number.negated())),
            _ => return Err(format!("- can stand only before a number, not before {expr}")),
        },
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => operand(expr)?,
        Expr::TypedString(typed) => {
            let text = match &typed.value.value {
                Value::SingleQuotedString(text) => text,
                other => return Err(format!("{} needs a string in single quotes, not {other}", typed.data_type)),
            };
            Operand::Literal(typed_literal(&typed.data_type, text)?)
        }
        Expr::Function(function) => {
            return Err(format!("functions such as {} are not supported", function.name));
        }
        other => return Err(format!("{other} is not supported here; write a column or a literal")),
    })
}

fn column(idents: &[Ident]) -> Result<ColumnName> {
    let (first, rest) = idents.split_first().ok_or("a column needs a name")?;
    Ok(ColumnName { name: name(first), steps: rest.iter().map(|ident| Step::Field(name(ident))).collect() })
}

fn name(ident: &Ident) -> Name {
    Name { text: ident.value.clone(), quoted: ident.quote_style.is_some() }
}

/// A column with fields and keys after it.
fn within(root: &Expr, chain: &[AccessExpr]) -> Result<ColumnName> {
    let Operand::Column(mut column) = operand(root)? else {
        return Err(format!("{root} is not a column and has nothing within it"));
    };
    for access in chain {
        let unsupported = || format!("{root}{access} is not supported; write column.field or column['key']");
        column.steps.push(match access {
            AccessExpr::Dot(Expr::Identifier(ident)) => Step::Field(name(ident)),
            AccessExpr::Subscript(Subscript::Index { index }) => match operand(index)? {
                Operand::Literal(key) => Step::Key(key),
                _ => return Err(unsupported()),
            },
            _ => return Err(unsupported()),
        });
    }
    Ok(column)
}

fn literal(value: &Value) -> Result<Literal> {
    Ok(match value {
        Value::Null => Literal::Null,
        Value::Boolean(truth) => Literal::Boolean(*truth),
        Value::Number(text, _) => {
            Literal::Number(Number::parse(text).ok_or_else(|| format!("{text} is not a number that can be read"))?)
        }
        Value::SingleQuotedString(text) => Literal::String(text.clone()),
        Value::HexStringLiteral(hex) => Literal::Bytes(
            moment::parse_hex(hex)
                .ok_or_else(|| format!("X'{hex}' needs pairs of hexadecimal digits between its quotes"))?,
        ),
        other => return Err(format!("the literal {other} is not supported; strings stand in single quotes")),
    })
}

fn typed_literal(data_type: &DataType, text: &str) -> Result<Literal> {
    match data_type {
        DataType::Date => moment::parse_date(text)
            .map(Literal::Date)
            .ok_or_else(|| format!("DATE '{text}' is not a date; write for example DATE '2025-01-31'")),
        DataType::Time(..) => moment::parse_time(text)
            .map(Literal::Time)
            .ok_or_else(|| format!("TIME '{text}' is not a time; write for example TIME '08:30:00.25'")),
        DataType::Timestamp(..) | DataType::Datetime(_) => {
            moment::parse_timestamp(text).map(Literal::Timestamp).ok_or_else(|| {
                format!("TIMESTAMP '{text}' is not a timestamp; write for example TIMESTAMP '2025-01-31 08:30:00'")
            })
        }
        DataType::Uuid => moment::parse_uuid(text)
            .map(Literal::Uuid)
            .ok_or_else(|| format!("UUID '{text}' is not a UUID; write 32 hexadecimal digits in groups of 8-4-4-4-12")),
        other => Err(format!("{other} '{text}' is not supported; there are DATE, TIME, TIMESTAMP, UUID and X'…'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(text: &str) -> Operand {
        Operand::Column(ColumnName { name: Name { text: text.to_owned(), quoted: false }, steps: Vec::new() })
    }

    #[test]
    fn and_binds_closer_than_or() {
        let expected = Condition::Or(vec![
            Condition::Truth(column("a")),
            Condition::And(vec![Condition::Truth(column("b")), Condition::Truth(column("c"))]),
        ]);
        assert_eq!(parse("a OR b AND c"), Ok(expected));
    }

    #[test]
    fn words_of_sql_can_be_columns() {
        for text in ["date > DATE '2025-01-01'", "timestamp IS NULL", "value = 1", "time < TIME '08:00'", "key = 'x'"] {
            assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
        }
    }

    #[test]
    fn long_chains_and_lists_are_read() {
        let chain = vec!["a = 1"; 5000].join(" OR ");
        assert!(matches!(parse(&chain), Ok(Condition::Or(links)) if links.len() == 5000));
        let list = format!("a IN ({})", vec!["1"; 5000].join(","));
        assert!(matches!(parse(&list), Ok(Condition::In { list, .. }) if list.len() == 5000));
    }

    #[test]
    fn what_cannot_be_read_is_explained() {
        for (text, part) in [
            ("", "the expression ends"),
            ("a = ", "the expression ends"),
            ("a = 1 b = 2", "join conditions with AND or OR"),
            ("a + 1 = 2", "is not supported"),
            ("upper(a) = 'X'", "functions such as upper"),
            ("a LIKE b", "LIKE needs a pattern in quotes"),
            ("a = DATE '2025-02-30'", "is not a date"),
            ("a = X'ABC'", "pairs of hexadecimal digits"),
            ("a IN (SELECT 1)", "not supported"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn nesting_without_end_is_refused() {
        let deep = format!("{}a = 1{}", "(".repeat(100_000), ")".repeat(100_000));
        assert!(parse(&deep).is_err());
        assert!(parse(&format!("{}a", "NOT ".repeat(100_000))).is_err());
    }

    #[test]
    fn the_escape_character_of_like_is_the_one_that_was_chosen() {
        assert_eq!(escape_pattern("50!%%", Some('!')), Ok("50\\%%".to_owned()));
        assert_eq!(escape_pattern("a\\b_", None), Ok("a\\\\b_".to_owned()));
        assert_eq!(escape_pattern("a\\_b", Some('\\')), Ok("a\\_b".to_owned()));
        assert!(escape_pattern("a!", Some('!')).is_err());
    }
}
