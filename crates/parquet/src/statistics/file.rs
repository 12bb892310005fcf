use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};
use lath_format::schema::quoted_names;

use super::column::Values;
use super::{ColumnStatistics, Precision, Statistics};
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::prune::{BoundReader, DecodedBounds};
use crate::schema::{Leaf, Node, NodeKind, Projection, collect_columns};

impl ParquetFile {
    /// Statistics of the file and its columns from the footer, in the order of [`ParquetFile::schema`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a schema that cannot be read.
    pub fn statistics(&self) -> Result<Statistics> {
        self.statistics_within(0..self.metadata().row_group_count())
    }

    /// Statistics of a row group and its columns from the footer.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a row group that does not exist, and as [`ParquetFile::statistics`].
    pub fn row_group_statistics(&self, row_group: usize) -> Result<Statistics> {
        self.statistics_within(self.checked(row_group)?)
    }

    /// Statistics of the column or nested field at the dotted `path` from the footer.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a path that does not exist.
    pub fn column_statistics(&self, path: &str) -> Result<ColumnStatistics> {
        self.column_at(path, 0..self.metadata().row_group_count())
    }

    /// As [`ParquetFile::column_statistics`], for a row group.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a path or a row group that does not exist.
    pub fn row_group_column_statistics(&self, row_group: usize, path: &str) -> Result<ColumnStatistics> {
        self.column_at(path, self.checked(row_group)?)
    }

    /// As [`ParquetFile::row_group_column_statistics`], for several row groups.
    pub(crate) fn column_in_row_groups(&self, path: &str, row_groups: &[usize]) -> Result<Vec<ColumnStatistics>> {
        let (field, node) = self.node_at(path)?;
        let of_row_group = |&at: &usize| Ok(self.leaf_statistics(&field, &node, self.checked(at)?));
        row_groups.iter().map(of_row_group).collect()
    }

    pub(super) fn checked(&self, row_group: usize) -> Result<Range<usize>> {
        let count = self.metadata().row_group_count();
        match row_group < count {
            true => Ok(row_group..row_group + 1),
            false => Err(self.locate(Error::invalid(format!(
                "there is no row group {row_group}; the file has {count}, counted from 0"
            )))),
        }
    }

    fn statistics_within(&self, row_groups: Range<usize>) -> Result<Statistics> {
        let (schema, nodes) = self.build_schema(&self.schema_options(), None)?;
        let column = |(field, node): (&FieldRef, &Node)| self.leaf_statistics(field, node, row_groups.clone());
        let columns: Vec<ColumnStatistics> = schema.fields().iter().zip(&nodes).map(column).collect();
        let byte_count = columns.iter().fold(Precision::Exact(0), |sum, column| sum.plus(column.byte_count));
        let row_counts = self.row_group_row_counts();
        let stored: u64 = row_counts[row_groups.clone()].iter().sum();
        let deleted = match self.deleted() {
            None => 0,
            Some(deleted) if row_groups.len() == row_counts.len() => deleted.count()?,
            Some(deleted) => {
                let first = row_counts[..row_groups.start].iter().sum();
                deleted.mask()?.count_within(&(first..first + stored))
            }
        };
        let row_count = Precision::Exact(stored.saturating_sub(deleted));
        Ok(Statistics { row_count, byte_count, columns })
    }

    fn column_at(&self, path: &str, row_groups: Range<usize>) -> Result<ColumnStatistics> {
        let (field, node) = self.node_at(path)?;
        Ok(self.leaf_statistics(&field, &node, row_groups))
    }

    /// The node at `path`, and its field under that name.
    pub(crate) fn node_at(&self, path: &str) -> Result<(FieldRef, Node)> {
        let projection = Projection::from_paths([path.to_owned()]);
        let (_, nodes) = self.build_schema(&self.schema_options(), Some(&projection))?;
        let several = || self.locate(Error::invalid(format!("{path:?} means several columns")));
        let [mut node] = <[Node; 1]>::try_from(nodes).map_err(|_| several())?;
        // Structs above the field have only the requested field.
        if let Some(names) = quoted_names(path).filter(|_| node.field.name() != path) {
            for _ in 1..names.len() {
                let NodeKind::Struct(children) = node.kind else { return Err(several()) };
                node = children.into_iter().next().ok_or_else(several)?;
            }
            return Ok((Arc::new(Field::clone(&node.field).with_name(path)), node));
        }
        let mut rest = path;
        while rest != node.field.name()
            && let Some(below) = rest.strip_prefix(node.field.name().as_str()).and_then(|below| below.strip_prefix('.'))
            && let NodeKind::Struct(children) = node.kind
        {
            rest = below;
            node = children.into_iter().next().ok_or_else(several)?;
        }
        let field = Field::clone(&node.field).with_name(path);
        Ok((Arc::new(field), node))
    }

