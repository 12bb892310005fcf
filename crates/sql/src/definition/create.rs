//! `CREATE TABLE … PRIMARY KEY`, also with the rows of a query (`AS`), in another order than the key's (`CLUSTER BY`), and with files in a bucket
//! (`WITH`).

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::extension::Uuid;
use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use datafusion::common::{Constraint, Constraints, DFSchema, Result, plan_datafusion_err, plan_err};
use datafusion::logical_expr::{CreateMemoryTable, DdlStatement, LogicalPlan};
use datafusion::physical_plan::collect;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    CreateTable, CreateTableOptions, Expr, IndexColumn, SqlOption, Statement as SqlStatement, TableConstraint, Value,
    WrappedCollection,
};
use lath_table::{Constraint as TableRule, Database, DatabaseTransaction, Durability, TimeToLive, Transaction};
use lath_text::is_uuid;

use super::Definitions;
use super::computed::{DeclaredComputed, take_computed};
use super::constraint::{DeclaredConstraints, take_constraints};
use super::default::{default_text, read_uuid_default};
use super::foreign_key::DeclaredForeignKey;
use super::index::{check_are_no_numbers, column_name};
use super::time_to_live::time_to_live;
use crate::change::insert_into;
use crate::dialect::normal;
use crate::error::table_work;
use crate::keyed::{COLUMN_DEFAULT, ROW_COLUMN, row_column};
use crate::transaction::{ChangesInSteps, Step};

/// The indices of the primary key's columns.
pub(super) fn primary_key(constraints: &Constraints) -> Option<&[usize]> {
    constraints.iter().find_map(|constraint| match constraint {
        Constraint::PrimaryKey(columns) => Some(columns.as_slice()),
        Constraint::Unique(_) => None,
    })
}

/// The name of a column, and a key and value of its metadata.
type Metadata = (String, &'static str, String);

/// A table to create.
struct NewTable {
    name: String,
    schema: SchemaRef,
    key: Vec<String>,
    /// The columns that files are sorted by, before the key.
    cluster: Vec<String>,
    /// The URL below which the files are, if they are in a bucket.
    cold: Option<String>,
    /// The rule by which rows expire.
    ttl: Option<TimeToLive>,
    unique: Vec<Vec<String>>,
    /// Conditions, and lengths of texts.
    constraints: Vec<TableRule>,
}

/// The clauses of a statement about the files of a table and the life of its rows.
#[derive(Default)]
struct FileOptions {
    cluster: Vec<String>,
    cold: Option<String>,
    ttl: Option<TimeToLive>,
}

/// The columns of `CLUSTER BY`, with or without parentheses.
pub(super) fn cluster_columns(exprs: &[Expr]) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for expr in exprs {
        match expr {
            Expr::Identifier(name) => names.push(normal(name)),
            Expr::Nested(inner) => names.extend(cluster_columns(std::slice::from_ref(&**inner))?),
            Expr::Tuple(inner) => names.extend(cluster_columns(inner)?),
            other => return plan_err!("CLUSTER BY {other}: expected names of columns"),
        }
    }
    Ok(names)
}

/// The options of `WITH (cold = 's3://bucket/prefix', ttl = ts + INTERVAL '30 days')`.
fn with_options(options: &CreateTableOptions) -> Result<(Option<String>, Option<TimeToLive>)> {
    let CreateTableOptions::With(options) = options else { return Ok((None, None)) };
    let (mut cold, mut ttl) = (None, None);
    for option in options {
        let SqlOption::KeyValue { key, value } = option else {
            return plan_err!("WITH ({option}): expected cold = 's3://bucket/prefix' or ttl = ts + INTERVAL '30 days'");
        };
        let is_repeated = match normal(key).as_str() {
            "cold" => cold.replace(cold_files(value)?).is_some(),
            "ttl" => ttl.replace(time_to_live(value)?).is_some(),
            _ => {
                return plan_err!(
                    "WITH ({option}): the options of a table are cold = 's3://bucket/prefix' and ttl = ts + INTERVAL '30 days'"
                );
            }
        };
        if is_repeated {
            return plan_err!("WITH has the option {key} twice");
        }
    }
    Ok((cold, ttl))
}

