use lath_format::schema::PhysicalType;

use super::column::Values;
use super::{PageStatistics, Precision};
use crate::error::Result;
use crate::file::ParquetFile;
use crate::prune::{BoundReader, pages_of_chunk};
use crate::schema::NodeKind;

impl ParquetFile {
    /// Reads the statistics of the pages of the column or nested field at the dotted `path`, in a row group, from the page index;
    /// `None` if the file has no usable index for it.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a path or a row group that does not exist, and
    /// [`Error::Io`](crate::Error::Io) if the index cannot be read.
    pub fn page_statistics(&self, row_group: usize, path: &str) -> Result<Option<Vec<PageStatistics>>> {
        let (field, node) = self.node_at(path)?;
        self.checked(row_group)?;
        let NodeKind::Leaf(leaf) = &node.kind else { return Ok(None) };
        let Some(descriptor) = self.metadata().schema_descr().columns().get(leaf.column) else { return Ok(None) };
        if leaf.max_rep_level > 0 {
            return Ok(None);
        }
        let data_type = field.data_type();
        let bounds = BoundReader::new(descriptor, data_type, self.metadata().column_order(leaf.column));
        // A column index does not say whether its bounds are values: they need not be if writers shorten bounds of the type, or
        // if the bounds of the chunk are not values.
        let is_whole = !matches!(leaf.physical_type, PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY);
        let chunk = self.metadata().chunk(row_group, leaf.column).ok().and_then(|chunk| chunk.statistics());
        let is_inexact = chunk
            .is_some_and(|said| said.min.is_some() && !said.min_is_exact || said.max.is_some() && !said.max_is_exact);
        let is_exact = is_whole && !is_inexact;
        let pages = pages_of_chunk(self, row_group, leaf.column, bounds.as_ref(), |rows, counts, domain| {
            let values = Values::from_domain(domain, [is_exact; 2], counts.nans, data_type);
            PageStatistics {
                rows,
                null_count: Precision::new(counts.nulls, true),
                min: values.min.to_array(data_type),
                max: values.max.to_array(data_type),
            }
        });
        pages.map_err(|error| self.locate(error))
    }
}
