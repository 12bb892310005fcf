//! A table with a primary key as a DataFusion table.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{Constraint, Constraints, DFSchema, Result, Statistics, plan_datafusion_err};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::SessionState;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use lath_parquet::Predicate;
use lath_table::{Database, ForeignKeyInfo, GENERATED_KEY, IDENTITY_KEY, ROW_NUMBERS_KEY, Snapshot, Table};

use super::changes_of::ChangesOf;
use super::comment_text::COMMENT;
use super::earlier::EarlierState;
use super::generated::{GeneratedColumn, with_generated_columns};
use super::lookup::lookup;
use super::source::{KeyedSource, Reading};
use crate::computed::{Computation, ComputedColumn, computed_columns, uses_column};
use crate::error::{outdated, table_error, table_work};
use crate::scan::{
    Pushdown, changes_refused_by, insert_by, physical, scan_by, selectivity, support, with_condition_columns, with_rest,
};
use crate::transaction::{CurrentTransaction, View};

/// The metadata key of a column's number, which is unique within its table only.
const FIELD_ID: &str = "PARQUET:field_id";

/// The metadata key of a column's default, the text of an expression.
pub(crate) const COLUMN_DEFAULT: &str = "lath:default";

/// The column with the numbers of rows in a table without a primary key, which is its first one.
pub(crate) const ROW_COLUMN: &str = "_row";

/// The name of this column in statements that change rows, which no statement has.
const SHOWN_ROW_COLUMN: &str = "\u{1f}row";

/// Follows the name of a table without a primary key where its numbers of rows are a column. No name of a table ends with white space.
pub(crate) const WITH_ROW_COLUMN: &str = " ";

/// The column with the numbers of rows.
pub(crate) fn row_column() -> Field {
    let metadata = HashMap::from([(ROW_NUMBERS_KEY.to_owned(), String::new())]);
    Field::new(ROW_COLUMN, DataType::Int64, false).with_metadata(metadata)
}

/// A table with a primary key. A statement [binds](super::bind) it to the commit that it reads.
#[derive(Clone)]
pub(crate) struct KeyedTable {
    name: String,
    table: Table,
    /// The database of the table; `None` if it is attached by its folder.
    database: Option<Database>,
    /// The transaction of the session whose database has the table.
    transaction: Option<Arc<CurrentTransaction>>,
    /// The name of the snapshot to read; `None` reads the newest commit.
    earlier: Option<EarlierState>,
    contents: Contents,
    /// The columns that queries see.
    schema: SchemaRef,
    /// Number of columns before them.
    hidden: usize,
    has_row_numbers: bool,
    key_columns: Vec<usize>,
    constraints: Constraints,
    /// The columns whose values the table gives.
    computed: Arc<[ComputedColumn]>,
    /// Columns with a default, and its text.
    default_texts: Vec<(String, String)>,
    /// The defaults as expressions, once a session has planned them.
    defaults: HashMap<String, Expr>,
    /// The generated columns that conditions may use, once a session has planned them.
    generated: Arc<[GeneratedColumn]>,
    /// The state whose rows come before the changes, or the name of the consumer.
    changes_of: ChangesOf,
    /// The commit to read, once a statement is bound to it.
    snapshot: Option<Snapshot>,
    /// The condition that all rows satisfy.
    condition: Option<Predicate>,
}

/// The part of a table that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    /// The current rows.
    Rows,
    /// The changes of commits after this one.
    Changes { since: u64 },
}

impl KeyedTable {
    /// Creates a table that is attached by its folder.
    pub(crate) fn attached(name: &str, table: Table) -> Result<Self> {
        let snapshot = table.snapshot().map_err(table_error)?;
        Ok(Self::new(name, table, None, &snapshot))
    }

    /// As [`attached`](Self::attached), with the rows of a snapshot.
    pub(crate) fn attached_at(name: &str, table: Table, snapshot: Snapshot) -> Result<Self> {
        Self::attached(name, table)?.at(EarlierState::Open(Box::new(snapshot)))
    }