/// The URL of a bucket.
fn cold_files(value: &Expr) -> Result<String> {
    if let Expr::Value(text) = value
        && let Value::SingleQuotedString(url) = &text.value
    {
        return Ok(url.clone());
    }
    plan_err!("cold = {value}: expected the URL of a bucket in single quotes, such as 's3://bucket/prefix'")
}

impl Definitions<'_> {
    /// Creates the table if it has a primary key. Returns whether it has one.
    pub(super) async fn create(&self, create: &CreateTable) -> Result<bool> {
        let (cold, ttl) = with_options(&create.table_options)?;
        let mut create = create.clone();
        create.columns.iter_mut().for_each(read_uuid_default);
        let declared = take_constraints(&mut create.columns, &mut create.constraints);
        let computed = take_computed(&mut create.columns)?;
        let has_computed = !computed.is_empty();
        if has_computed && (self.is_temporary || !self.tables.has_database()) {
            return plan_err!(
                "identity and generated columns need a table of a database; open the session with one (lath sql --database FOLDER), and leave out TEMPORARY"
            );
        }
        if has_computed && create.query.is_some() {
            return plan_err!(
                "a table with identity or generated columns is not created AS a query; create it without, and INSERT INTO {} (columns) SELECT …",
                create.name
            );
        }
        let has_constraints = !declared.is_empty();
        if self.is_temporary && has_constraints {
            return plan_err!(
                "table {} is in memory, where CHECK, REFERENCES and VARCHAR(n) are not checked; leave them out, or create the table in a database, without TEMPORARY",
                create.name
            );
        }
        if self.is_temporary {
            return match cold.is_some() || ttl.is_some() {
                true => plan_err!("a temporary table is in memory, without files and TTL; leave out WITH"),
                false => Ok(false),
            };
        }
        let cluster = match &create.cluster_by {
            Some(WrappedCollection::NoWrapping(exprs) | WrappedCollection::Parentheses(exprs)) => {
                cluster_columns(exprs)?
            }
            None => Vec::new(),
        };
        // DataFusion plans neither CLUSTER BY nor WITH.
        let create = CreateTable { cluster_by: None, table_options: CreateTableOptions::None, ..create };
        let files = FileOptions { cluster, cold, ttl };
        let is_created = match create.query.is_some() && create.columns.is_empty() {
            true => self.create_by_query(&create, &files, declared).await?,
            false => self.create_declared(&create, &files, declared, &computed).await?,
        };
        if !is_created && has_constraints {
            return plan_err!(
                "a table in memory does not check CHECK, REFERENCES and VARCHAR(n); leave them out, or open the session with a database"
            );
        }
        if !is_created && !files.cluster.is_empty() {
            return plan_err!("CLUSTER BY needs a PRIMARY KEY; declare one, or leave it out");
        }
        if !is_created && (files.cold.is_some() || files.ttl.is_some()) {
            return plan_err!("WITH needs a PRIMARY KEY; declare one, or leave it out");
        }
        Ok(is_created)
    }

    /// `CREATE TABLE … (columns)`, with or without `AS query`, if there is a primary key. The declared columns count, not the query's.
    async fn create_declared(
        &self,
        create: &CreateTable,
        files: &FileOptions,
        constraints: DeclaredConstraints,
        computed: &DeclaredComputed,
    ) -> Result<bool> {
        let plan = async |create: CreateTable| {
            let statement = Statement::Statement(Box::new(SqlStatement::CreateTable(create)));
            self.state.statement_to_plan(statement).await
        };
        let declared = plan(CreateTable { query: None, ..create.clone() }).await?;
        let LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(declared)) = declared else { return Ok(false) };
        if primary_key(&declared.constraints).is_none() && !self.tables.has_database() {
            return Ok(false);
        }
        for (column, expr) in &declared.column_defaults {
            let field = declared.input.schema().field_with_unqualified_name(column)?;
            self.check_default(expr.clone(), field).await?;
        }
        let default = |def| default_text(def).map(|text| (normal(&def.name), COLUMN_DEFAULT, text));
        let defaults: Vec<Metadata> = create.columns.iter().filter_map(default).chain(computed.metadata()).collect();
        let query = match create.query {
            None => None,
            Some(_) => match plan(create.clone()).await? {
                LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(filled)) => Some(filled.input),
                _ => return Ok(false),
            },
        };
        self.create_filled(&declared, files, &defaults, constraints, computed, query).await?;
        Ok(true)
    }

    /// `CREATE TABLE … (PRIMARY KEY (columns)) AS query`. DataFusion looks up key columns among qualified names and finds none, so the
    /// statement is planned without its constraints.
    async fn create_by_query(
        &self,
        create: &CreateTable,
        files: &FileOptions,
        declared: DeclaredConstraints,
    ) -> Result<bool> {
        let has_key = create.constraints.iter().any(|constraint| matches!(constraint, TableConstraint::PrimaryKey(_)));
        if !has_key && !self.tables.has_database() {
            return Ok(false);
        }
        let without = SqlStatement::CreateTable(CreateTable { constraints: Vec::new(), ..create.clone() });
        let planned = self.state.statement_to_plan(Statement::Statement(Box::new(without))).await?;
        let LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(planned)) = planned else { return Ok(false) };
        let query = Arc::clone(&planned.input);
        let places = |columns: &[IndexColumn]| -> Result<Vec<usize>> {
            let place = |column| {
                let name = column_name(column)?;
                let place = query.schema().index_of_column_by_name(None, &name);
                place.ok_or_else(|| plan_datafusion_err!("the query has no column {name:?}; name columns that it has"))
            };
            columns.iter().map(place).collect()
        };
        let constraint = |constraint: &TableConstraint| match constraint {
            TableConstraint::PrimaryKey(key) => Ok(Constraint::PrimaryKey(places(&key.columns)?)),
            TableConstraint::Unique(unique) => Ok(Constraint::Unique(places(&unique.columns)?)),
            other => plan_err!("{other} is not supported; tables have PRIMARY KEY, UNIQUE, CHECK and FOREIGN KEY"),
        };
        let constraints = create.constraints.iter().map(constraint).collect::<Result<Vec<_>>>()?;
        let planned = CreateMemoryTable { constraints: Constraints::new_unverified(constraints), ..planned };
        let computed = DeclaredComputed::default();
        self.create_filled(&planned, files, &[], declared, &computed, Some(Arc::clone(&query))).await?;
        Ok(true)
    }

    async fn create_filled(
        &self,
        create: &CreateMemoryTable,
        files: &FileOptions,
        metadata: &[Metadata],
        mut constraints: DeclaredConstraints,
        computed: &DeclaredComputed,
        query: Option<Arc<LogicalPlan>>,
    ) -> Result<()> {
        self.database()?;
        let Some(name) = self.plain_name(&create.name) else {
            return plan_err!("{}: tables of the database have no schema; write the name alone", create.name);
        };
        let mut replaced = None;
        if self.state.schema_for_ref(create.name.clone())?.table_exist(&name) {
            if create.if_not_exists {
                return Ok(());
            }
            if !create.or_replace {
                return plan_err!("there is a table {name:?} already; drop it first, or choose another name");
            }
            if !self.tables.is_in_database(&name)? {
                return plan_err!("{name:?} is not a table of the database; drop it first, or choose another name");
            }
            replaced = Some(name.clone());
        }
        let schema = match &query {
            Some(query) => self.schema_with_uuids(create.input.schema(), query)?,
            None => Arc::clone(create.input.schema().inner()),
        };
        let mut table = NewTable::new(name, create, &schema, files, metadata)?;
        self.check_generated(computed, create.input.schema().inner(), &table.key)?;
        let foreign_keys = std::mem::take(&mut constraints.foreign_keys);
        // The numbers of rows are hidden from conditions, too.
        table.constraints =
            constraints.plan(self.state, &table.name, create.input.schema().inner(), BTreeSet::new())?;
        let own_name = table.name.clone();
        // Made in one commit, it cannot be seen unfinished.
        let is_made_at_once =
            table.unique.is_empty() && foreign_keys.is_empty() && query.is_none() && computed.is_empty();
        if replaced.is_some() || !is_made_at_once {
            table.name = Database::replacement_name(&own_name);
        }
        let guard = self.guard_creation(&table.name)?;
        let name = table.name.clone();
        if table.cold.is_some() {
            self.check_is_undoable("CREATE TABLE with files in a bucket")?;
            let database = self.database()?;
            table_work(move || table.create_in_bucket(&database)).await?;
        } else {
            let step = if name == own_name { Step::Last } else { Step::First };
            let database = self.database()?;
            let create = move |transaction: &mut DatabaseTransaction| table.create(transaction);
            self.tables.transaction().change_database(database, step, create).await?;
        }
        let done = self.complete(&own_name, &name, replaced, foreign_keys, computed, query).await;
        match done {
            Ok(()) => guard.finish(),
            Err(error) => {
                // The next statement may create a table with this name.
                guard.undo().await;
                Err(error)
            }
        }
    }

    /// Gives a new table its sequences, rows, foreign keys and name.
    async fn complete(
        &self,
        own_name: &str,
        name: &str,
        replaced: Option<String>,
        foreign_keys: Vec<DeclaredForeignKey>,
        computed: &DeclaredComputed,
        query: Option<Arc<LogicalPlan>>,
    ) -> Result<()> {
        match query {
            Some(query) => self.fill(name, query).await?,
            None => self.create_identities(computed, &self.stored(name)?).await?,
        }
        self.add_foreign_keys(own_name, name, foreign_keys).await?;
        if name == own_name {
            return Ok(());
        }
        let (name, own_name) = (name.to_owned(), own_name.to_owned());
        match replaced {
            Some(replaced) => {
                let folder = self.stored(&replaced)?.table().folder().to_owned();
                self.change_database(move |transaction| transaction.replace_table(&replaced, &name)).await?;
                self.drop_identities(&folder).await
            }
            None => self.change_database(move |transaction| transaction.rename_table(&name, &own_name)).await,
        }
    }

    /// The schema of a table with the rows of a query. Only an analyzed plan has the marks of all UUIDs.
    fn schema_with_uuids(&self, declared: &DFSchema, query: &LogicalPlan) -> Result<SchemaRef> {
        let options = self.state.config_options();
        let analyzed = self.state.analyzer().execute_and_check(query.clone(), options, |_, _| {})?;
        let fields = declared.fields().iter().zip(analyzed.schema().fields());
        let field = |(declared, analyzed): (&FieldRef, &FieldRef)| {
            if !analyzed.data_type().equals_datatype(declared.data_type()) {
                return declared.as_ref().clone();
            }
            let field = declared.as_ref().clone().with_data_type(analyzed.data_type().clone());
            if is_uuid(analyzed) { field.with_extension_type(Uuid) } else { field }
        };
        Ok(Arc::new(Schema::new(fields.map(field).collect::<Vec<_>>())))
    }

    fn guard_creation(&self, name: &str) -> Result<CreationGuard> {
        Ok(match self.tables.transaction().open() {
            Some(open) => CreationGuard::InTransaction(ChangesInSteps::begin(open)?),
            None => CreationGuard::Alone(NewTableGuard { database: self.database()?, name: Some(name.to_owned()) }),
        })
    }

    /// Inserts the rows of a query into a new table.
    async fn fill(&self, name: &str, query: Arc<LogicalPlan>) -> Result<()> {
        let insertion = insert_into(self.stored(name)?, Arc::unwrap_or_clone(query))?;
        let plan = self.state.create_physical_plan(&insertion).await?;
        collect(plan, self.state.task_ctx()).await?;
        Ok(())
    }
}

