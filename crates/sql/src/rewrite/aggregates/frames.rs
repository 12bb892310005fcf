//! Frames of windows whose rows are in an order without distances: `OVER (ORDER BY binary_column)`.
//!
//! DataFusion 55 looks for the type of distances of every RANGE frame, also of one that has none, and ends with an internal error for byte
//! strings, durations, structs and maps. A frame that reaches from one end to the peers of a row or to the other end is a GROUPS frame of
//! the same rows.

use arrow_schema::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, WindowFrame, WindowFrameBound, WindowFrameUnits};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

use crate::rewrite::expressions::rewrite_expressions;

/// Makes RANGE frames without distances GROUPS frames. It runs before DataFusion's coercion, which refuses them.
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

/// Whether the frame of a window was a RANGE frame without distances, in an order that has none.
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

/// Whether DataFusion knows the type of distances in an order by this type, or that there are none.
fn has_distances(data_type: &DataType) -> bool {
    data_type.is_numeric()
        || data_type.is_string()
        || matches!(
            data_type,
            DataType::Null | DataType::Boolean | DataType::Date32 | DataType::Date64 | DataType::Timestamp(..)
        )
}
