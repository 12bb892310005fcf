//! Queries and their select lists.

use datafusion::sql::sqlparser::ast::{
    Cte, Fetch, GroupByExpr, GroupByWithModifier, LimitClause, OrderBy, OrderByExpr, OrderByKind, Query, Select,
    SelectInto, SelectItem, SetExpr, Spanned, WildcardAdditionalOptions, With,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::{CheckResult, Clauses};

impl Clauses<'_> {
    pub(super) fn query(&self, query: &Query) -> CheckResult {
        let Query {
            with,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators: _,
        } = query;
        let after = body.span();
        if let Some(with) = with {
            self.with(with)?;
        }
        if let Some(order_by) = order_by {
            self.order_by(order_by, matches!(body.as_ref(), SetExpr::Select(_)), after)?;
        }
        if let Some(LimitClause::LimitOffset { limit: _, offset: _, limit_by }) = limit_clause {
            self.refuse_if(!limit_by.is_empty(), "LIMIT … BY", after, "number the rows by row_number() OVER (…)")?;
        }
        if let Some(Fetch { with_ties, percent, quantity: _ }) = fetch {
            self.refuse_if(*with_ties, "WITH TIES", after, "compare rank() OVER (ORDER BY …) in a subquery")?;
            self.refuse_if(*percent, "PERCENT", after, "compare percent_rank() OVER (ORDER BY …) in a subquery")?;
            self.refuse_if(limit_clause.is_some(), "FETCH", after, "write one limit, by FETCH or by LIMIT")?;
        }
        let no_locks = "a query reads one commit and locks no rows; leave it out";
        self.refuse_if(!locks.is_empty(), "FOR", after, no_locks)?;
        self.refuse_if(for_clause.is_some(), "FOR", after, "choose the output format with --format")?;
        self.refuse_if(settings.is_some(), "SETTINGS", after, "change settings with SET")?;
        self.refuse_if(format_clause.is_some(), "FORMAT", after, "choose the output format with --format")
    }

    fn with(&self, with: &With) -> CheckResult {
        let With { with_token: _, recursive: _, cte_tables } = with;
        for cte in cte_tables {
            let Cte { alias, query: _, from, materialized: _, closing_paren_token: _ } = cte;
            self.alias(alias)?;
            let after = alias.name.span;
            self.refuse_if(from.is_some(), "FROM", after, "write the query after AS, in parentheses")?;
        }
        Ok(())
    }

    fn order_by(&self, order_by: &OrderBy, is_select: bool, after: Span) -> CheckResult {
        let OrderBy { kind, interpolate } = order_by;
        self.refuse_if(interpolate.is_some(), "INTERPOLATE", after, "join a series of all values")?;
        match kind {
            OrderByKind::All(_) => {
                self.refuse_if(!is_select, "ORDER BY ALL", after, "name the columns, or put the query into a subquery")
            }
            OrderByKind::Expressions(exprs) => self.order_exprs(exprs),
        }
    }

    pub(super) fn order_exprs(&self, exprs: &[OrderByExpr]) -> CheckResult {
        for OrderByExpr { expr, options: _, with_fill } in exprs {
            self.refuse_if(with_fill.is_some(), "WITH FILL", expr.span(), "join a series of all values")?;
        }
        Ok(())
    }

    pub(super) fn select(&self, select: &Select) -> CheckResult {
        let Select {
            select_token,
            // Hints are ignored like comments.
            optimizer_hints: _,
            distinct: _,
            select_modifiers,
            top,
            top_before_distinct: _,
            projection,
            exclude,
            into,
            from,
            lateral_views,
            prewhere,
            selection: _,
            connect_by,
            group_by,
            cluster_by,
            distribute_by,
            sort_by,
            having: _,
            named_window: _,
            qualify: _,
            window_before_qualify: _,
            value_table_mode,
            flavor: _,
        } = select;
        let after = select_token.0.span;
        self.refuse_if(select_modifiers.is_some(), "SELECT", after, "leave out the words before the columns")?;
        self.refuse_if(top.is_some(), "TOP", after, "write LIMIT at the end of the query")?;
        for item in projection {
            self.select_item(item, after)?;
        }
        self.refuse_if(exclude.is_some(), "EXCLUDE", after, "write it after the *")?;
        if let Some(SelectInto { temporary, unlogged, table: _, name: _ }) = into {
            self.refuse_if(*temporary || *unlogged, "INTO", after, "write CREATE TABLE … AS")?;
        }
        for table in from {
            self.joins(table)?;
        }
        self.refuse_if(!lateral_views.is_empty(), "LATERAL VIEW", after, "write CROSS JOIN UNNEST(…)")?;
        self.refuse_if(
            prewhere.is_some(),
            "PREWHERE",
            after,
            "write WHERE; conditions are tested as early as possible anyway",
        )?;
        let recursive = "write WITH RECURSIVE";
        self.refuse_if(!connect_by.is_empty(), "CONNECT BY", after, recursive)?;
        self.group_by(group_by, after)?;
        self.refuse_if(!cluster_by.is_empty(), "CLUSTER BY", after, "write ORDER BY")?;
        self.refuse_if(!distribute_by.is_empty(), "DISTRIBUTE BY", after, "leave it out; queries run on one machine")?;
        self.refuse_if(!sort_by.is_empty(), "SORT BY", after, "write ORDER BY")?;
        self.refuse_if(value_table_mode.is_some(), "AS", after, "select a struct, by struct(…) or named_struct(…)")
    }

    fn select_item(&self, item: &SelectItem, after: Span) -> CheckResult {
        match item {
            SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { expr: _, alias: _ } => Ok(()),
            SelectItem::ExprWithAliases { expr, aliases: _ } => {
                self.refuse("AS (", expr.span(), "give each column one name")
            }
            SelectItem::QualifiedWildcard(_, options) | SelectItem::Wildcard(options) => {
                let WildcardAdditionalOptions {
                    wildcard_token: _,
                    opt_ilike: _,
                    opt_exclude: _,
                    opt_except: _,
                    opt_replace: _,
                    opt_rename: _,
                    opt_alias,
                } = options;
                self.refuse_if(opt_alias.is_some(), "AS", after, "name the columns, each with AS")
            }
        }
    }

    fn group_by(&self, group_by: &GroupByExpr, after: Span) -> CheckResult {
        let (GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)) = group_by;
        for modifier in modifiers {
            match modifier {
                // Rewritten to `ROLLUP (…)` and `CUBE (…)` before the statement is planned.
                GroupByWithModifier::Rollup | GroupByWithModifier::Cube
                    if matches!(group_by, GroupByExpr::Expressions(..)) && modifiers.len() == 1 => {}
                GroupByWithModifier::Rollup => self.refuse("WITH ROLLUP", after, "write GROUP BY ROLLUP (…)")?,
                GroupByWithModifier::Cube => self.refuse("WITH CUBE", after, "write GROUP BY CUBE (…)")?,
                GroupByWithModifier::Totals => {
                    self.refuse("WITH TOTALS", after, "write GROUP BY GROUPING SETS ((…), ())")?;
                }
                GroupByWithModifier::GroupingSets(_) => {
                    self.refuse("GROUPING SETS", after, "write them after GROUP BY, instead of the columns")?;
                }
            }
        }
        Ok(())
    }
}
