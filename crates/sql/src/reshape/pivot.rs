//! `PIVOT`: a column for each value of a column, with an aggregate of its rows.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::common::{Result, plan_err};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, ExprWithAlias, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    GroupByExpr, Ident, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, PivotValueSource, Query, SelectItem,
    TableFactor, Value, VisitMut, VisitorMut, visit_expressions,
};

use super::source::{Source, items, named, quoted, select};
use crate::dialect::{PIVOT_GROUPS, normal};

/// Maximum number of columns that values become.
const MAX_COLUMNS: usize = 10_000;

/// An aggregate or a value, and its name.
type NamedExpr = (Expr, Option<Ident>);

/// A form of PIVOT.
pub(super) struct Pivot {
    aggregates: Vec<NamedExpr>,
    /// The columns of GROUP BY; without it, all columns that nothing else names.
    groups: Option<Vec<Expr>>,
    columns: Vec<PivotColumn>,
}

struct PivotColumn {
    expr: Expr,
    values: Values,
}

/// The values that become columns.
enum Values {
    Listed(Vec<NamedExpr>),
    /// The values of a query, in its order, or in their own if it has none.
    Query(Box<Query>),
    /// All that the column has.
    All,
}

/// A column of the result: the condition of its rows, and its name.
#[derive(Clone)]
struct Condition {
    expr: Expr,
    name: String,
}

impl Pivot {
    /// The form `PIVOT t ON …`, whose parts are queries.
    pub(super) fn from_queries(aggregates: &Query, groups: &Query, columns: &[&Query]) -> Result<Self> {
        let aggregates = items(aggregates)?.into_iter().map(named).collect::<Result<Vec<NamedExpr>>>()?;
        let groups = match items(groups)?.as_slice() {
            [SelectItem::Wildcard(_)] => None,
            groups => {
                let groups = groups.iter().cloned().map(|item| Ok(named(item)?.0));
                Some(groups.collect::<Result<Vec<Expr>>>()?)
            }
        };
        let mut parsed = Vec::new();
        for pair in columns.chunks(2) {
            let [column, values] = pair else { return plan_err!("PIVOT has a column and its values") };
            let [column] = <[SelectItem; 1]>::try_from(items(column)?)
                .or_else(|_| plan_err!("PIVOT: ON has expressions, each with or without IN (values)"))?;
            let has_source = !source_is_empty(values);
            let values = match items(values)?.as_slice() {
                _ if has_source => Values::Query(Box::new((*values).clone())),
                [SelectItem::Wildcard(_)] => Values::All,
                listed => Values::Listed(listed.iter().cloned().map(named).collect::<Result<Vec<NamedExpr>>>()?),
            };
            parsed.push(PivotColumn { expr: named(column)?.0, values });
        }
        Ok(Self { aggregates, groups, columns: parsed })
    }

    /// The standard form, `t PIVOT (sum(v) FOR c IN (1, 2))`.
    pub(super) fn from_factor(factor: &TableFactor) -> Result<Self> {
        let TableFactor::Pivot { aggregate_functions, value_column, value_source, default_on_null, .. } = factor else {
            return plan_err!("{factor} is not PIVOT");
        };
        if let Some(default) = default_on_null {
            return plan_err!("PIVOT: DEFAULT ON NULL ({default}) is not supported; write coalesce(column, {default})");
        }
        let pair = |item: &ExprWithAlias| (item.expr.clone(), item.alias.clone());
        let is_groups = |item: &&ExprWithAlias| matches!(&item.expr, Expr::Function(function) if function.name.to_string().trim_matches('"') == PIVOT_GROUPS);
        let groups = aggregate_functions.iter().find(is_groups).map(|item| arguments(&item.expr));
        let aggregates = aggregate_functions.iter().filter(|item| !is_groups(item)).map(pair).collect();
        let [column] = value_column.as_slice() else {
            return plan_err!("PIVOT has one column in FOR; write PIVOT t ON a, b USING …");
        };
        let values = match value_source {
            PivotValueSource::List(values) => Values::Listed(values.iter().map(pair).collect()),
            PivotValueSource::Any(_) => Values::All,
            PivotValueSource::Subquery(query) => Values::Query(query.clone()),
        };
        Ok(Self { aggregates, groups, columns: vec![PivotColumn { expr: column.clone(), values }] })
    }

    /// Returns an error for a view whose columns would depend on values of its tables.
    pub(super) fn check_view(&self, is_view: bool) -> Result<()> {
        if is_view && self.columns.iter().any(|column| !matches!(column.values, Values::Listed(_))) {
            return plan_err!("the columns of a view do not depend on values; name them: PIVOT … ON column IN (1, 2)");
        }
        Ok(())
    }

