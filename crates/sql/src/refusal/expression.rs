//! Expressions.

use datafusion::sql::sqlparser::ast::{
    CaseWhen, CeilFloorKind, DateTimeField, Expr, Interval, Spanned, StructField, TypedString,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::{CheckResult, Clauses};

impl Clauses<'_> {
    pub(super) fn expression(&self, expr: &Expr) -> CheckResult {
        let after = expr.span();
        match expr {
            Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_)
            | Expr::IsDistinctFrom(_, _)
            | Expr::IsNotDistinctFrom(_, _)
            | Expr::CompoundFieldAccess { root: _, access_chain: _ }
            | Expr::InList { expr: _, list: _, negated: _ }
            | Expr::InSubquery { expr: _, subquery: _, negated: _ }
            | Expr::Between { expr: _, negated: _, low: _, high: _ }
            | Expr::SimilarTo { negated: _, expr: _, pattern: _, escape_char: _ }
            | Expr::BinaryOp { left: _, op: _, right: _ }
            | Expr::UnaryOp { op: _, expr: _ }
            | Expr::AnyOp { left: _, compare_op: _, right: _, is_some: _ }
            | Expr::AllOp { left: _, compare_op: _, right: _ }
            | Expr::AtTimeZone { timestamp: _, time_zone: _ }
            | Expr::Extract { field: _, syntax: _, expr: _ }
            | Expr::Position { expr: _, r#in: _ }
            | Expr::Substring { expr: _, substring_from: _, substring_for: _, special: _, shorthand: _ }
            | Expr::Overlay { expr: _, overlay_what: _, overlay_from: _, overlay_for: _ }
            | Expr::Nested(_)
            | Expr::Value(_)
            | Expr::TypedString(TypedString { data_type: _, value: _, uses_odbc_syntax: _ })
            | Expr::Exists { subquery: _, negated: _ }
            | Expr::Subquery(_)
            | Expr::GroupingSets(_)
            | Expr::Cube(_)
            | Expr::Rollup(_)
            | Expr::Tuple(_)
            | Expr::Named { expr: _, name: _ }
            | Expr::Dictionary(_)
            | Expr::Map(_)
            | Expr::Array(_)
            | Expr::Wildcard(_)
            | Expr::QualifiedWildcard(_, _)
            | Expr::Lambda(_) => Ok(()),
            Expr::Case { case_token: _, end_token: _, operand: _, conditions, else_result: _ } => {
                conditions.iter().for_each(|CaseWhen { condition: _, result: _ }| {});
                Ok(())
            }
            Expr::Function(function) => self.function(function),
            Expr::JsonAccess { value, path: _ } => {
                self.refuse(":", value.span(), "write value['field'] for the field of a struct")
            }
            Expr::IsNormalized { expr, form: _, negated: _ } => {
                self.refuse("NORMALIZED", expr.span(), "texts are not normalised; leave it out")
            }
            Expr::InUnnest { expr, array_expr: _, negated: _ } => {
                self.refuse("UNNEST", expr.span(), "write array_has(list, value)")
            }
            Expr::Like { negated: _, any, expr, pattern: _, escape_char: _ }
            | Expr::ILike { negated: _, any, expr, pattern: _, escape_char: _ } => {
                self.refuse_if(*any, "ANY", expr.span(), "write a LIKE for each pattern, with OR between them")
            }
            Expr::RLike { negated: _, expr, pattern: _, regexp } => {
                let word = if *regexp { "REGEXP" } else { "RLIKE" };
                self.refuse(word, expr.span(), "write regexp_like(text, pattern), or text ~ pattern")
            }
            Expr::Convert { is_try: _, expr, data_type: _, charset: _, target_before_value: _, styles: _ } => {
                self.refuse_before("CONVERT", expr.span(), "write CAST(value AS type)")
            }
            Expr::Cast { kind: _, expr, data_type: _, array, format } => {
                self.refuse_if(*array, "ARRAY", expr.span(), "write the type of a list as BIGINT[]")?;
                let advice = "write to_timestamp(text, format), to_date(text, format) or to_char(timestamp, format)";
                self.refuse_if(format.is_some(), "FORMAT", expr.span(), advice)
            }
            Expr::Ceil { expr, field } => self.rounding("CEIL", field, expr.span()),
            Expr::Floor { expr, field } => self.rounding("FLOOR", field, expr.span()),
            Expr::Trim { trim_where: _, trim_what: _, expr, trim_characters } => {
                let is_cut = trim_characters.as_ref().is_some_and(|characters| characters.len() > 1);
                self.refuse_if(is_cut, "TRIM", expr.span(), "write all characters to trim as one text")
            }
            Expr::Collate { expr, collation: _ } => {
                self.refuse("COLLATE", expr.span(), "texts are compared byte by byte; compare lower(text)")
            }
            Expr::Prefixed { prefix, value: _ } => {
                self.refuse(&prefix.value, prefix.span, "texts are UTF-8; leave out the prefix before the quotes")
            }
            Expr::Struct { values: _, fields } => {
                for StructField { field_name, field_type: _, options } in fields {
                    let place = field_name.as_ref().map_or(after, |name| name.span);
                    self.refuse_if(options.is_some(), "OPTIONS", place, "leave them out")?;
                }
                Ok(())
            }
            Expr::Interval(interval) => self.interval(interval, after),
            Expr::MatchAgainst { columns: _, match_value, opt_search_modifier: _ } => {
                self.refuse_before("MATCH", match_value.span, "write LIKE, or regexp_like(text, pattern)")
            }
            Expr::OuterJoin(expr) => self.refuse("(+)", expr.span(), "write LEFT JOIN … ON"),
            Expr::Prior(expr) => self.refuse_before("PRIOR", expr.span(), "write WITH RECURSIVE"),
            Expr::MemberOf(member) => self.refuse("MEMBER OF", member.value.span(), "write array_has(list, value)"),
        }
    }

    fn rounding(&self, word: &str, field: &CeilFloorKind, after: Span) -> CheckResult {
        match field {
            CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => Ok(()),
            CeilFloorKind::DateTimeField(_) => self.refuse_before(word, after, "write date_trunc('day', moment)"),
            CeilFloorKind::Scale(_) => {
                self.refuse_before(word, after, "multiply and divide, or write round(number, digits)")
            }
        }
    }

    fn interval(&self, interval: &Interval, after: Span) -> CheckResult {
        let Interval { value: _, leading_field: _, leading_precision, last_field, fractional_seconds_precision } =
            interval;
        let plain = "write the parts in the text, as in INTERVAL '1 year 2 months'";
        self.refuse_if(last_field.is_some(), "TO", after, plain)?;
        let has_precision = leading_precision.is_some() || fractional_seconds_precision.is_some();
        self.refuse_if(has_precision, "INTERVAL", after, "leave out the number of digits")
    }
}
