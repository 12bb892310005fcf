//! Columns whose values the table gives, in `CREATE TABLE`: `GENERATED … AS IDENTITY`, `SERIAL`, `AUTOINCREMENT`, and `GENERATED ALWAYS AS (…)
//! STORED`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::Schema;
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, plan_err};
use datafusion::physical_plan::collect;
use datafusion::sql::sqlparser::ast::{
    ColumnDef, ColumnOption, ColumnOptionDef, DataType, Expr, GeneratedAs, GeneratedExpressionMode, Ident,
    SequenceOptions as WrittenOptions,
};
use lath_table::{Database, GENERATED_KEY, IDENTITY_KEY, SequenceOptions};

use super::Definitions;
use super::constraint::take_constraints;
use super::sequence::{integer_range, sequence_options};
use crate::change::{OnConflict, adapt_row_target, plan_change};
use crate::computed::{ALWAYS, BY_DEFAULT, Computation, own_sequences, plan_generated};
use crate::dialect::normal;
use crate::error::table_work;
use crate::grammar::parse;
use crate::keyed::KeyedTable;
use crate::refusal::is_auto_increment;
use crate::transaction::{StatementTransaction, Step};

/// The columns of a statement whose values the table gives.
#[derive(Debug, Default)]
pub(super) struct DeclaredComputed {
    identities: BTreeMap<String, Identity>,
    generated: BTreeMap<String, Expr>,
}

#[derive(Debug)]
struct Identity {
    always: bool,
    options: SequenceOptions,
}

/// Takes the declarations out of the definitions of columns, which DataFusion does not plan.
pub(super) fn take_computed(columns: &mut [ColumnDef]) -> Result<DeclaredComputed> {
    let mut declared = DeclaredComputed::default();
    for column in columns {
        let name = normal(&column.name);
        let mut identity: Option<(bool, Vec<WrittenOptions>)> = None;
        if let Some(integer) = serial_type(&column.data_type) {
            column.data_type = integer;
            identity = Some((false, Vec::new()));
        }
        let mut generated = None;
        let mut given = Vec::new();
        for option in std::mem::take(&mut column.options) {
            match &option.option {
                ColumnOption::Generated { generation_expr: Some(expr), generation_expr_mode, .. } => {
                    if *generation_expr_mode != Some(GeneratedExpressionMode::Stored) {
                        return plan_err!(
                            "column {name:?}: write GENERATED ALWAYS AS ({expr}) STORED; a view has columns that are computed when they are read"
                        );
                    }
                    generated = Some(expr.clone());
                }
                ColumnOption::Generated { generated_as, sequence_options, .. } => {
                    let always = *generated_as == GeneratedAs::Always;
                    if identity.replace((always, sequence_options.clone().unwrap_or_default())).is_some() {
                        return plan_err!("column {name:?} is an identity column twice; write it once");
                    }
                }
                ColumnOption::DialectSpecific(tokens) if is_auto_increment(tokens) => {
                    if identity.replace((false, Vec::new())).is_some() {
                        return plan_err!("column {name:?} is an identity column twice; write it once");
                    }
                }
                _ => given.push(option),
            }
        }
        column.options = given;
        if identity.is_none() && generated.is_none() {
            continue;
        }
        let has = |is: fn(&ColumnOption) -> bool| column.options.iter().any(|option| is(&option.option));
        if identity.is_some() && generated.is_some() || has(|option| matches!(option, ColumnOption::Default(_))) {
            return plan_err!("column {name:?} has its values in two ways; leave out the DEFAULT or the other one");
        }
        if let Some(expr) = generated {
            if has(|option| matches!(option, ColumnOption::PrimaryKey(_))) {
                return in_key(&name);
            }
            if column.data_type == DataType::Unspecified {
                return plan_err!("column {name:?} has no type; write it between the name and GENERATED");
            }
            declared.generated.insert(name.clone(), expr);
        }
        if let Some((always, written)) = identity {
            if has(|option| matches!(option, ColumnOption::Null)) {
                return plan_err!("column {name:?} is an identity column, and has no nulls; leave out NULL");
            }
            let Some(range) = integer_range(&column.data_type) else {
                return plan_err!(
                    "column {name:?} is {}; identity columns are SMALLINT, INTEGER or BIGINT",
                    column.data_type
                );
            };
            if !has(|option| matches!(option, ColumnOption::NotNull)) {
                column.options.push(ColumnOptionDef { name: None, option: ColumnOption::NotNull });
            }
            let options = sequence_options(&written, range)?;
            declared.identities.insert(name, Identity { always, options });
        }
    }
    Ok(declared)
}

