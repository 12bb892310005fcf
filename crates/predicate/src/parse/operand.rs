//! Converts parsed expressions to columns, literals and casts.

use sqlparser::ast::{
    AccessExpr, CastKind, DataType, Expr, Ident, Spanned, Subscript, TypedString, UnaryOperator, Value,
};

use super::position::at;
use crate::syntax::{ColumnName, Literal, Name, Operand, SpecialFloat, Step};
use crate::value::{Number, SqlType, moment};

pub(super) fn operand(expr: &Expr) -> Result<Operand, String> {
    Ok(match expr {
        Expr::Nested(inner) => operand(inner)?,
        Expr::Identifier(ident) => Operand::Column(ColumnName { name: name(ident)?, steps: Vec::new() }),
        Expr::CompoundIdentifier(idents) => Operand::Column(column(idents)?),
        Expr::CompoundFieldAccess { root, access_chain } => Operand::Column(nested_column(root, access_chain)?),
        Expr::Value(value) => Operand::Literal(literal(&value.value)?),
        Expr::TypedString(typed) => typed_literal(typed)?,
        Expr::Cast {
            kind: kind @ (CastKind::Cast | CastKind::TryCast | CastKind::DoubleColon),
            expr,
            data_type,
            array: false,
            format,
        } => {
            if let Some(format) = format {
                return Err(format!("CAST with FORMAT {format} is not supported"));
            }
            let to = sql_type(data_type)?;
            Operand::Cast { operand: Box::new(operand(expr)?), to, or_null: *kind == CastKind::TryCast }
        }
        Expr::UnaryOp { op: op @ (UnaryOperator::Minus | UnaryOperator::Plus), expr } => {
            return Err(format!("{op} can stand only before a number{}", at(expr.span().start)));
        }
        other => return Err(unsupported(other)),
    })
}

fn unsupported(expr: &Expr) -> String {
    let kind = match expr {
        Expr::BinaryOp { op, .. } => format!("the operator {op}"),
        Expr::Subquery(_) | Expr::InSubquery { .. } | Expr::Exists { .. } => "a subquery".to_owned(),
        other => {
            let text: String = other.to_string().chars().take(60).collect();
            text
        }
    };
    format!("{kind} is not supported here{}; write a column or a literal", at(expr.span().start))
}

fn column(idents: &[Ident]) -> Result<ColumnName, String> {
    let (first, rest) = idents.split_first().ok_or("a column needs a name")?;
    let steps = rest.iter().map(|ident| name(ident).map(Step::Field)).collect::<Result<_, _>>()?;
    Ok(ColumnName { name: name(first)?, steps })
}

fn name(ident: &Ident) -> Result<Name, String> {
    if ident.quote_style == Some('\'') {
        let (text, at) = (&ident.value, at(ident.span.start));
        return Err(format!("'{text}' is a string, which is not supported as the name of a field{at}"));
    }
    Ok(Name { text: ident.value.clone(), quoted: ident.quote_style.is_some() })
}

/// A column with fields and keys after it.
fn nested_column(root: &Expr, chain: &[AccessExpr]) -> Result<ColumnName, String> {
    let Operand::Column(mut column) = operand(root)? else {
        return Err(format!("only a column can have fields or keys{}", at(root.span().start)));
    };
    for access in chain {
        let unsupported = || format!("{column}{access} is not supported; write {column}.field or {column}['key']");
        let step = match access {
            AccessExpr::Dot(Expr::Identifier(ident)) => Step::Field(name(ident)?),
            AccessExpr::Subscript(Subscript::Index { index }) => match operand(index)? {
                Operand::Literal(key) => Step::Key(key),
                _ => return Err(unsupported()),
            },
            _ => return Err(unsupported()),
        };
        column.steps.push(step);
    }
    Ok(column)
}

