//! The tables of TPC-H, through the `tpchgen` library.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use clap::ValueEnum;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow, SupplierArrow,
};

/// A table of TPC-H.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Table {
    Customer,
    Lineitem,
    Nation,
    Orders,
    Part,
    Partsupp,
    Region,
    Supplier,
}

/// The rows of a table, in batches.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

impl Table {
    /// Its name, as the specification writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Lineitem => "lineitem",
            Self::Nation => "nation",
            Self::Orders => "orders",
            Self::Part => "part",
            Self::Partsupp => "partsupp",
            Self::Region => "region",
            Self::Supplier => "supplier",
        }
    }

    /// Its columns.
    pub(crate) fn schema(self) -> SchemaRef {
        match self {
            Self::Customer => CustomerArrow::schema_ref(),
            Self::Lineitem => LineItemArrow::schema_ref(),
            Self::Nation => NationArrow::schema_ref(),
            Self::Orders => OrderArrow::schema_ref(),
            Self::Part => PartArrow::schema_ref(),
            Self::Partsupp => PartSuppArrow::schema_ref(),
            Self::Region => RegionArrow::schema_ref(),
            Self::Supplier => SupplierArrow::schema_ref(),
        }
    }

    /// The number of rows at this scale; approximate for `lineitem`.
    pub(crate) fn row_count(self, scale: f64) -> u64 {
        let count = match self {
            Self::Customer => CustomerGenerator::calculate_row_count(scale, 1, 1),
            // An order has one to seven items.
            Self::Lineitem => OrderGenerator::calculate_row_count(scale, 1, 1).saturating_mul(4),
            Self::Nation => 25,
            Self::Orders => OrderGenerator::calculate_row_count(scale, 1, 1),
            Self::Part => PartGenerator::calculate_row_count(scale, 1, 1),
            Self::Partsupp => PartSuppGenerator::calculate_row_count(scale, 1, 1),
            Self::Region => 5,
            Self::Supplier => SupplierGenerator::calculate_row_count(scale, 1, 1),
        };
        u64::try_from(count).unwrap_or(0)
    }

    /// The rows at this scale, in batches of at most `batch_rows`.
    pub(crate) fn batches(self, scale: f64, batch_rows: usize) -> Batches {
        macro_rules! rows {
            ($arrow:ident, $generator:ident) => {
                Box::new($arrow::new($generator::new(scale, 1, 1)).with_batch_size(batch_rows))
            };
        }
        match self {
            Self::Customer => rows!(CustomerArrow, CustomerGenerator),
            Self::Lineitem => rows!(LineItemArrow, LineItemGenerator),
            Self::Nation => rows!(NationArrow, NationGenerator),
            Self::Orders => rows!(OrderArrow, OrderGenerator),
            Self::Part => rows!(PartArrow, PartGenerator),
            Self::Partsupp => rows!(PartSuppArrow, PartSuppGenerator),
            Self::Region => rows!(RegionArrow, RegionGenerator),
            Self::Supplier => rows!(SupplierArrow, SupplierGenerator),
        }
    }
}