fn in_key<T>(name: &str) -> Result<T> {
    plan_err!(
        "column {name:?} is generated, and cannot be part of the primary key; CREATE UNIQUE INDEX finds rows by it"
    )
}

/// The type of the integers of `SERIAL` and its kin.
fn serial_type(data_type: &DataType) -> Option<DataType> {
    let DataType::Custom(name, modifiers) = data_type else { return None };
    if !modifiers.is_empty() {
        return None;
    }
    match name.to_string().to_ascii_lowercase().as_str() {
        "serial" | "serial4" => Some(DataType::Integer(None)),
        "bigserial" | "serial8" => Some(DataType::BigInt(None)),
        "smallserial" | "serial2" => Some(DataType::SmallInt(None)),
        _ => None,
    }
}

impl DeclaredComputed {
    pub(super) fn is_empty(&self) -> bool {
        self.identities.is_empty() && self.generated.is_empty()
    }

    /// The expression of a column that is the only one, and generated.
    pub(super) fn only_generated(&self) -> Option<String> {
        let expr = self.generated.values().next().filter(|_| self.identities.is_empty())?;
        Some(expr.to_string())
    }

    /// The metadata of the columns: name, key and value.
    pub(super) fn metadata(&self) -> impl Iterator<Item = (String, &'static str, String)> {
        let identity = |(name, identity): (&String, &Identity)| {
            let kind = if identity.always { ALWAYS } else { BY_DEFAULT };
            (name.clone(), IDENTITY_KEY, kind.to_owned())
        };
        let generated = |(name, expr): (&String, &Expr)| (name.clone(), GENERATED_KEY, expr.to_string());
        self.identities.iter().map(identity).chain(self.generated.iter().map(generated))
    }
}

