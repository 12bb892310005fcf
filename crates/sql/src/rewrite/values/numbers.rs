//! Number literals. The session parses numbers with a point as decimals (`parse_float_as_decimal`). This module adds that numbers with an
//! exponent, which the standard calls approximate, are doubles, that trailing zeros cost no digits, and that too many digits for a decimal
//! are an error.

use datafusion::sql::sqlparser::ast::{CastKind, DataType, ExactNumberInfo, Expr, Value, ValueWithSpan, Values};
use datafusion::sql::sqlparser::parser::ParserError;

use crate::dialect::error_at;

/// Maximum digits of 128-bit decimals, which are faster.
const NARROW_DIGITS: usize = 38;
/// Maximum digits of any decimal.
const MAX_DIGITS: usize = 76;

pub(crate) fn rewrite(expr: &mut Expr) -> Result<(), ParserError> {
    let Expr::Value(ValueWithSpan { value: Value::Number(text, _), span }) = expr else { return Ok(()) };
    let digits: String = text.chars().filter(|&c| c != '_').collect();
    if is_double(&digits) {
        *expr = as_double(Expr::Value(Value::SingleQuotedString(digits).with_span(*span)));
        return Ok(());
    }
    let count = |digits: &str| digits.trim_start_matches('0').chars().filter(char::is_ascii_digit).count();
    if count(&digits) <= NARROW_DIGITS {
        return Ok(());
    }
    let trimmed = if digits.contains('.') { digits.trim_end_matches('0') } else { &digits };
    if count(trimmed) > MAX_DIGITS {
        let message = format!(
            "a decimal number has at most {MAX_DIGITS} digits; write it with an exponent, as in 1.5e0, for a double"
        );
        return Err(error_at(&message, span.start));
    }
    *text = trimmed.to_owned();
    Ok(())
}

fn is_double(number: &str) -> bool {
    number.contains(['e', 'E'])
}

fn as_double(expr: Expr) -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(expr),
        data_type: DataType::Double(ExactNumberInfo::None),
        array: false,
        format: None,
    }
}

/// Makes all numbers of a column of VALUES doubles if one is: otherwise the column's decimal type could not hold them.
pub(crate) fn unify_values(values: &mut Values) {
    let number = |expr: &Expr| -> Option<bool> {
        match expr {
            Expr::Value(ValueWithSpan { value: Value::Number(text, _), .. }) => Some(is_double(text)),
            Expr::UnaryOp { expr: inner, .. } => match inner.as_ref() {
                Expr::Value(ValueWithSpan { value: Value::Number(text, _), .. }) => Some(is_double(text)),
                _ => None,
            },
            _ => None,
        }
    };
    let width = values.rows.first().map_or(0, |row| row.content.len());
    for column in 0..width {
        let cells = || values.rows.iter().filter_map(|row| row.content.get(column)).filter_map(number);
        if !cells().any(|is_double| is_double) || cells().all(|is_double| is_double) {
            continue;
        }
        for cell in values.rows.iter_mut().filter_map(|row| row.content.get_mut(column)) {
            if number(cell) == Some(false) {
                *cell = as_double(cell.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> Result<String, ParserError> {
        let mut number = Expr::value(Value::Number(text.to_owned(), false));
        rewrite(&mut number).map(|()| number.to_string())
    }

    #[test]
    fn numbers_with_an_exponent_are_doubles() {
        assert_eq!(rewritten("1_0.5E3").unwrap(), "CAST('10.5E3' AS DOUBLE)");
        assert_eq!(rewritten("10.50").unwrap(), "10.50");
    }

    #[test]
    fn zeros_at_the_end_of_long_fractions_are_cut() {
        let zeros = "0".repeat(80);
        assert_eq!(rewritten(&format!("1.5{zeros}")).unwrap(), "1.5");
        assert!(rewritten(&format!("1.5{}1", "3".repeat(80))).is_err());
        assert!(rewritten(&"9".repeat(77)).is_err());
    }
}
