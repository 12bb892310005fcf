//! Keeps DataFusion from merging IN lists (bug in version 55).
//!
//! Its rule merges two lists: `x IN (1, 2) AND x IN (2, 3)` becomes `x = 2`. It ignores null (`x IN (1) AND x IN (2)` becomes false, but is
//! null if `x` is null), and compares members by their text (`x IN (a, b) AND x IN (a, c)` becomes `x = a`, though `b` and `c` may be
//! equal). So an expression that is compared with several lists has a different name in each comparison while the rule runs.

use std::collections::HashMap;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion, TreeNodeRewriter, TreeNodeVisitor};
use datafusion::logical_expr::expr::{Alias, InList};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// Prefix of the temporary names.
const RELATION: &str = "lath value list";

/// DataFusion's rule that simplifies expressions, with IN lists kept apart.
#[derive(Debug)]
pub(crate) struct SimplifyKeepingLists(pub(crate) SimplifyExpressions);

impl OptimizerRule for SimplifyKeepingLists {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let mut any = false;
        plan.apply_expressions(|expr| {
            any |= !compared_twice(expr)?.is_empty();
            Ok(if any { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        if !any {
            return self.0.rewrite(plan, config);
        }
        let apart = with_names(plan, |expr| {
            let twice = compared_twice(&expr)?;
            Ok(expr.rewrite(&mut RenameByList { places: ComparisonWalk::default(), twice })?.data)
        })?;
        let simplified = self.0.rewrite(apart, config)?;
        Ok(Transformed::new_transformed(with_names(simplified.data, together)?, simplified.transformed))
    }
}

/// Rewrites the expressions of a plan and keeps the names of its columns.
fn with_names(plan: LogicalPlan, mut change: impl FnMut(Expr) -> Result<Expr>) -> Result<LogicalPlan> {
    let names = NamePreserver::new(&plan);
    let changed = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        Ok(Transformed::yes(name.restore(change(expr)?)))
    })?;
    Ok(changed.data)
}

/// Restores the original names in an expression.
fn together(expr: Expr) -> Result<Expr> {
    let own = |alias: &Alias| alias.relation.as_ref().is_some_and(|relation| relation.table() == RELATION);
    let renamed = expr.transform_up(|expr| match expr {
        Expr::Alias(alias) if own(&alias) => Ok(Transformed::yes(*alias.expr)),
        expr => Ok(Transformed::no(expr)),
    })?;
    Ok(renamed.data)
}

/// The values that an expression is compared with in one place: an IN list, or equalities that the rule may turn into one.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Values {
    /// All equalities below one OR without AND between them, or below one AND if they are negated. Merging these to one list is correct for
    /// null, too.
    Chain(usize),
    List {
        list: Vec<Expr>,
        negated: bool,
        place: usize,
    },
    One {
        value: Expr,
        place: usize,
    },
}

/// A compared expression, without casts, and its values.
struct Comparison {
    compared: Expr,
    values: Values,
}

/// The position of a walk over an expression, which visits comparisons in order.
#[derive(Debug, Default)]
struct ComparisonWalk {
    /// The operator and chain of each AND and OR above; `None` for other operators.
    above: Vec<Option<(Operator, usize)>>,
    count: usize,
}

impl ComparisonWalk {
    fn enter(&mut self, expr: &Expr) {
        let op = match expr {
            Expr::BinaryExpr(BinaryExpr { op: op @ (Operator::And | Operator::Or), .. }) => Some(*op),
            _ => None,
        };
        let chain = op.map(|op| match self.above.last() {
            Some(&Some((above, chain))) if above == op => (op, chain),
            _ => (op, self.next()),
        });
        self.above.push(chain);
    }