impl Definitions<'_> {
    /// Checks the expressions of generated columns.
    pub(super) fn check_generated(&self, declared: &DeclaredComputed, schema: &Schema, key: &[String]) -> Result<()> {
        let names: Vec<String> = declared.generated.keys().cloned().collect();
        for (name, expr) in &declared.generated {
            if key.contains(name) {
                return in_key(name);
            }
            plan_generated(self.state, schema, &names, name, &expr.to_string())?;
        }
        Ok(())
    }

    /// Adds a generated column, and computes its values of all rows.
    pub(super) async fn add_generated(
        &self,
        table: &KeyedTable,
        mut column: ColumnDef,
        text: String,
        if_not_exists: bool,
    ) -> Result<()> {
        let declared = take_constraints(std::slice::from_mut(&mut column), &mut Vec::new());
        if !declared.is_empty() {
            return plan_err!(
                "column {}: write CHECK, REFERENCES and VARCHAR(n) in statements after this one",
                column.name
            );
        }
        if table.transaction().is_none() {
            return plan_err!(
                "table {:?} is attached by its folder; generated columns are added to tables of the session's database",
                table.name()
            );
        }
        let (field, _) = self.column(&column).await?;
        let name = field.name().clone();
        if if_not_exists && table.schema().column_with_name(&name).is_some() {
            return Ok(());
        }
        let computed = table.computed().iter();
        let generated = computed.filter(|column| column.is_generated()).map(|column| column.name.clone());
        let generated: Vec<String> = generated.chain([name.clone()]).collect();
        let fields = table.schema().fields().iter().cloned().chain([Arc::new(field.clone())]).collect::<Vec<_>>();
        plan_generated(self.state, &Schema::new(fields), &generated, &name, &text)?;
        let is_nullable = field.is_nullable();
        let mut metadata = field.metadata().clone();
        metadata.insert(GENERATED_KEY.to_owned(), text);
        let field = field.with_nullable(true).with_metadata(metadata);
        let transaction = StatementTransaction::begin(self.tables.transaction(), self.database()?).await?;
        self.change_table_by(Step::First, table, move |table| table.add_column(&field, None)).await?;
        self.rewrite_rows(table.name()).await?;
        if !is_nullable {
            self.change_table(table, move |table| table.set_nullable(&name, false)).await?;
        }
        transaction.commit().await
    }

    /// Computes the generated columns of all rows.
    async fn rewrite_rows(&self, name: &str) -> Result<()> {
        let table = self.stored(name)?;
        let schema = table.schema();
        let is_computed = |name: &str| table.computed().iter().any(|column| column.name == name);
        let is_key = |place: &usize| table.key_columns().contains(place);
        let mut places = (0..schema.fields().len()).filter(|&place| !is_computed(schema.field(place).name()));
        let place = places.clone().find(|place| !is_key(place)).or_else(|| places.next());
        let Some(place) = place else {
            return plan_err!("table {name:?} has no column from which others are generated");
        };
        let quoted = |name: &str| Ident::with_quote('"', name);
        let (table, column) = (quoted(name), quoted(schema.field(place).name()));
        let text = format!("UPDATE {table} SET {column} = {column}");
        let Some(mut statement) = parse(&text)?.pop_front() else { return plan_err!("{text}") };
        adapt_row_target(&mut statement, self.tables)?;
        let plan = self.state.statement_to_plan(statement).await?;
        let plan = plan_change(self.state, plan, &OnConflict::Refuse, None, self.tables.transaction())?;
        let plan = self.state.create_physical_plan(&plan).await?;
        collect(plan, self.state.task_ctx()).await.map(drop)
    }

    /// Creates the sequences of the identity columns of a new table. In a transaction, they are dropped at its end unless there is the table then.
    pub(super) async fn create_identities(&self, declared: &DeclaredComputed, table: &KeyedTable) -> Result<()> {
        let database = self.database()?;
        let mut sequences = Vec::new();
        for column in table.computed() {
            if let (Computation::Identity { sequence, .. }, Some(identity)) =
                (&column.computation, declared.identities.get(&column.name))
            {
                sequences.push((sequence.clone(), identity.options));
            }
        }
        if sequences.is_empty() {
            return Ok(());
        }
        self.drop_sequences_at_end(table.table().folder())?;
        // A killed process may have left some.
        let own = own_sequences(table.table().folder());
        table_work(move || {
            drop_sequences(&database, &own)?;
            sequences.iter().try_for_each(|(name, options)| database.create_sequence(name, options))
        })
        .await
    }

    /// Drops the sequences of a dropped table's columns, in a transaction at its end.
    pub(super) async fn drop_identities(&self, folder: &Path) -> Result<()> {
        if self.drop_sequences_at_end(folder)? {
            return Ok(());
        }
        let (database, own) = (self.database()?, own_sequences(folder));
        table_work(move || drop_sequences(&database, &own)).await
    }

    /// Lets an open transaction drop the sequences of a table's columns at its end, unless there is the table then. Returns whether one is open.
    fn drop_sequences_at_end(&self, folder: &Path) -> Result<bool> {
        let Some(open) = self.tables.transaction().open() else { return Ok(false) };
        let (database, folder) = (self.database()?, folder.to_owned());
        open.at_end(move || {
            let is_there = || -> lath_table::Result<bool> {
                let newest = database.snapshot()?;
                let names = newest.table_names()?;
                let folders = names.iter().map(|name| Ok(newest.handle(name)?.folder() == folder));
                Ok(folders.collect::<lath_table::Result<Vec<bool>>>()?.contains(&true))
            };
            // Sequences that stay have no table, and are replaced when a table gets their names.
            if is_there().is_ok_and(|is_there| !is_there) {
                let _ = drop_sequences(&database, &own_sequences(&folder));
            }
        });
        Ok(true)
    }
}

/// Drops the sequences whose names begin with `own`.
fn drop_sequences(database: &Database, own: &str) -> lath_table::Result<()> {
    for name in database.sequences()?.into_keys().filter(|name| name.starts_with(own)) {
        database.drop_sequence(&name)?;
    }
    Ok(())
}