    /// Creates a table of a session's database.
    pub(crate) fn from_database(
        name: &str,
        table: Table,
        database: &Database,
        transaction: &Arc<CurrentTransaction>,
    ) -> Result<Self> {
        let snapshot = match transaction.view() {
            Some(view) => view.snapshot.table(name),
            None => table.snapshot(),
        };
        let table = Self::new(name, table, Some(database.clone()), &snapshot.map_err(table_error)?);
        Ok(Self { transaction: Some(Arc::clone(transaction)), ..table })
    }

    fn new(name: &str, table: Table, database: Option<Database>, snapshot: &Snapshot) -> Self {
        let schema = plain_schema(snapshot.schema());
        let has_row_numbers =
            snapshot.schema().fields().first().is_some_and(|first| first.metadata().contains_key(ROW_NUMBERS_KEY));
        let (schema, hidden) = match has_row_numbers {
            true => (without_first(&schema), 1),
            false => (schema, 0),
        };
        let computed = computed_columns(snapshot.schema(), table.folder());
        let key_columns = if has_row_numbers { Vec::new() } else { snapshot.key_columns().to_vec() };
        let keys = (!has_row_numbers).then(|| Constraint::PrimaryKey(key_columns.clone()));
        Self {
            name: name.to_owned(),
            table,
            database,
            transaction: None,
            earlier: None,
            contents: Contents::Rows,
            schema,
            hidden,
            has_row_numbers,
            constraints: Constraints::new_unverified(keys.into_iter().collect()),
            key_columns,
            default_texts: default_texts(snapshot.schema(), &computed),
            computed: computed.into(),
            defaults: HashMap::new(),
            generated: Arc::default(),
            changes_of: ChangesOf::Commits,
            snapshot: None,
            condition: None,
        }
    }

    /// Restricts the table to rows for which `condition` is true.
    pub(crate) fn with_condition(self, condition: Option<Predicate>) -> Self {
        Self { condition, ..self }
    }

    /// The table in an earlier state.
    pub(crate) fn at(self, earlier: EarlierState) -> Result<Self> {
        let then = earlier.read(&self.newest()?)?;
        let table = Self::new(&self.name, self.table, self.database, &then);
        Ok(Self { earlier: Some(earlier), transaction: self.transaction, ..table })
    }

    /// The changes of commits after this one.
    pub(crate) fn changes_since(self, since: u64) -> Result<Self> {
        let changes = self.newest()?.changes(since).map_err(table_error)?;
        let (schema, constraints) = (plain_schema(&changes.schema()), Constraints::default());
        Ok(Self { contents: Contents::Changes { since }, schema, hidden: 0, constraints, ..self })
    }

    /// The rows of a named snapshot, and the changes of commits after it.
    pub(crate) fn changes_from(self, name: &str) -> Result<Self> {
        let state = EarlierState::Snapshot(name.to_owned());
        let since = state.read(&self.newest()?)?.version();
        Ok(Self { changes_of: ChangesOf::Rows(state), ..self.changes_since(since)? })
    }

    /// The changes that a consumer has not acknowledged.
    pub(crate) fn changes_for(self, consumer: &str) -> Result<Self> {
        let since = self.newest()?.version();
        let changes_of = ChangesOf::Consumer(consumer.to_owned());
        Ok(Self { changes_of, ..self.changes_since(since)? })
    }

    /// All changes that the table keeps.
    pub(crate) fn all_changes(self) -> Result<Self> {
        let since = match self.newest()?.changes(0) {
            Err(lath_table::Error::NoChanges { kept_since: Some(kept_since), .. }) => kept_since,
            Err(error) => return Err(table_error(error)),
            Ok(_) => 0,
        };
        self.changes_since(since)
    }