impl NewTable {
    fn new(
        name: String,
        create: &CreateMemoryTable,
        schema: &SchemaRef,
        files: &FileOptions,
        metadata: &[Metadata],
    ) -> Result<Self> {
        let names = |places: &[usize]| -> Vec<String> {
            places.iter().map(|&place| schema.field(place).name().clone()).collect()
        };
        let unique = create.constraints.iter().filter_map(|constraint| match constraint {
            Constraint::Unique(columns) => Some(names(columns)),
            Constraint::PrimaryKey(_) => None,
        });
        let (unique, mut key) = (unique.collect(), names(primary_key(&create.constraints).unwrap_or_default()));
        // Metadata of a query's columns does not become the table's, other than that they are UUIDs.
        let plain = |field: &FieldRef| {
            let own = metadata.iter().filter(|(column, ..)| column == field.name());
            let own = own.map(|(_, key, text)| ((*key).to_owned(), text.clone())).collect();
            let plain = field.as_ref().clone().with_metadata(own);
            if is_uuid(field) { plain.with_extension_type(Uuid) } else { plain }
        };
        let mut fields: Vec<Field> = schema.fields().iter().map(plain).collect();
        if key.is_empty() {
            if fields.iter().any(|field| field.name() == ROW_COLUMN) {
                return plan_err!(
                    "a table without PRIMARY KEY has the numbers of its rows in a column {ROW_COLUMN}; give your column another name"
                );
            }
            check_are_no_numbers(files.cluster.iter())?;
            key.push(ROW_COLUMN.to_owned());
            fields.insert(0, row_column());
        }
        Ok(Self {
            name,
            schema: Arc::new(Schema::new(fields)),
            key,
            cluster: files.cluster.clone(),
            cold: files.cold.clone(),
            ttl: files.ttl.clone(),
            unique,
            constraints: Vec::new(),
        })
    }

