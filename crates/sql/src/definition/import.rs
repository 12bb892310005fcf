//! `CALL import('orders', 'lake/orders', key => 'id')`: a table of files that exist.

use std::ops::ControlFlow;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use datafusion::common::{Result, plan_datafusion_err, plan_err};
use lath_lake::{At, LakeOptions};
use lath_parquet::{Cancel, Dataset, DatasetOptions};
use lath_table::ImportOptions;

use super::Definitions;
use super::call::{Argument, NamedArgument};
use crate::error::{external, table_work};

/// Maximum time for which the end of the session waits until the files of an import are removed.
const CLEANUP_WAIT: Duration = Duration::from_secs(20);

/// The arguments by name.
#[derive(Default)]
struct Arguments {
    key: Vec<String>,
    at: Option<At>,
    options: ImportOptions,
}

impl Arguments {
    fn parse(named: &[NamedArgument]) -> Result<Self> {
        let mut arguments = Self::default();
        for (name, value) in named {
            match (name.as_str(), value) {
                ("key", Argument::Text(columns)) => {
                    arguments.key = columns.split(',').map(|column| column.trim().to_owned()).collect();
                }
                ("at", Argument::Number(version)) => {
                    let version =
                        i64::try_from(*version).map_err(|error| plan_datafusion_err!("{version}: {error}"))?;
                    arguments.at = Some(At::Version(version));
                }
                ("at", Argument::Text(text)) => arguments.at = Some(text.parse().map_err(external)?),
                ("copy", Argument::Flag(copy)) => arguments.options = arguments.options.copy(*copy),
                _ => {
                    return plan_err!(
                        "import has the options key, such as 'city,item', at, a version or time of a table of Delta Lake or Iceberg, and copy, true or false; {name} is none of them, or has another value"
                    );
                }
            }
        }
        if arguments.key.is_empty() {
            return plan_err!("name the columns of the primary key: import('table', 'folder', key => 'column,column')");
        }
        Ok(arguments)
    }
}

impl Definitions<'_> {
    /// Creates a table in the database with the rows of files. If the statement or the session is stopped, no table and no file stays.
    pub(super) async fn import(&self, table: &str, source: &str, named: &[NamedArgument]) -> Result<()> {
        let Arguments { key, at, options } = Arguments::parse(named)?;
        let (database, table, source) = (self.database()?, table.to_owned(), source.to_owned());
        let dataset_options = DatasetOptions::new().runtime(self.runtime).union_schemas(true);
        let cancel = Cancel::new();
        let (ended, has_ended) = sync_channel::<()>(0);
        let stop = {
            let cancel = cancel.clone();
            move || {
                cancel.cancel();
                // An error says that the other side is gone, and so the import has ended.
                let _ = has_ended.recv_timeout(CLEANUP_WAIT);
            }
        };
        let work = self.uncommitted.begin_work(stop).map_err(external)?;
        let import = move || {
            let _ended = ended;
            let dataset = open(&source, at, dataset_options)?;
            database.import_table_with(&table, &dataset, &key, options, |_| match cancel.is_cancelled() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        };
        let imported = table_work(import).await;
        work.finish();
        imported.map(drop)
    }
}

/// Opens what is imported: a table of Delta Lake or Iceberg, or files, which may have different columns.
fn open(source: &str, at: Option<At>, options: DatasetOptions) -> lath_table::Result<Dataset> {
    let has_version = at.is_some();
    let lake = at.into_iter().fold(LakeOptions::new().dataset(options.clone()), LakeOptions::at);
    match lath_lake::find(source, &lake)? {
        Some(lake) => Ok(lake.into_dataset()),
        None if has_version => Err(lath_parquet::Error::invalid(format!(
            "{source} is not a table of Delta Lake or Iceberg, so that it has no versions: leave out at"
        ))
        .into()),
        None => Ok(Dataset::open([source], options)?),
    }
}
