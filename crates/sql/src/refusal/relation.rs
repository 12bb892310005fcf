//! Tables in FROM and their joins.

use datafusion::sql::sqlparser::ast::{
    Join, Spanned, TableAlias, TableAliasColumnDef, TableFactor, TableFunctionArgs, TableWithJoins,
};

use super::{CheckResult, Clauses};

const SAMPLE: &str = "a query reads all rows; write WHERE random() < 0.1 for about a tenth of them";

impl Clauses<'_> {
    pub(super) fn joins(&self, table: &TableWithJoins) -> CheckResult {
        let TableWithJoins { relation: _, joins } = table;
        for Join { relation, global, join_operator: _ } in joins {
            self.refuse_if(*global, "GLOBAL", table.relation.span(), "leave it out; queries run on one machine")?;
            let _ = relation;
        }
        Ok(())
    }

    pub(super) fn alias(&self, alias: &TableAlias) -> CheckResult {
        let TableAlias { explicit, name, columns, at } = alias;
        // The parser reads FINAL as an alias.
        let is_final = !explicit && name.quote_style.is_none() && name.value.eq_ignore_ascii_case("final");
        let advice = "a query reads the newest rows anyway; leave it out, or write AS final for an alias";
        self.refuse_if(is_final, "FINAL", name.span, advice)?;
        for TableAliasColumnDef { name, data_type } in columns {
            if let Some(data_type) = data_type {
                let advice = "columns have the types of the query; cast them there";
                self.refuse(&data_type.to_string(), name.span, advice)?;
            }
        }
        self.refuse_if(at.is_some(), "AT", name.span, "leave it out")
    }

    pub(super) fn table_factor(&self, factor: &TableFactor) -> CheckResult {
        let after = factor.span();
        match factor {
            TableFactor::Table {
                name: _,
                alias,
                args,
                with_hints,
                version,
                with_ordinality,
                partitions,
                json_path,
                sample,
                index_hints,
            } => {
                if let Some(TableFunctionArgs { args: _, settings }) = args {
                    self.refuse_if(settings.is_some(), "SETTINGS", after, "change settings with SET")?;
                }
                self.refuse_if(!with_hints.is_empty(), "WITH", after, "leave the hint out")?;
                self.refuse_if(version.is_some(), "FOR", after, "name a snapshot, as docs/sql.md says")?;
                self.ordinality(*with_ordinality, after)?;
                let partition = "conditions on partition columns choose the files; write WHERE";
                self.refuse_if(!partitions.is_empty(), "PARTITION", after, partition)?;
                self.refuse_if(json_path.is_some(), "a path behind a table", after, "take the field of a column")?;
                self.refuse_if(sample.is_some(), self.sample_word(after), after, SAMPLE)?;
                self.refuse_if(!index_hints.is_empty(), "INDEX", after, "leave the hint out")?;
                alias.as_ref().map_or(Ok(()), |alias| self.alias(alias))
            }
            TableFactor::Derived { lateral: _, subquery: _, alias, sample } => {
                self.refuse_if(sample.is_some(), self.sample_word(after), after, SAMPLE)?;
                alias.as_ref().map_or(Ok(()), |alias| self.alias(alias))
            }
            TableFactor::Function { lateral: _, name: _, args: _, with_ordinality, alias } => {
                self.ordinality(*with_ordinality, after)?;
                alias.as_ref().map_or(Ok(()), |alias| self.alias(alias))
            }
            TableFactor::UNNEST { alias, array_exprs: _, with_offset, with_offset_alias: _, with_ordinality } => {
                self.ordinality(*with_ordinality, after)?;
                self.refuse_if(*with_offset, "WITH OFFSET", after, ORDINALITY)?;
                alias.as_ref().map_or(Ok(()), |alias| self.alias(alias))
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                self.joins(table_with_joins)?;
                alias.as_ref().map_or(Ok(()), |alias| self.alias(alias))
            }
            TableFactor::TableFunction { expr: _, alias: _ } => self.refuse("TABLE", after, "call the function alone"),
            TableFactor::JsonTable { .. } => self.refuse("JSON_TABLE", after, "read the file as JSON lines"),
            TableFactor::OpenJsonTable { .. } => self.refuse("OPENJSON", after, "read the file as JSON lines"),
            TableFactor::Pivot { alias, .. } | TableFactor::Unpivot { alias, .. } => {
                alias.as_ref().map_or(Ok(()), |alias| self.alias(alias))
            }
            TableFactor::MatchRecognize { .. } => {
                self.refuse("MATCH_RECOGNIZE", after, "compare with lag() and lead() OVER (…)")
            }
            TableFactor::XmlTable { .. } => self.refuse("XMLTABLE", after, "XML is not read"),
            TableFactor::SemanticView { .. } => self.refuse("SEMANTIC_VIEW", after, "write the query"),
        }
    }

    fn ordinality(&self, is_there: bool, after: datafusion::sql::sqlparser::tokenizer::Span) -> CheckResult {
        self.refuse_if(is_there, "WITH ORDINALITY", after, ORDINALITY)
    }

    fn sample_word(&self, after: datafusion::sql::sqlparser::tokenizer::Span) -> &'static str {
        if self.place("TABLESAMPLE", after).is_some() { "TABLESAMPLE" } else { "SAMPLE" }
    }
}

const ORDINALITY: &str = "number the elements by unnest(range(1, cardinality(…) + 1))";