    /// The query of the result.
    pub(super) async fn query(self, source: &Source<'_>) -> Result<Query> {
        let columns = source.columns().await?;
        let mut conditions: Vec<Condition> = Vec::new();
        for column in &self.columns {
            let own = column.conditions(source).await?;
            conditions = match conditions.is_empty() {
                true => own,
                false => conditions.iter().flat_map(|before| own.iter().map(move |next| before.and(next))).collect(),
            };
        }
        if conditions.len() * self.aggregates.len() > MAX_COLUMNS {
            return plan_err!(
                "PIVOT would return {} columns, and at most {MAX_COLUMNS} are possible; name the values: ON column IN (…)",
                conditions.len() * self.aggregates.len()
            );
        }
        let groups = self.groups.clone().unwrap_or_else(|| {
            let used = self.used_columns();
            let others = columns.iter().filter(|column| !used.contains(column.name()));
            others.map(|column| quoted(column.name())).collect()
        });
        let mut items: Vec<SelectItem> = groups.iter().cloned().map(SelectItem::UnnamedExpr).collect();
        for condition in &conditions {
            for (aggregate, alias) in &self.aggregates {
                let mut expr = aggregate.clone();
                let mut filters = Filters { source, condition: &condition.expr, count: 0 };
                let _ = expr.visit(&mut filters);
                if filters.count == 0 {
                    return plan_err!(
                        "PIVOT: {aggregate} has no aggregate; write sum({aggregate}) or first({aggregate})"
                    );
                }
                let suffix = match alias {
                    Some(alias) => format!("_{}", normal(alias)),
                    None if self.aggregates.len() > 1 => format!("_{}", text(aggregate)),
                    None => String::new(),
                };
                let alias = Ident::with_quote('"', format!("{}{suffix}", condition.name));
                items.push(SelectItem::ExprWithAlias { expr, alias });
            }
        }
        select(source.table(), items, |select| {
            select.group_by = GroupByExpr::Expressions(groups, Vec::new());
        })
    }

    /// The columns that ON and USING name.
    fn used_columns(&self) -> Vec<String> {
        let mut used = Vec::new();
        let exprs = self.columns.iter().map(|column| &column.expr);
        for expr in exprs.chain(self.aggregates.iter().map(|(expr, _)| expr)) {
            let _ = visit_expressions(expr, |expr| {
                match expr {
                    Expr::Identifier(name) => used.push(normal(name)),
                    Expr::CompoundIdentifier(parts) => used.extend(parts.iter().map(normal)),
                    _ => {}
                }
                ControlFlow::<()>::Continue(())
            });
        }
        used
    }
}

impl PivotColumn {
    async fn conditions(&self, source: &Source<'_>) -> Result<Vec<Condition>> {
        let as_text = Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(self.expr.clone()),
            data_type: DataType::Varchar(None),
            array: false,
            format: None,
        };
        let texts = match &self.values {
            Values::Listed(values) => {
                let condition = |(value, alias): &NamedExpr| Condition {
                    expr: match value {
                        Expr::Value(null) if null.value == Value::Null => {
                            Expr::Nested(Box::new(Expr::IsNull(Box::new(Expr::Nested(Box::new(self.expr.clone()))))))
                        }
                        _ => equal(self.expr.clone(), value.clone()),
                    },
                    name: alias.as_ref().map_or_else(|| text(value), normal),
                };
                return Ok(values.iter().map(condition).collect());
            }
            Values::Query(query) => {
                let mut texts = source.texts((**query).clone()).await?;
                if query.order_by.is_none() {
                    texts.sort();
                }
                texts
            }
            Values::All => {
                let item = SelectItem::ExprWithAlias { expr: as_text.clone(), alias: Ident::new("value") };
                let distinct = Some(datafusion::sql::sqlparser::ast::Distinct::Distinct);
                let mut query = select(source.table(), vec![item], |select| select.distinct = distinct)?;
                let options = OrderByOptions { asc: None, nulls_first: None };
                let by = OrderByExpr { expr: quoted("value"), options, with_fill: None };
                query.order_by = Some(OrderBy { kind: OrderByKind::Expressions(vec![by]), interpolate: None });
                source.texts(query).await?
            }
        };
        let condition = |name: String| {
            let value = Expr::value(Value::SingleQuotedString(name.clone()));
            Condition { expr: equal(as_text.clone(), value), name }
        };
        let mut seen = HashSet::new();
        let distinct = texts.into_iter().flatten().filter(|text| seen.insert(text.clone()));
        Ok(distinct.map(condition).collect())
    }
}

impl Condition {
    fn and(&self, other: &Self) -> Self {
        let (left, right) = (Box::new(self.expr.clone()), Box::new(other.expr.clone()));
        Self {
            expr: Expr::BinaryOp { left, op: BinaryOperator::And, right },
            name: format!("{}_{}", self.name, other.name),
        }
    }
}

fn equal(left: Expr, right: Expr) -> Expr {
    let (left, right) = (Box::new(Expr::Nested(Box::new(left))), Box::new(Expr::Nested(Box::new(right))));
    Expr::Nested(Box::new(Expr::BinaryOp { left, op: BinaryOperator::Eq, right }))
}

/// The name that an expression gives a column: a text without quotes.
fn text(expr: &Expr) -> String {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        other => other.to_string().replace("count(*)", "count_star()").replace("COUNT(*)", "count_star()"),
    }
}

fn source_is_empty(query: &Query) -> bool {
    match query.body.as_ref() {
        datafusion::sql::sqlparser::ast::SetExpr::Select(select) => select.from.is_empty(),
        _ => false,
    }
}

fn arguments(expr: &Expr) -> Vec<Expr> {
    let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = expr else { return Vec::new() };
    let arguments = list.args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    arguments.collect()
}

/// Gives the aggregates of an expression the rows of a condition.
struct Filters<'f> {
    source: &'f Source<'f>,
    condition: &'f Expr,
    count: usize,
}

impl VisitorMut for Filters<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && self.source.state().aggregate_functions().contains_key(&function.name.to_string().to_lowercase())
        {
            self.count += 1;
            function.filter = Some(Box::new(match function.filter.take() {
                Some(filter) => {
                    let (left, right) = (Box::new(Expr::Nested(filter)), Box::new(self.condition.clone()));
                    Expr::BinaryOp { left, op: BinaryOperator::And, right }
                }
                None => self.condition.clone(),
            }));
        }
        ControlFlow::Continue(())
    }
}