    fn leave(&mut self, expr: &Expr) -> Option<Comparison> {
        self.above.pop();
        let (compared, values, negated) = match expr {
            Expr::InList(InList { expr, list, negated }) => (&**expr, list.as_slice(), *negated),
            Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::Eq | Operator::NotEq), right }) => {
                let (compared, value) = match (&**left, &**right) {
                    (value @ Expr::Literal(..), compared) => (compared, value),
                    (compared, value) => (compared, value),
                };
                if !matches!((without_casts(compared), value), (Expr::Column(_), Expr::Literal(..))) {
                    return None;
                }
                (compared, std::slice::from_ref(value), *op == Operator::NotEq)
            }
            _ => return None,
        };
        let joined = if negated { Operator::And } else { Operator::Or };
        // Below other operators, such as NOT, equal lists can become different ones.
        let place = if self.above.iter().all(Option::is_some) { 0 } else { self.next() };
        let values = match (self.above.last(), expr) {
            (Some(&Some((op, chain))), _) if op == joined => Values::Chain(chain),
            (_, Expr::InList(_)) => Values::List { list: values.to_vec(), negated, place },
            _ => Values::One { value: values[0].clone(), place },
        };
        Some(Comparison { compared: without_casts(compared).clone(), values })
    }

    fn next(&mut self) -> usize {
        self.count += 1;
        self.count
    }
}

fn without_casts(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast(cast) => without_casts(&cast.expr),
        Expr::TryCast(cast) => without_casts(&cast.expr),
        expr => expr,
    }
}

/// Finds the expressions that are compared with several lists, or with values that can become several lists. Returns a number for each of
/// their lists and values.
fn compared_twice(expr: &Expr) -> Result<HashMap<Expr, HashMap<Values, usize>>> {
    let mut collector = ListCollector::default();
    expr.visit(&mut collector)?;
    let mut compared = collector.compared;
    compared.retain(|_, places| {
        let values = places.keys().filter(|values| matches!(values, Values::One { .. })).count();
        let lists = places.len() - values;
        lists * 2 + values >= 4
    });
    Ok(compared)
}

#[derive(Default)]
struct ListCollector {
    places: ComparisonWalk,
    compared: HashMap<Expr, HashMap<Values, usize>>,
}

impl<'n> TreeNodeVisitor<'n> for ListCollector {
    type Node = Expr;

    fn f_down(&mut self, expr: &'n Expr) -> Result<TreeNodeRecursion> {
        self.places.enter(expr);
        Ok(TreeNodeRecursion::Continue)
    }

    fn f_up(&mut self, expr: &'n Expr) -> Result<TreeNodeRecursion> {
        if let Some(place) = self.places.leave(expr) {
            let values = self.compared.entry(place.compared).or_default();
            let number = values.len();
            values.entry(place.values).or_insert(number);
        }
        Ok(TreeNodeRecursion::Continue)
    }
}

/// Gives expressions another name for each list that they are compared with.
struct RenameByList {
    places: ComparisonWalk,
    twice: HashMap<Expr, HashMap<Values, usize>>,
}

impl TreeNodeRewriter for RenameByList {
    type Node = Expr;

    fn f_down(&mut self, expr: Expr) -> Result<Transformed<Expr>> {
        self.places.enter(&expr);
        Ok(Transformed::no(expr))
    }

    fn f_up(&mut self, expr: Expr) -> Result<Transformed<Expr>> {
        let place = self.places.leave(&expr);
        let number = place.and_then(|place| self.twice.get(&place.compared)?.get(&place.values).copied());
        let Some(number) = number else { return Ok(Transformed::no(expr)) };
        let named =
            |expr: Box<Expr>| Ok::<_, datafusion::error::DataFusionError>(Box::new(name_below_casts(*expr, number)?));
        Ok(Transformed::yes(match expr {
            Expr::InList(InList { expr, list, negated }) => Expr::InList(InList { expr: named(expr)?, list, negated }),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if matches!(*left, Expr::Literal(..)) => {
                Expr::BinaryExpr(BinaryExpr { left, op, right: named(right)? })
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                Expr::BinaryExpr(BinaryExpr { left: named(left)?, op, right })
            }
            expr => expr,
        }))
    }
}

/// The name goes below casts, which the rule moves from a column to the values.
fn name_below_casts(expr: Expr, number: usize) -> Result<Expr> {
    let named = match expr {
        expr @ (Expr::Cast(_) | Expr::TryCast(_)) => {
            expr.map_children(|child| name_below_casts(child, number).map(Transformed::yes))?.data
        }
        expr => expr.alias_qualified(Some(RELATION), number.to_string()),
    };
    Ok(named)
}
