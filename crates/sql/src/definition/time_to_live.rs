//! `ALTER TABLE … SET TTL`, `DROP TTL` and `CREATE TABLE … WITH (ttl = …)`.

use std::time::Duration;

use datafusion::arrow::compute::kernels::cast_utils::parse_interval_month_day_nano;
use datafusion::arrow::datatypes::IntervalMonthDayNano;
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Ident, Interval, SqlOption, Value};
use datafusion::sql::sqlparser::parser::Parser;
use lath_table::TimeToLive;

use super::call::duration;
use crate::dialect::{LathDialect, normal};

/// The longest life of rows: 1,000 years of 365.25 days.
const MAX_LENGTH: Duration = Duration::from_secs(31_557_600_000);

/// The expected form, for messages.
const FORM: &str = "a column, or a column + INTERVAL '30 days'";

/// `SET (ttl = …)`, as which `SET TTL` is parsed.
pub(super) fn set_ttl(options: &[SqlOption]) -> Result<TimeToLive> {
    let [SqlOption::KeyValue { key, value }] = options else { return plan_err!("SET takes TTL and {FORM}") };
    if !is_ttl(key) {
        return plan_err!("SET ({key} = …) is not supported; ALTER TABLE has SET TTL and {FORM}");
    }
    time_to_live(value)
}

/// Whether a word is TTL, without quotes.
pub(super) fn is_ttl(word: &Ident) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case("ttl")
}

/// The rule that an expression, or the text of one, describes.
pub(super) fn time_to_live(expr: &Expr) -> Result<TimeToLive> {
    match expr {
        Expr::Identifier(column) => Ok(TimeToLive::new(normal(column), Duration::ZERO)),
        Expr::Nested(inner) => time_to_live(inner),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => {
                let parsed = Parser::new(&LathDialect).try_with_sql(text).and_then(|mut parser| {
                    let expr = parser.parse_expr()?;
                    parser.expect_token(&datafusion::sql::sqlparser::tokenizer::Token::EOF)?;
                    Ok(expr)
                });
                match parsed.map_err(|error| plan_datafusion_err!("TTL {text:?}: {error}; expected {FORM}"))? {
                    Expr::Value(_) => plan_err!("TTL {text:?}: expected {FORM}"),
                    expr => time_to_live(&expr),
                }
            }
            other => plan_err!("TTL {other}: expected {FORM}"),
        },
        Expr::BinaryOp { left, op: BinaryOperator::Plus, right } => {
            let (rule, interval) = match (left.as_ref(), right.as_ref()) {
                (column, Expr::Interval(interval)) | (Expr::Interval(interval), column) => {
                    (time_to_live(column)?, interval)
                }
                _ => return plan_err!("TTL {expr}: expected {FORM}"),
            };
            let lifetime = rule.lifetime.checked_add(length(interval)?);
            let lifetime = lifetime.ok_or_else(|| plan_datafusion_err!("TTL {expr}: the time is too long"))?;
            Ok(TimeToLive::new(rule.column, lifetime))
        }
        other => plan_err!("TTL {other}: expected {FORM}"),
    }
}

/// The length of a constant interval.
fn length(interval: &Interval) -> Result<Duration> {
    let text = match interval.value.as_ref() {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            Value::Number(number, _) => number.clone(),
            other => return plan_err!("TTL: INTERVAL {other} is no constant"),
        },
        other => return plan_err!("TTL: INTERVAL {other} is no constant"),
    };
    if interval.last_field.is_some() || interval.leading_precision.is_some() {
        return plan_err!("TTL: {interval} is not supported; write INTERVAL '1 day 2 hours'");
    }
    let text = match &interval.leading_field {
        Some(unit) => format!("{text} {unit}"),
        None => text,
    };
    let interval = parse_interval_month_day_nano(&text);
    if interval.as_ref().is_ok_and(|interval| *interval == IntervalMonthDayNano::ZERO) {
        return plan_err!("TTL: INTERVAL {text:?} is zero; write the column alone, as in SET TTL expires_at");
    }
    let digits = |part: &str| part.chars().filter(char::is_ascii_digit).count();
    let is_long = text.split_whitespace().map(digits).max().unwrap_or(0) > 9;
    if (interval.is_err() && is_long) || duration(&text).is_ok_and(|length| length > MAX_LENGTH) {
        return plan_err!(
            "TTL: INTERVAL {text:?} is too long: rows live for at most 1,000 years; choose a shorter time, or DROP TTL"
        );
    }
    let with_days = |_| {
        plan_datafusion_err!(
            "TTL: {text:?} is no length of time from zero on in weeks, days, hours, minutes or seconds; a month and a year have no fixed length: \
             write 30 days or 365 days"
        )
    };
    duration(&text).map_err(with_days)
}