fn literal(value: &Value) -> Result<Literal, String> {
    Ok(match value {
        Value::Null => Literal::Null,
        Value::Boolean(truth) => Literal::Boolean(*truth),
        Value::Number(text, false) => Literal::Number(match text.strip_prefix('-') {
            Some(text) => number(text)?.negated(),
            None => number(text)?,
        }),
        Value::SingleQuotedString(text) => Literal::String(text.clone()),
        Value::HexStringLiteral(hex) => Literal::Bytes(
            moment::parse_hex(hex)
                .ok_or_else(|| format!("X'{hex}' needs pairs of hexadecimal digits between its quotes"))?,
        ),
        other => return Err(format!("the literal {other} is not supported; write strings in single quotes")),
    })
}

fn number(text: &str) -> Result<Number, String> {
    Number::parse(text).ok_or_else(|| format!("{text} is not a number that can be read"))
}

/// A typed literal: a type and a string.
fn typed_literal(typed: &TypedString) -> Result<Operand, String> {
    let Value::SingleQuotedString(text) = &typed.value.value else {
        return Err(format!("{} needs a string in single quotes after it", typed.data_type));
    };
    let to = sql_type(&typed.data_type).map_err(|_| {
        let (data_type, at) = (&typed.data_type, at(typed.value.span.start));
        format!("{data_type} '{text}' is not supported{at}; there are DATE, TIME, TIMESTAMP, UUID, DOUBLE and X'…'")
    })?;
    Ok(Operand::Literal(match to {
        SqlType::Date => Literal::Date(
            moment::parse_date(text)
                .ok_or_else(|| format!("DATE '{text}' is not a date; write for example DATE '2025-01-31'"))?,
        ),
        SqlType::Time => Literal::Time(
            moment::parse_time(text)
                .ok_or_else(|| format!("TIME '{text}' is not a time; write for example TIME '08:30:00.25'"))?,
        ),
        SqlType::Timestamp { .. } => Literal::Timestamp(moment::parse_timestamp(text).ok_or_else(|| {
            format!("TIMESTAMP '{text}' is not a timestamp; write for example TIMESTAMP '2025-01-31 08:30:00'")
        })?),
        SqlType::Uuid => Literal::Uuid(moment::parse_uuid(text).ok_or_else(|| {
            format!("UUID '{text}' is not a UUID; write 32 hexadecimal digits in groups of 8-4-4-4-12")
        })?),
        SqlType::Text => Literal::String(text.clone()),
        to => match SpecialFloat::parse(text).filter(|_| matches!(to, SqlType::Float { .. })) {
            Some(special) => Literal::Float(special),
            None => {
                let operand = Box::new(Operand::Literal(Literal::String(text.clone())));
                return Ok(Operand::Cast { operand, to, or_null: false });
            }
        },
    }))
}

/// Converts a parsed type, by its name, arguments and time zone.
fn sql_type(data_type: &DataType) -> Result<SqlType, String> {
    let text = data_type.to_string();
    let unknown = || format!("the type {text} is not supported");
    let (name, arguments, tail) = match text.split_once('(') {
        Some((name, rest)) => {
            let (arguments, tail) = rest.split_once(')').ok_or_else(unknown)?;
            let arguments: Result<Vec<u32>, _> = arguments.split(',').map(|number| number.trim().parse()).collect();
            (name, arguments.map_err(|_| unknown())?, tail)
        }
        None => {
            let (name, tail) = text.split_at(text.find(' ').unwrap_or(text.len()));
            (name, Vec::new(), tail)
        }
    };
    let zoned = match (name, tail) {
        (_, "") => None,
        ("TIMESTAMP" | "TIME", " WITH TIME ZONE") => Some(true),
        ("TIMESTAMP" | "TIME", " WITHOUT TIME ZONE") => Some(false),
        ("DOUBLE", " PRECISION") => None,
        _ => return Err(unknown()),
    };
    SqlType::named(name, &arguments, zoned)
}
