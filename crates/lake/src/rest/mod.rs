//! Tables of REST catalogs of Iceberg.
//!
//! | module | what it does |
//! | --- | --- |
//! | `location` | Parses `rest://…`. |
//! | `variables` | Reads the environment. |
//! | `access` | Proves to a catalog who asks: tokens, identities and signatures. |
//! | `catalog` | Asks a catalog for namespaces, tables and metadata. |
//! | `vended` | Takes the credentials for a store that a catalog sends with a table. |

mod access;
mod catalog;
mod location;
mod variables;
mod vended;

use lath_parquet::Result;

use self::location::Address;
use self::variables::Variables;
use crate::lake::{LakeOptions, LakeVersion};

pub use self::catalog::RestCatalog;
pub(crate) use self::location::is_rest;

/// Loads the table at a location, without its files.
pub(crate) fn open(location: &str, options: &LakeOptions) -> Result<LakeVersion> {
    let variables = Variables::read();
    let (address, name) = Address::parse_table(location, &variables)?;
    let catalog = RestCatalog::new(address, &variables, &options.dataset)?;
    catalog.load(&name.namespace, &name.table, options)
}