    /// Plans the defaults and the expressions of columns. `state` is called only if there are any.
    pub(crate) fn with_defaults(mut self, state: impl FnOnce() -> Option<SessionState>) -> Result<Self> {
        if self.default_texts.is_empty() && !self.computed.iter().any(ComputedColumn::is_generated) {
            return Ok(self);
        }
        let Some(state) = state() else { return Ok(self) };
        for (column, text) in &self.default_texts {
            let expr = state.create_logical_expr(text, &DFSchema::empty())?;
            self.defaults.insert(column.clone(), expr);
        }
        let mut generated = Vec::new();
        for column in &*self.computed {
            if let Computation::Generated(text) = &column.computation {
                generated.extend(GeneratedColumn::new(&state, &self.schema, &column.name, text)?);
            }
        }
        self.generated = generated.into();
        Ok(self)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The columns whose values the table gives.
    pub(crate) fn computed(&self) -> &[ComputedColumn] {
        &self.computed
    }

    /// The generated columns that conditions may use.
    pub(crate) fn generated(&self) -> &[GeneratedColumn] {
        &self.generated
    }

    /// A column that is generated from this one, and its expression.
    pub(crate) fn generated_from(&self, name: &str) -> Result<Option<(&str, &str)>> {
        for column in &*self.computed {
            if let Computation::Generated(text) = &column.computation
                && uses_column(text, name)?
            {
                return Ok(Some((&column.name, text)));
            }
        }
        Ok(None)
    }

    /// The column whose default takes numbers of a sequence.
    pub(crate) fn uses_sequence(&self, name: &str) -> Option<&str> {
        let text = |(_, text): &&(String, String)| {
            text.to_lowercase().contains("nextval")
                && (text.contains(&format!("'{name}'")) || text.contains(&format!("\"{name}\"")))
        };
        self.default_texts.iter().find(text).map(|(column, _)| column.as_str())
    }

    /// The text of a column's default.
    pub(crate) fn default_text(&self, column: &str) -> Option<&str> {
        self.default_texts.iter().find(|(name, _)| name == column).map(|(_, text)| text.as_str())
    }

    /// Whether the table has no primary key, and the keys of its rows are numbers that queries do not see.
    pub(crate) fn hides_rows(&self) -> bool {
        self.hidden > 0
    }

    /// The columns of the table as it stores them.
    pub(crate) fn stored_schema(&self) -> SchemaRef {
        match (self.has_row_numbers, self.hidden) {
            (false, _) => Arc::clone(&self.schema),
            (true, 0) => with_first_named(&self.schema, ROW_COLUMN),
            (true, _) => self.clone().with_row_column().stored_schema(),
        }
    }

    /// Whether the table has no primary key.
    pub(crate) fn has_row_numbers(&self) -> bool {
        self.has_row_numbers
    }

    /// The table with the numbers of rows as its first column and key, if it hides them.
    pub(crate) fn with_row_column(self) -> Self {
        if self.hidden == 0 {
            return self;
        }
        let row = row_column().with_metadata(HashMap::new()).with_name(SHOWN_ROW_COLUMN);
        let fields = std::iter::once(Arc::new(row)).chain(self.schema.fields().iter().cloned());
        let schema = Schema::new_with_metadata(fields.collect::<Vec<_>>(), self.schema.metadata().clone());
        let constraints = Constraints::new_unverified(vec![Constraint::PrimaryKey(vec![0])]);
        Self { schema: Arc::new(schema), hidden: 0, key_columns: vec![0], constraints, ..self }
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    pub(crate) fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    pub(crate) fn earlier_state(&self) -> Option<&EarlierState> {
        self.earlier.as_ref()
    }

    /// The indices of the key columns.
    pub(crate) fn key_columns(&self) -> &[usize] {
        &self.key_columns
    }

    /// Whether rows can be changed. Earlier states and change feeds are read-only.
    pub(crate) fn is_changeable(&self) -> bool {
        self.earlier.is_none() && self.contents == Contents::Rows
    }

    /// Binds the table to a commit, which must have the columns that the statement was planned for.
    pub(crate) fn bound(&self, snapshot: Snapshot) -> Result<Self> {
        self.check_columns(&snapshot)?;
        Ok(Self { snapshot: Some(snapshot), ..self.clone() })
    }

    /// Returns an error if the commit has other columns.
    pub(crate) fn check_columns(&self, snapshot: &Snapshot) -> Result<()> {
        let schema = plain_schema(snapshot.schema());
        let schema = match (self.has_row_numbers, self.hidden) {
            (false, _) => schema,
            (true, 0) => with_first_named(&schema, SHOWN_ROW_COLUMN),
            (true, _) => without_first(&schema),
        };
        if self.contents != Contents::Rows || schema == self.schema {
            return Ok(());
        }
        Err(outdated(format!(
            "the columns of table {:?} have changed since the statement was planned; run it again",
            self.name
        )))
    }

    /// The newest commit, or what an open transaction reads.
    pub(crate) fn newest(&self) -> Result<Snapshot> {
        let newest = match self.view() {
            Some(view) => view.snapshot.table(&self.name),
            None => self.table.snapshot(),
        };
        newest.map_err(table_error)
    }

    /// The foreign keys of the table.
    pub(crate) fn foreign_keys(&self) -> Result<Vec<ForeignKeyInfo>> {
        let foreign_keys = match self.view() {
            Some(view) => view.snapshot.foreign_keys(&self.name),
            None => self.table.snapshot().and_then(|newest| newest.foreign_keys()),
        };
        foreign_keys.map_err(table_error)
    }

    /// The transaction of the session whose database has the table.
    pub(crate) fn transaction(&self) -> Option<&Arc<CurrentTransaction>> {
        self.transaction.as_ref()
    }

    /// The view that the open transaction of its session reads.
    pub(crate) fn view(&self) -> Option<View> {
        self.transaction.as_ref()?.view()
    }

    /// The commit that the statement is bound to, or else the newest.
    fn settled(&self) -> Result<Snapshot> {
        match (&self.snapshot, &self.earlier) {
            (Some(snapshot), _) => Ok(snapshot.clone()),
            (None, Some(earlier)) => earlier.read(&self.newest()?),
            (None, None) => self.newest(),
        }
    }

    /// Estimates how many of `rows` rows satisfy the conditions.
    fn estimated_rows(&self, rows: usize, filters: &[&Expr]) -> usize {
        let Some(condition) = conjunction(filters.iter().map(|&filter| filter.clone())) else { return rows };
        let known = Statistics { num_rows: Precision::Exact(rows), ..Statistics::new_unknown(&self.schema) };
        let share = physical(&condition, &self.schema).map_or(1.0, |condition| selectivity(&condition, &known));
        ((rows as f64 * share).ceil() as usize).clamp(1, rows.max(1))
    }

    /// Statistics for the planner. Counting rows may look for keys in files.
    async fn statistics(&self, snapshot: &Snapshot, schema: &SchemaRef, filters: &[&Expr]) -> Result<Statistics> {
        let unknown = Statistics::new_unknown(schema);
        if self.contents != Contents::Rows {
            return Ok(unknown);
        }
        let counted = snapshot.clone();
        let rows = table_work(move || counted.count()).await?;
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let num_rows = match filters {
            [] => Precision::Exact(rows),
            filters => Precision::Inexact(self.estimated_rows(rows, filters)),
        };
        Ok(Statistics { num_rows, ..unknown })
    }
}

fn default_texts(schema: &Schema, computed: &[ComputedColumn]) -> Vec<(String, String)> {
    let identities = computed.iter().filter_map(|column| Some((column.name.clone(), column.default_text()?)));
    let text = |field: &Arc<Field>| Some((field.name().clone(), field.metadata().get(COLUMN_DEFAULT)?.clone()));
    schema.fields().iter().filter_map(text).chain(identities).collect()
}

fn with_first_named(schema: &SchemaRef, name: &str) -> SchemaRef {
    let mut fields: Vec<Field> = schema.fields().iter().map(|field| field.as_ref().clone()).collect();
    if let Some(first) = fields.first_mut() {
        first.set_name(name);
    }
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn without_first(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().skip(1).cloned().collect::<Vec<_>>();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Removes the numbers, defaults and comments of columns from a schema: if rows of several tables are written to one file, numbers would not be
/// unique.
fn plain_schema(schema: &Schema) -> SchemaRef {
    let plain = |field: &Arc<Field>| {
        let mut metadata = field.metadata().clone();
        metadata.remove(FIELD_ID);
        metadata.remove(COLUMN_DEFAULT);
        metadata.remove(GENERATED_KEY);
        metadata.remove(COMMENT);
        metadata.remove(IDENTITY_KEY);
        metadata.remove(ROW_NUMBERS_KEY);
        Field::clone(field).with_metadata(metadata)
    };
    let mut metadata = schema.metadata().clone();
    metadata.remove(COMMENT);
    Arc::new(Schema::new_with_metadata(schema.fields().iter().map(plain).collect::<Vec<_>>(), metadata))
}

impl KeyedTable {
    async fn plan_scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let snapshot = self.settled()?;
        let filters = filters.iter().map(|filter| with_generated_columns(filter, &self.generated));
        let filters = &*filters.collect::<Result<Vec<_>>>()?;
        let all: Vec<usize> = (0..self.schema.fields().len()).collect();
        let projection = projection.unwrap_or(&all);
        let is_rows = self.contents == Contents::Rows;
        let may_look_up = is_rows && self.condition.is_none();
        let looked_up =
            if may_look_up { lookup(filters, &self.schema, &self.key_columns, &snapshot).await? } else { None };
        let pushed = match (&looked_up, is_rows) {
            (None, true) => Pushdown::new(filters, &self.schema),
            // Lookups and change feeds test no conditions.
            _ => Pushdown { predicate: Predicate::TRUE, answered: Vec::new(), rest: filters.iter().collect() },
        };
        let columns = with_condition_columns(projection, &pushed.rest, &self.schema)?;
        let schema = Arc::new(self.schema.project(&columns)?);
        let limit = limit.filter(|_| pushed.rest.is_empty());
        let (reading, statistics) = match (looked_up, self.contents) {
            (Some((reading, rows)), _) => {
                let num_rows = Precision::Inexact(rows);
                (reading, Statistics { num_rows, ..Statistics::new_unknown(&schema) })
            }
            (None, Contents::Changes { since }) => {
                (self.changes_of.reading(since, &snapshot)?, Statistics::new_unknown(&schema))
            }
            (None, Contents::Rows) => {
                let statistics = match state.config().collect_statistics() {
                    true => self.statistics(&snapshot, &schema, &pushed.answered).await?,
                    false => Statistics::new_unknown(&schema),
                };
                (Reading::Rows, statistics)
            }
        };
        let predicate = self.condition.clone().unwrap_or(Predicate::TRUE).and(pushed.predicate);
        let predicate = (predicate != Predicate::TRUE).then_some(predicate);
        // A predicate that tests only part of a condition reduces the rows, too.
        let statistics = if predicate.is_some() { statistics.to_inexact() } else { statistics };
        let columns = columns.into_iter().map(|column| column + self.hidden).collect();
        let source = KeyedSource {
            name: self.name.clone(),
            partitions: if matches!(reading, Reading::Rows) { state.config().target_partitions().max(1) } else { 1 },
            reading,
            snapshot,
            columns,
            schema,
            predicate,
            pushed_filters: Vec::new(),
            fetch: limit,
            statistics: Arc::new(statistics),
            metrics: ExecutionPlanMetricsSet::new(),
        };
        let source: Arc<dyn ExecutionPlan> = DataSourceExec::from_data_source(source);
        with_rest(source, (0..projection.len()).collect(), &pushed.rest)
    }

    async fn plan_insert(
        &self,
        _: &dyn Session,
        _: Arc<dyn ExecutionPlan>,
        _: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Err(not_here(&self.name))
    }
}

impl TableProvider for KeyedTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn constraints(&self) -> Option<&Constraints> {
        Some(&self.constraints)
    }

    fn get_column_default(&self, column: &str) -> Option<&Expr> {
        self.defaults.get(column)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match self.contents {
            Contents::Rows => Ok(support(&with_generated_columns(filter, &self.generated)?, &self.schema)),
            Contents::Changes { .. } => Ok(TableProviderFilterPushDown::Unsupported),
        };
        filters.iter().map(support).collect()
    }

    scan_by!(KeyedTable, plan_scan);

    insert_by!(KeyedTable, plan_insert);

    changes_refused_by!(|table| not_here(&table.name));
}

/// The error for changes that DataFusion would make itself. It drops conditions with subqueries, so it may not change rows.
fn not_here(name: &str) -> datafusion::error::DataFusionError {
    plan_datafusion_err!("table {name:?} can be changed only by statements given to Session::sql")
}

impl fmt::Debug for KeyedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("KeyedTable");
        text.field("name", &self.name).field("earlier", &self.earlier).field("contents", &self.contents);
        text.finish_non_exhaustive()
    }
}
