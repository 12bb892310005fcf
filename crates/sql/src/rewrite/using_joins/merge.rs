//! Resolves the merged columns of joins in `FROM`.

use datafusion::common::{Result, plan_err};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, Join,
    JoinConstraint, JoinOperator, ObjectName, TableAlias, TableFactor, TableWithJoins,
};

use super::{Rewrite, constraint};
use crate::dialect::normal;

/// A part of `FROM`: its tables, and the columns that joins merged.
#[derive(Debug, Default)]
pub(super) struct Side {
    pub(super) tables: Vec<QualifiedTable>,
    pub(super) merged: Vec<MergedColumn>,
}

/// A table with the qualifier of its columns.
#[derive(Debug)]
pub(super) struct QualifiedTable {
    pub(super) name: Vec<Ident>,
    pub(super) columns: Vec<String>,
}

#[derive(Debug)]
pub(super) struct MergedColumn {
    pub(super) name: String,
    pub(super) value: Expr,
}

impl Side {
    /// Resolves an unqualified name.
    fn column(&self, name: &str) -> Result<Expr> {
        if let Some(merged) = self.merged.iter().find(|merged| merged.name == name) {
            return Ok(merged.value.clone());
        }
        let mut owners = self.tables.iter().filter(|table| table.columns.iter().any(|column| column == name));
        match (owners.next(), owners.next()) {
            (Some(table), None) => {
                let name = Ident::with_quote('"', name);
                Ok(Expr::CompoundIdentifier(table.name.iter().cloned().chain([name]).collect()))
            }
            (Some(_), Some(_)) => plan_err!("column {name} of USING or NATURAL is in more than one table of a side"),
            (None, _) => plan_err!("there is no column {name} on one side of a join with USING or NATURAL"),
        }
    }

    /// The distinct names of all columns, in order.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.merged.iter().map(|merged| &*merged.name).collect();
        for column in self.tables.iter().flat_map(|table| &table.columns) {
            if !names.contains(&&**column) {
                names.push(column);
            }
        }
        names
    }
}

impl Rewrite<'_> {
    pub(super) fn side(&mut self, from: &mut TableWithJoins) -> Result<Side> {
        let mut side = self.factor(&mut from.relation)?;
        for join in &mut from.joins {
            side = self.join(side, join)?;
        }
        Ok(side)
    }

    fn factor(&mut self, factor: &mut TableFactor) -> Result<Side> {
        if let TableFactor::NestedJoin { table_with_joins, alias: None } = factor {
            return self.side(table_with_joins);
        }
        let columns = self.columns.get(factor)?.to_vec();
        let name = self.name(factor)?;
        Ok(Side { tables: vec![QualifiedTable { name, columns }], merged: Vec::new() })
    }

    /// The qualifier of a table's columns. A table without a name gets an alias.
    fn name(&mut self, factor: &mut TableFactor) -> Result<Vec<Ident>> {
        let (alias, own) = match factor {
            TableFactor::Table { alias, name, args: None, .. } => {
                (alias, name.0.iter().map(|part| part.as_ident().cloned()).collect())
            }
            TableFactor::Table { alias, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::NestedJoin { alias, .. } => (alias, None),
            other => return plan_err!("{other} cannot be joined with USING or NATURAL; join ON a condition instead"),
        };
        if let Some(alias) = alias {
            return Ok(vec![alias.name.clone()]);
        }
        if let Some(own) = own {
            return Ok(own);
        }
        self.names += 1;
        let name = Ident::with_quote('"', format!("__lath_table_{}", self.names));
        *alias = Some(TableAlias { explicit: true, name: name.clone(), columns: Vec::new(), at: None });
        Ok(vec![name])
    }

    fn join(&mut self, mut left: Side, join: &mut Join) -> Result<Side> {
        let right = self.factor(&mut join.relation)?;
        let (keeps, shows) = sides(&join.join_operator)?;
        let constraint = constraint(&mut join.join_operator);
        let names: Option<Vec<String>> = match constraint.as_deref() {
            Some(JoinConstraint::Using(columns)) => {
                let name = |column: &ObjectName| column.0.last().and_then(|part| part.as_ident()).map(normal);
                columns.iter().map(name).collect()
            }
            Some(JoinConstraint::Natural) => {
                let others = right.names();
                Some(left.names().into_iter().filter(|name| others.contains(name)).map(str::to_owned).collect())
            }
            _ => None,
        };
        if let Some((names, constraint)) = names.zip(constraint) {
            *constraint = JoinConstraint::On(merge(&mut left, &right, names, keeps)?);
        }
        match shows {
            Shows::Left => {}
            Shows::Right => left = Side { merged: left.merged, tables: right.tables },
            Shows::Both => left.tables.extend(right.tables),
        }
        let known: Vec<String> = left.merged.iter().map(|merged| merged.name.clone()).collect();
        left.merged.extend(right.merged.into_iter().filter(|merged| !known.contains(&merged.name)));
        Ok(left)
    }
}

/// The side of a join that provides the values of a merged column.
#[derive(Debug, Clone, Copy)]
enum Keeps {
    Left,
    Right,
    Both,
}

/// The sides of a join whose columns are visible after it.
#[derive(Debug, Clone, Copy)]
enum Shows {
    Left,
    Right,
    Both,
}

fn sides(operator: &JoinOperator) -> Result<(Keeps, Shows)> {
    use JoinOperator::{
        Anti, CrossJoin, FullOuter, Inner, Join, Left, LeftAnti, LeftOuter, LeftSemi, Right, RightAnti, RightOuter,
        RightSemi, Semi,
    };
    Ok(match operator {
        Join(_) | Inner(_) | Left(_) | LeftOuter(_) | CrossJoin(_) => (Keeps::Left, Shows::Both),
        Right(_) | RightOuter(_) => (Keeps::Right, Shows::Both),
        FullOuter(_) => (Keeps::Both, Shows::Both),
        Semi(_) | LeftSemi(_) | Anti(_) | LeftAnti(_) => (Keeps::Left, Shows::Left),
        RightSemi(_) | RightAnti(_) => (Keeps::Right, Shows::Right),
        other => {
            return plan_err!("{other:?} beside a join with USING or NATURAL is not supported; join ON a condition");
        }
    })
}

/// Merges columns of both sides and returns the join condition.
fn merge(left: &mut Side, right: &Side, names: Vec<String>, keeps: Keeps) -> Result<Expr> {
    let mut condition: Option<Expr> = None;
    let mut merged = Vec::new();
    for name in names {
        let (one, other) = (left.column(&name)?, right.column(&name)?);
        let equal = binary(one.clone(), BinaryOperator::Eq, other.clone());
        condition = Some(match condition {
            Some(before) => binary(before, BinaryOperator::And, equal),
            None => equal,
        });
        let value = match keeps {
            Keeps::Left => one,
            Keeps::Right => other,
            Keeps::Both => coalesce(one, other),
        };
        merged.push(MergedColumn { name, value });
    }
    left.merged.retain(|before| merged.iter().all(|merged| merged.name != before.name));
    merged.append(&mut left.merged);
    left.merged = merged;
    // Without common columns, the join is a cross join.
    Ok(condition.unwrap_or_else(|| Expr::value(datafusion::sql::sqlparser::ast::Value::Boolean(true))))
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

fn coalesce(one: Expr, other: Expr) -> Expr {
    let argument = |expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new("coalesce")]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![argument(one), argument(other)],
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}
