//! Tables of REST catalogs of Iceberg.
//!
//! | module | what it does |
//! | --- | --- |
//! | `location` | Parses `rest://…`. |
//! | `variables` | Reads the environment. |
//! | `access` | Proves to a catalog who asks: tokens, identities and signatures. |
//! | `catalog` | Asks a catalog for namespaces, tables and metadata. |

mod access;
mod catalog;
mod location;
mod variables;

use lath_parquet::Result;

use self::location::Address;
use self::variables::Variables;
use crate::lake::{Lake, LakeOptions};

pub use self::catalog::RestCatalog;
pub(crate) use self::location::is_rest;

/// Opens the table at a location.
pub(crate) fn open(location: &str, options: &LakeOptions) -> Result<Lake> {
    let variables = Variables::read();
    let (address, name) = Address::parse_table(location, &variables)?;
    let catalog = RestCatalog::new(address, &variables, &options.dataset)?;
    catalog.open_levels(&name.namespace, &name.table, options)
}