    fn create(&self, database: &mut DatabaseTransaction) -> lath_table::Result<()> {
        let Self { name, schema, key, cluster, constraints, .. } = self;
        self.add_rules(database.create_table(name, schema, key, cluster, constraints)?)
    }

    /// Creates a table with its files below a URL, in several commits.
    fn create_in_bucket(&self, database: &Database) -> lath_table::Result<()> {
        let Self { name, schema, key, cluster, constraints, cold, .. } = self;
        let table = database.create_constrained_table(name, schema, key, cluster, cold.as_deref(), constraints)?;
        let mut transaction = table.begin()?;
        self.add_rules(&mut transaction)?;
        transaction.commit_with(Durability::Sync)
    }

    fn add_rules(&self, table: &mut Transaction) -> lath_table::Result<()> {
        if let Some(ttl) = &self.ttl {
            table.set_ttl(&ttl.column, ttl.lifetime)?;
        }
        for columns in &self.unique {
            table.create_index(&format!("{}_key", columns.join("_")), columns, true)?;
        }
        Ok(())
    }
}

/// Undoes the creation of a table if one of its steps fails.
enum CreationGuard {
    Alone(NewTableGuard),
    InTransaction(ChangesInSteps),
}

impl CreationGuard {
    fn finish(self) -> Result<()> {
        match self {
            Self::Alone(mut guard) => {
                guard.name = None;
                Ok(())
            }
            Self::InTransaction(steps) => steps.finish(),
        }
    }

    /// Undoes the creation, and waits for that.
    async fn undo(self) {
        let Self::Alone(mut guard) = self else { return };
        if let Some(name) = guard.name.take() {
            let database = guard.database.clone();
            let _ = table_work(move || database.drop_table(&name)).await;
        }
    }
}

/// Drops a new table.
struct NewTableGuard {
    database: Database,
    name: Option<String>,
}

impl Drop for NewTableGuard {
    fn drop(&mut self) {
        let Some(name) = self.name.take() else { return };
        let database = self.database.clone();
        // A transaction that is being rolled back may still be open, and `drop` must not block on it. A table that cannot be dropped stays
        // empty.
        let dropping = std::thread::Builder::new().name("lath-sql-drop".to_owned());
        let _ = dropping.spawn(move || database.drop_table(&name));
    }
}
