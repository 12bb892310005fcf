//! RANGE frames over types without distances: `OVER (ORDER BY binary_column)`.
//!
//! DataFusion 55 looks up the type of distances of every RANGE frame, even without any, and fails with an internal error for byte strings,
//! durations, structs and maps. A frame from one end to the peers of a row or to the other end equals a GROUPS frame.

use arrow_schema::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, WindowFrame, WindowFrameBound, WindowFrameUnits};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

use crate::rewrite::expressions::rewrite_expressions;

/// Replaces RANGE frames without distances by GROUPS frames. The rule runs before DataFusion's coercion, which refuses them.
#[derive(Debug)]
pub(crate) struct PeerFrames;

impl AnalyzerRule for PeerFrames {
    fn name(&self) -> &str {
        "lath_peer_frames"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Window(_) => rewrite_expressions(plan, |expr, schema| {
                expr.transform_up(|expr| {
                    let Expr::WindowFunction(mut window) = expr else { return Ok(Transformed::no(expr)) };
                    let is_rewritten = frame_by_peers(&mut window, schema);
                    Ok(Transformed::new_transformed(Expr::WindowFunction(window), is_rewritten))
                })
            }),
            other => Ok(Transformed::no(other)),
        })?;
        Ok(rewritten.data)
    }
}

/// Replaces the frame of a window if it is a RANGE frame without distances over a type that has none. Returns whether it was.
fn frame_by_peers(window: &mut WindowFunction, schema: &DFSchema) -> bool {
    let params = &mut window.params;
    let Some(first) = params.order_by.first() else { return false };
    if first.expr.get_type(schema).is_ok_and(|data_type| has_distances(&data_type)) {
        return false;
    }
    let frame = &params.window_frame;
    if frame.units != WindowFrameUnits::Range {
        return false;
    }
    let (Some(start), Some(end)) = (without_distance(&frame.start_bound), without_distance(&frame.end_bound)) else {
        return false;
    };
    params.window_frame = WindowFrame::new_bounds(WindowFrameUnits::Groups, start, end);
    true
}

fn without_distance(bound: &WindowFrameBound) -> Option<WindowFrameBound> {
    match bound {
        WindowFrameBound::CurrentRow => Some(WindowFrameBound::CurrentRow),
        WindowFrameBound::Preceding(distance) if distance.is_null() => {
            Some(WindowFrameBound::Preceding(ScalarValue::UInt64(None)))
        }
        WindowFrameBound::Following(distance) if distance.is_null() => {
            Some(WindowFrameBound::Following(ScalarValue::UInt64(None)))
        }
        WindowFrameBound::Preceding(_) | WindowFrameBound::Following(_) => None,
    }
}

/// Whether DataFusion can find the type of distances for this type of ORDER BY.
fn has_distances(data_type: &DataType) -> bool {
    data_type.is_numeric()
        || data_type.is_string()
        || matches!(
            data_type,
            DataType::Null | DataType::Boolean | DataType::Date32 | DataType::Date64 | DataType::Timestamp(..)
        )
}