    fn leaf_statistics(&self, field: &FieldRef, node: &Node, row_groups: Range<usize>) -> ColumnStatistics {
        let mut statistics = ColumnStatistics::unknown(Arc::clone(field));
        let mut leaves = Vec::new();
        collect_columns(node, &mut leaves);
        (statistics.byte_count, statistics.uncompressed_byte_count) = self.sizes(&leaves, row_groups.clone());
        if let NodeKind::Leaf(leaf) = &node.kind
            && leaf.max_rep_level == 0
        {
            self.add_values(&mut statistics, leaf, row_groups);
        }
        // The deleted rows' values are among them.
        if self.deleted().is_some_and(|deleted| deleted.count().ok() != Some(0)) {
            statistics.make_inexact();
        }
        statistics
    }

    /// Compressed and uncompressed bytes of some leaves.
    fn sizes(&self, leaves: &[usize], row_groups: Range<usize>) -> (Precision<u64>, Precision<u64>) {
        let mut sizes = (Precision::Exact(0), Precision::Exact(0));
        for row_group in row_groups {
            for &leaf in leaves {
                let Ok(chunk) = self.metadata().chunk(row_group, leaf) else {
                    return (Precision::Absent, Precision::Absent);
                };
                sizes.0 = sizes.0.plus(Precision::Exact(chunk.compressed_size()));
                sizes.1 = sizes.1.plus(Precision::Exact(chunk.uncompressed_size()));
            }
        }
        sizes
    }

    fn add_values(&self, statistics: &mut ColumnStatistics, leaf: &Leaf, row_groups: Range<usize>) {
        let metadata = self.metadata();
        let Some(descriptor) = metadata.schema_descr().columns().get(leaf.column) else { return };
        let data_type: DataType = statistics.field.data_type().clone();
        let bounds = BoundReader::new(descriptor, &data_type, metadata.column_order(leaf.column));
        let is_float = bounds.as_ref().is_some_and(BoundReader::is_float);
        let (mut values, mut nulls, mut nans) = (Values::NONE, Precision::Exact(0), Precision::Exact(0));
        let mut distinct: Option<Precision<u64>> = None;
        for row_group in row_groups {
            let row_count = metadata.row_counts()[row_group];
            let chunk = metadata.chunk(row_group, leaf.column).ok().filter(|chunk| chunk.num_values() == row_count);
            let Some(chunk) = chunk else { return };
            let read = chunk.statistics();
            let null_count = match leaf.max_def_level {
                0 => Some(0),
                _ => read.and_then(|read| read.null_count).filter(|&nulls| nulls <= row_count),
            };
            let nan_count = if data_type.is_floating() { chunk.nan_count() } else { Some(0) };
            nulls = nulls.plus(Precision::new(null_count, true));
            nans = nans.plus(Precision::new(nan_count, true));
            values.join(match &bounds {
                None => Values::UNKNOWN,
                Some(bounds) => {
                    let said = read.map(|read| (bounds.chunk_bounds(descriptor, &read), read));
                    let exact = said.as_ref().map_or([false; 2], |(_, read)| [read.min_is_exact, read.max_is_exact]);
                    let read = said.map_or(DecodedBounds::UNKNOWN, |(said, _)| said);
                    let domain = read.domain(is_float, row_count, null_count, nan_count);
                    Values::from_domain(&domain, exact, nan_count, &data_type)
                }
            });
            let distinct_here = Precision::new(chunk.distinct_count(), true);
            distinct = Some(distinct.map_or(distinct_here, |distinct| distinct.distinct_in_both(distinct_here)));
        }
        statistics.distinct_count = distinct.unwrap_or_default();
        statistics.null_count = nulls;
        statistics.nan_count = nans;
        statistics.min = values.min.to_array(&data_type);
        statistics.max = values.max.to_array(&data_type);
    }
}
