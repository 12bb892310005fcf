//! `a || b` of lists, which is null if one of them is. DataFusion 55 takes a null for an empty list.

use arrow_schema::DataType;
use datafusion::common::{DFSchema, Result};
use datafusion::functions_nested::expr_fn::array_concat;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, cast, lit, when};
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::BinaryOperator;

#[derive(Debug)]
pub(crate) struct ListConcatenation;

impl ExprPlanner for ListConcatenation {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let RawBinaryExpr { op: BinaryOperator::StringConcat, left, right } = &expr else {
            return Ok(PlannerResult::Original(expr));
        };
        let (Ok(left_type), Ok(right_type)) = (left.get_type(schema), right.get_type(schema)) else {
            return Ok(PlannerResult::Original(expr));
        };
        let name = || format!("{} || {}", left.schema_name(), right.schema_name());
        let null = |data_type: DataType| cast(lit(ScalarValue::Null), data_type).alias(name());
        let concatenation = match (is_list(&left_type), is_list(&right_type)) {
            (true, false) if right_type == DataType::Null => null(left_type),
            (false, true) if left_type == DataType::Null => null(right_type),
            (true, true) => {
                let lists = array_concat(vec![left.clone(), right.clone()]);
                let name = lists.schema_name().to_string();
                let nullable = [left, right].into_iter().filter(|list| list.nullable(schema).unwrap_or(true));
                match nullable.map(|list| list.clone().is_null()).reduce(Expr::or) {
                    Some(is_null) => when(is_null, lit(ScalarValue::Null)).otherwise(lists)?.alias(name),
                    None => lists,
                }
            }
            _ => return Ok(PlannerResult::Original(expr)),
        };
        Ok(PlannerResult::Planned(concatenation))
    }
}

fn is_list(data_type: &DataType) -> bool {
    matches!(data_type, DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..))
}
