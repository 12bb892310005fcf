//! Primary and foreign keys.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray, UInt8Array};
use arrow_flight::sql::{CommandGetPrimaryKeys, UpdateDeleteRules};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Constraint;
use lath_sql::Session;
use lath_table::{ForeignKeyAction, ForeignKeyInfo};
use tonic::Status;

use crate::status::{fault, status};

/// The foreign keys that a client asks for: of a table, to a table, or both.
#[derive(Debug, Default)]
pub(crate) struct KeyQuery {
    pub(crate) from: Option<String>,
    pub(crate) to: Option<String>,
}

fn text(name: &str, nullable: bool) -> Field {
    Field::new(name, DataType::Utf8, nullable)
}

pub(crate) fn primary_key_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        text("catalog_name", true),
        text("db_schema_name", true),
        text("table_name", false),
        text("column_name", false),
        text("key_name", true),
        Field::new("key_sequence", DataType::Int32, false),
    ]))
}

pub(crate) fn foreign_key_schema() -> SchemaRef {
    let side = |side: &str| {
        let name = |name: &str| format!("{side}_{name}");
        [
            text(&name("catalog_name"), true),
            text(&name("db_schema_name"), true),
            text(&name("table_name"), false),
            text(&name("column_name"), false),
        ]
    };
    let rule = |name: &str| Field::new(name, DataType::UInt8, false);
    let rest = [
        Field::new("key_sequence", DataType::Int32, false),
        text("fk_key_name", true),
        text("pk_key_name", true),
        rule("update_rule"),
        rule("delete_rule"),
    ];
    Arc::new(Schema::new([side("pk").as_slice(), side("fk").as_slice(), rest.as_slice()].concat()))
}

/// The columns of a table's primary key, in its order.
pub(crate) async fn primary_keys(session: &Session, query: CommandGetPrimaryKeys) -> Result<RecordBatch, Status> {
    let (catalog, schema) = names(session);
    let is_own =
        |given: &Option<String>, own: &str| given.as_deref().is_none_or(|given| given.is_empty() || given == own);
    let mut columns = Vec::new();
    if is_own(&query.catalog, &catalog) && is_own(&query.db_schema, &schema) {
        let provider = session.context().catalog(&catalog).and_then(|found| found.schema(&schema));
        let provider = provider.ok_or_else(|| fault("the session has no tables"))?;
        let table = provider.table(&query.table).await.map_err(|error| status(&error.into()))?;
        let table = table.ok_or_else(|| Status::not_found(format!("there is no table {:?}", query.table)))?;
        for constraint in table.constraints().into_iter().flat_map(|constraints| constraints.iter()) {
            if let Constraint::PrimaryKey(key) = constraint {
                columns.extend(key.iter().map(|&column| table.schema().field(column).name().clone()));
            }
        }
    }
    let count = columns.len();
    let repeated = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text; count])) };
    let batch = RecordBatch::try_new(
        primary_key_schema(),
        vec![
            repeated(&catalog),
            repeated(&schema),
            repeated(&query.table),
            Arc::new(StringArray::from(columns)),
            Arc::new(StringArray::from(vec![None::<&str>; count])),
            Arc::new(Int32Array::from_iter_values((1..).take(count))),
        ],
    );
    batch.map_err(fault)
}

/// The columns of foreign keys, in the order of the keys.
pub(crate) fn foreign_keys(session: &Session, query: &KeyQuery) -> Result<RecordBatch, Status> {
    let (catalog, schema) = names(session);
    let mut rows: Vec<(String, ForeignKeyInfo, usize)> = Vec::new();
    for (table, key) in session.foreign_keys().map_err(|error| status(&error))? {
        let is_wanted = query.from.as_ref().is_none_or(|from| *from == table)
            && query.to.as_ref().is_none_or(|to| *to == key.referred_table);
        if is_wanted {
            rows.extend((0..key.columns.len()).map(|column| (table.clone(), key.clone(), column)));
        }
    }
    let texts = |text: &dyn Fn(&(String, ForeignKeyInfo, usize)) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(text)))
    };
    let rules = |rule: &dyn Fn(&ForeignKeyInfo) -> ForeignKeyAction| -> ArrayRef {
        Arc::new(UInt8Array::from_iter_values(rows.iter().map(|(_, key, _)| rule_number(rule(key)))))
    };
    let batch = RecordBatch::try_new(
        foreign_key_schema(),
        vec![
            texts(&|_| catalog.clone()),
            texts(&|_| schema.clone()),
            texts(&|(_, key, _)| key.referred_table.clone()),
            texts(&|(_, key, column)| key.referred_columns.get(*column).cloned().unwrap_or_default()),
            texts(&|_| catalog.clone()),
            texts(&|_| schema.clone()),
            texts(&|(table, ..)| table.clone()),
            texts(&|(_, key, column)| key.columns[*column].clone()),
            Arc::new(Int32Array::from_iter_values(rows.iter().map(|(.., column)| *column as i32 + 1))),
            texts(&|(_, key, _)| key.name.clone()),
            Arc::new(StringArray::from(vec![None::<&str>; rows.len()])),
            rules(&|key| key.actions.on_update),
            rules(&|key| key.actions.on_delete),
        ],
    );
    batch.map_err(fault)
}

fn rule_number(action: ForeignKeyAction) -> u8 {
    let rule = match action {
        ForeignKeyAction::Cascade => UpdateDeleteRules::Cascade,
        ForeignKeyAction::SetNull => UpdateDeleteRules::SetNull,
        ForeignKeyAction::Restrict => UpdateDeleteRules::Restrict,
        _ => UpdateDeleteRules::NoAction,
    };
    rule as u8
}

/// The names of the catalog and the schema of the database.
fn names(session: &Session) -> (String, String) {
    let state = session.context().state();
    let names = &state.config_options().catalog;
    (names.default_catalog.clone(), names.default_schema.clone())
}
