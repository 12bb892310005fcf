//! Windows that refine a named one, `OVER (w ORDER BY b)`, and `GROUP BY … WITH ROLLUP`.
//!
//! DataFusion 55 ignores the clauses of the named window, and ignores WITH ROLLUP. Its `bool_and` and `bool_or` cannot remove rows, which
//! sliding frames need.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, GroupByWithModifier, Ident, NamedWindowDefinition, NamedWindowExpr, ObjectNamePart, Select,
    WindowSpec, WindowType, visit_expressions_mut,
};
use datafusion::sql::sqlparser::parser::ParserError;

use super::empty_frames::is_empty;
use crate::dialect::{error_at, normal};

/// Copies the clauses of named windows into the windows that refine them.
pub(crate) fn refine(select: &mut Select) -> Result<(), ParserError> {
    let mut known: Vec<(String, WindowSpec)> = Vec::new();
    for NamedWindowDefinition(name, window) in &mut select.named_window {
        match window {
            NamedWindowExpr::WindowSpec(spec) => merge(spec, &known)?,
            NamedWindowExpr::NamedWindow(other) => *window = NamedWindowExpr::WindowSpec(named(other, &known)?.clone()),
        }
        if let NamedWindowExpr::WindowSpec(spec) = window {
            known.push((normal(name), spec.clone()));
            // Functions get the frame, and are then replaced.
            spec.window_frame = spec.window_frame.take().filter(|frame| !is_empty(frame));
        }
    }
    let empty = |name: &Ident| {
        let found = known.iter().find(|(other, _)| *other == normal(name));
        found.filter(|(_, spec)| spec.window_frame.as_ref().is_some_and(is_empty)).map(|(_, spec)| spec.clone())
    };
    let refined = |expr: &mut Expr| match expr {
        Expr::Function(function) => match &mut function.over {
            Some(WindowType::WindowSpec(spec)) => match merge(spec, &known) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            },
            Some(WindowType::NamedWindow(name)) => {
                if let Some(spec) = empty(name) {
                    function.over = Some(WindowType::WindowSpec(spec));
                }
                ControlFlow::Continue(())
            }
            None => ControlFlow::Continue(()),
        },
        _ => ControlFlow::Continue(()),
    };
    let parts = (&mut select.projection, &mut select.qualify);
    let flow = visit_expressions_mut(parts.0, refined);
    let flow = if flow.is_continue() { visit_expressions_mut(parts.1, refined) } else { flow };
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

fn named<'k>(name: &Ident, known: &'k [(String, WindowSpec)]) -> Result<&'k WindowSpec, ParserError> {
    let found = known.iter().find(|(other, _)| *other == normal(name));
    found.map(|(_, spec)| spec).ok_or_else(|| error_at(&format!("there is no window {name}"), name.span.start))
}

fn merge(spec: &mut WindowSpec, known: &[(String, WindowSpec)]) -> Result<(), ParserError> {
    let Some(name) = spec.window_name.take() else { return Ok(()) };
    let refined = named(&name, known)?;
    let refused = if !spec.partition_by.is_empty() {
        Some("the named window defines PARTITION BY; leave it out here")
    } else if !spec.order_by.is_empty() && !refined.order_by.is_empty() {
        Some("the named window has an ORDER BY already; leave one of them out")
    } else if refined.window_frame.is_some() {
        Some("a named window with a frame cannot be refined; write out the whole window")
    } else {
        None
    };
    if let Some(message) = refused {
        return Err(error_at(message, name.span.start));
    }
    spec.partition_by = refined.partition_by.clone();
    if spec.order_by.is_empty() {
        spec.order_by = refined.order_by.clone();
    }
    Ok(())
}

/// Replaces `bool_and` and `bool_or` over a window by `min` and `max`.
#[expect(clippy::unnecessary_wraps, reason = "a step of the rewriter")]
pub(crate) fn rewrite(expr: &mut Expr) -> Result<(), ParserError> {
    if let Expr::Function(function) = expr
        && function.over.is_some()
        && let [ObjectNamePart::Identifier(name)] = function.name.0.as_mut_slice()
    {
        match normal(name).as_str() {
            "bool_and" | "every" => name.value = "min".to_owned(),
            "bool_or" => name.value = "max".to_owned(),
            _ => {}
        }
    }
    Ok(())
}

/// Rewrites `GROUP BY a, b WITH ROLLUP` to `GROUP BY ROLLUP (a, b)`.
pub(crate) fn modifiers_as_sets(group_by: &mut GroupByExpr) {
    let GroupByExpr::Expressions(exprs, modifiers) = group_by else { return };
    let [modifier] = modifiers.as_slice() else { return };
    let columns = || exprs.iter().map(|expr| vec![expr.clone()]).collect();
    let sets = match modifier {
        GroupByWithModifier::Rollup => Expr::Rollup(columns()),
        GroupByWithModifier::Cube => Expr::Cube(columns()),
        _ => return,
    };
    *group_by = GroupByExpr::Expressions(vec![sets], Vec::new());
}

/// The number of expressions of a CUBE with repetitions up to which all their sets are written out.
const MAX_CUBE: usize = 12;

/// Writes out the grouping sets of ROLLUP and CUBE that have an expression twice, which DataFusion 55 refuses: `ROLLUP (a, a)` is
/// `GROUPING SETS ((a, a), (a), ())`.
pub(crate) fn write_out_sets(group_by: &mut GroupByExpr) {
    let GroupByExpr::Expressions(exprs, _) = group_by else { return };
    for expr in exprs {
        let (parts, is_cube) = match expr {
            Expr::Rollup(parts) => (parts, false),
            Expr::Cube(parts) if parts.len() <= MAX_CUBE => (parts, true),
            _ => continue,
        };
        let all: Vec<&Expr> = parts.iter().flatten().collect();
        let is_repeated = all.iter().enumerate().any(|(at, expr)| all[..at].contains(expr));
        if !is_repeated {
            continue;
        }
        let set = |has: &dyn Fn(usize) -> bool| {
            let kept = parts.iter().enumerate().filter(|(at, _)| has(*at));
            kept.flat_map(|(_, part)| part.iter().cloned()).collect::<Vec<Expr>>()
        };
        let sets = if is_cube {
            (0..1_usize << parts.len()).rev().map(|bits| set(&|at| bits >> at & 1 == 1)).collect()
        } else {
            (0..=parts.len()).rev().map(|len| set(&|at| at < len)).collect()
        };
        *expr = Expr::GroupingSets(sets);
    }
}
