//! `CREATE EXTERNAL TABLE … STORED AS LATH LOCATION …`: attaches the table of a folder under a name of the session.

use std::sync::Arc;

use datafusion::catalog::{TableProvider, TableProviderFactory};
use datafusion::common::{Constraint, Result, plan_err};
use datafusion::logical_expr::CreateExternalTable;
use lath_table::{Error, Table};

use super::table::KeyedTable;
use crate::error::table_work;
use crate::local_path::local_path;
use crate::scan::create_by;
use crate::table_opening::TableOpening;
use crate::write::is_true;

/// Attaches such tables. If the statement declares columns and a key and the folder has no table, the table is created.
#[derive(Debug)]
pub(crate) struct AttachedTables {
    pub(crate) opening: TableOpening,
}

impl AttachedTables {
    async fn make(&self, command: &CreateExternalTable) -> Result<Arc<dyn TableProvider>> {
        let [location] = command.locations.as_slice() else {
            return plan_err!("a table with a primary key has one folder; give one LOCATION");
        };
        let Some(folder) = local_path(location).map(ToOwned::to_owned) else {
            return plan_err!("{location}: a table with a primary key needs a local folder");
        };
        if !command.table_partition_cols.is_empty() || !command.order_exprs.is_empty() {
            return plan_err!("PARTITIONED BY and WITH ORDER are not supported for tables with a primary key");
        }
        let mut read_only = false;
        for (name, value) in &command.options {
            match name.strip_prefix("format.").unwrap_or(name) {
                "read_only" => read_only = is_true("read_only", value)?,
                other => return plan_err!("unknown option {other}; the only option is read_only"),
            }
        }
        let key = command.constraints.iter().find_map(|constraint| match constraint {
            Constraint::PrimaryKey(columns) => Some(columns.clone()),
            Constraint::Unique(_) => None,
        });
        let options = self.opening.options();
        let schema = Arc::clone(command.schema.inner());
        let name = command.name.table().to_owned();
        if schema.fields().is_empty() {
            let open = move || match read_only {
                true => Table::open_read_only(&folder, options),
                false => Table::open(&folder, options),
            };
            return Ok(Arc::new(KeyedTable::attached(&name, table_work(open).await?)?));
        }
        let Some(key) = key else {
            return plan_err!(
                "{location}: to create a table, declare a PRIMARY KEY; to attach an existing table, leave out the columns"
            );
        };
        if read_only || !command.column_defaults.is_empty() || command.constraints.iter().count() > 1 {
            return plan_err!(
                "{location}: a new table takes columns and one PRIMARY KEY, but no defaults and not read_only"
            );
        }
        let create = move || {
            let columns: Vec<&str> = key.iter().map(|&column| schema.field(column).name().as_str()).collect();
            Table::create(&folder, &schema, &columns, options)
        };
        let created = table_work(move || match create() {
            Err(Error::Exists { folder }) => Ok(Err(folder)),
            created => created.map(Ok),
        });
        match created.await? {
            Ok(table) => Ok(Arc::new(KeyedTable::attached(&name, table)?)),
            Err(folder) => plan_err!("{} has a table already; leave out the columns to attach it", folder.display()),
        }
    }
}

impl TableProviderFactory for AttachedTables {
    create_by!(AttachedTables, make);
}
