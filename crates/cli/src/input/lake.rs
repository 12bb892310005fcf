//! The folder of a table of Delta Lake or Iceberg, where it is named alone: it stands for the rows of the table.

use std::path::PathBuf;

use lath_parquet::Predicate;
#[cfg(not(feature = "lake"))]
use lath_parquet::{Dataset, FolderFormat};
#[cfg(feature = "lake")]
use {lath_lake::LakeOptions, lath_parquet::DatasetOptions};

use crate::args::OpenArgs;
use crate::failure::Result;
#[cfg(feature = "lake")]
use crate::failure::{Failure, scan_failure};
#[cfg(feature = "lake")]
use crate::input::open_arguments::OpenArguments;

#[cfg(feature = "lake")]
pub(crate) use lath_lake::Lake;

/// A table of a build that reads none: a type without values.
#[cfg(not(feature = "lake"))]
#[derive(Debug, Clone)]
pub(crate) enum Lake {}

#[cfg(not(feature = "lake"))]
impl Lake {
    pub(crate) fn location(&self) -> &str {
        match *self {}
    }

    pub(crate) fn format(&self) -> FolderFormat {
        match *self {}
    }

    pub(crate) fn version(&self) -> i64 {
        match *self {}
    }

    pub(crate) fn dataset(&self) -> &Dataset {
        match *self {}
    }
}

/// The table that is named, if it is the only name; without files that cannot have a row for which `condition` is true.
#[cfg(feature = "lake")]
pub(crate) fn find(names: &[PathBuf], args: &OpenArgs, condition: Option<&Predicate>) -> Result<Option<Lake>> {
    if args.plain_files {
        return match &args.at {
            Some(_) => {
                Err(Failure::Usage("--at chooses a version of a table, and --plain-files reads no table".to_owned()))
            }
            None => Ok(None),
        };
    }
    let found = match names {
        [name] => match name.to_str() {
            Some(location) => {
                let open = OpenArguments::of(args)?.add_to(lath_parquet::OpenOptions::new());
                let options = LakeOptions::new().dataset(DatasetOptions::new().open_options(open));
                let at = args.at.as_deref().map(str::parse).transpose().map_err(scan_failure)?;
                let options = at.into_iter().fold(options, LakeOptions::at);
                let options = condition.cloned().into_iter().fold(options, LakeOptions::filter);
                lath_lake::find(location, &options).map_err(scan_failure)?
            }
            None => None,
        },
        _ => None,
    };
    if found.is_none() && args.at.is_some() {
        return Err(Failure::Usage(
            "--at chooses a version of a table of Delta Lake or Iceberg; name the folder of one table".to_owned(),
        ));
    }
    Ok(found)
}

/// No table: this build reads none.
#[cfg(not(feature = "lake"))]
pub(crate) fn find(_names: &[PathBuf], _args: &OpenArgs, _condition: Option<&Predicate>) -> Result<Option<Lake>> {
    Ok(None)
}
