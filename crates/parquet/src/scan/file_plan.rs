//! What a scan reads of the files of one schema.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use lath_predicate::{BindContext, BoundPredicate, Constant, Predicate};

use super::conjuncts::{Conjunct, SelectivityStats};
use super::page_search::PageSearchStats;
use super::planned_leaf::PlannedLeaf;
use crate::assemble::assemble;
use crate::dataset::Alignment;
use crate::decode::{LeafBatch, predicate_leaf};
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::options::Limits;
use crate::prune::SingleKeyProbe;
use crate::schema::{ArrowLayout, Node, NodeKind, Projection, SchemaOptions, collect_columns};

/// The columns that a scan reads of files of one schema, and the predicate bound to them.
#[derive(Debug)]
pub(super) struct FilePlan {
    /// The leaves of operands and of the result, each once.
    pub(super) leaves: Vec<PlannedLeaf>,
    pub(super) predicate: Option<Arc<BoundPredicate>>,
    /// The part of the predicate that has become known while the scan runs.
    pub(super) added: Option<Arc<BoundPredicate>>,
    /// The predicate, if it only looks up one key.
    pub(super) single_key: Option<SingleKeyProbe>,
    /// Where the operands of the predicate come from, in the order of its columns.
    pub(super) operands: Vec<Operand>,
    /// The columns of the result.
    pub(super) columns: Vec<PlannedColumn>,
    /// The schema of the columns, in file order.
    pub(super) schema: SchemaRef,
    /// How they become those of the result.
    pub(super) alignment: Alignment,
    /// What testing the parts of the predicate took, and how many rows passed.
    pub(super) selectivity: SelectivityStats,
    /// How many pages were searched, and how many of them skipped.
    pub(super) search_stats: PageSearchStats,
    limits: Limits,
}

/// What is asked of the rows of a file.
pub(super) struct Conditions<'a> {
    pub(super) predicate: Option<&'a Predicate>,
    /// The part of it that has become known while the scan runs.
    pub(super) added: Option<&'a Predicate>,
    /// The columns of all files, which names and literals are about.
    pub(super) schema: &'a Schema,
    /// Whether the types of these columns hold all values of the file's.
    pub(super) is_united: bool,
    pub(super) constants: Vec<Constant>,
}

/// A column that is assembled of leaves.
#[derive(Debug)]
pub(super) struct PlannedColumn {
    node: Node,
    /// Indices among [`FilePlan::leaves`].
    pub(super) leaves: Vec<usize>,
}

/// Where the values of an operand come from.
#[derive(Debug)]
pub(super) enum Operand {
    /// They are those of a leaf without repetition.
    Leaf(usize),
    /// They lie within a column.
    Within(PlannedColumn),
}

impl Operand {
    /// The leaves that the operand needs.
    pub(super) fn leaves(&self) -> &[usize] {
        match self {
            Self::Leaf(leaf) => std::slice::from_ref(leaf),
            Self::Within(column) => &column.leaves,
        }
    }
}

impl FilePlan {
    /// Whether all rows of a leaf are looked at, before those of other leaves, where none is left out before: of every leaf if nothing
    /// is asked, else of those of a predicate that is not made of parts which are asked one after the other.
    pub(super) fn is_read_first(&self, leaf: usize, conjuncts: &[Conjunct]) -> bool {
        match conjuncts {
            [] => true,
            [only] => only.operands.iter().any(|&operand| self.operands[operand].leaves().contains(&leaf)),
            _ => false,
        }
    }

    /// Plans to read the columns of `projection` of files like `file`, for rows for which `predicate` holds. The alignment makes
    /// columns of the result of them.
    pub(super) fn new(
        file: &ParquetFile,
        (alignment, projection): (Alignment, Option<&Projection>),
        layout: &ArrowLayout,
        conditions: &Conditions<'_>,
    ) -> Result<Self> {
        let options = SchemaOptions { may_lack_dictionary_columns: true, ..file.schema_options().with_layout(layout) };
        let (schema, nodes) = file.build_schema(&options, projection)?;
        let mut leaves = Vec::new();
        let columns: Vec<PlannedColumn> = nodes.into_iter().map(|node| PlannedColumn::new(node, &mut leaves)).collect();

        let mut operands = Vec::new();
        let bind = |predicate: &Predicate| -> Result<(BoundPredicate, Vec<Node>)> {
            let (schema, nodes) = file.build_schema(&options, None)?;
            let leaf = |path: &[usize]| predicate_leaf(&nodes, path);
            let context = BindContext::new(conditions.schema)
                .with_file(&schema, conditions.is_united)
                .with_leaves(&leaf)
                .with_constants(&conditions.constants);
            Ok((predicate.bind(&context)?, nodes))
        };
        let added = conditions.added.map(bind).transpose()?.map(|(bound, _)| Arc::new(bound));
        let predicate = match conditions.predicate {
            None => None,
            Some(predicate) => {
                let (bound, nodes) = bind(predicate)?;
                for column in &bound.columns {
                    let projection = Projection::from_leaves(leaves_at(&nodes, &column.indices)?);
                    let (_, nodes) = file.build_schema(&options, Some(&projection))?;
                    let [node] = <[Node; 1]>::try_from(nodes)
                        .map_err(|_| Error::invalid(format!("{:?} means several columns", column.name)))?;
                    let within = PlannedColumn::new(node, &mut leaves);
                    operands.push(match (column.leaf, within.leaves.as_slice()) {
                        (Some(leaf), &[index]) if !column.repeated && leaves[index].leaf.column == leaf => {
                            Operand::Leaf(index)
                        }
                        _ => Operand::Within(within),
                    });
                }
                Some(Arc::new(bound))
            }
        };
        let single_key = predicate.as_deref().and_then(|predicate| SingleKeyProbe::new(file, predicate));
        let (selectivity, search_stats) = (SelectivityStats::default(), PageSearchStats::default());
        let limits = file.limits().clone();
        Ok(Self {
            leaves,
            predicate,
            added,
            single_key,
            operands,
            columns,
            schema,
            alignment,
            selectivity,
            search_stats,
            limits,
        })
    }
}

/// The numbers of the leaves of a column: of the root at the first index, then of the fields of structs at the others.
fn leaves_at(nodes: &[Node], indices: &[usize]) -> Result<Vec<usize>> {
    let lost = || Error::internal("an operand that the file does not have");
    let (&root, fields) = indices.split_first().ok_or_else(lost)?;
    let mut node = nodes.get(root).ok_or_else(lost)?;
    for &field in fields {
        let NodeKind::Struct(children) = &node.kind else { return Err(lost()) };
        node = children.get(field).ok_or_else(lost)?;
    }
    let mut leaves = Vec::new();
    collect_columns(node, &mut leaves);
    Ok(leaves)
}

impl PlannedColumn {
    /// Adds the leaves of `node` to `leaves`, but for those that are there already.
    fn new(node: Node, leaves: &mut Vec<PlannedLeaf>) -> Self {
        let mut own = Vec::new();
        PlannedLeaf::collect(&node, false, &mut own);
        let enter = |leaf: PlannedLeaf| match leaves.iter().position(|other| other.leaf.column == leaf.leaf.column) {
            Some(index) => {
                leaves[index].keep_levels |= leaf.keep_levels;
                index
            }
            None => {
                leaves.push(leaf);
                leaves.len() - 1
            }
        };
        Self { node, leaves: own.into_iter().map(enter).collect() }
    }

    /// What errors call the column.
    pub(super) fn name(&self) -> &str {
        self.node.field.name()
    }

    /// The column's array for `row_count` rows, of the batches of its leaves.
    pub(super) fn assemble(
        &self,
        plan: &FilePlan,
        leaves: impl IntoIterator<Item = LeafBatch>,
        row_count: usize,
    ) -> Result<ArrayRef> {
        assemble(&self.node, &mut leaves.into_iter(), row_count, &plan.limits)
            .map_err(|error| error.locate(|at| at.column = at.column.take().or_else(|| Some(self.name().into()))))
    }

    /// A batch of this column alone.
    pub(super) fn batch(&self, array: ArrayRef) -> Result<RecordBatch> {
        let schema = Arc::new(Schema::new(vec![Arc::clone(&self.node.field)]));
        let options = RecordBatchOptions::new().with_row_count(Some(array.len()));
        RecordBatch::try_new_with_options(schema, vec![array], &options).map_err(|error| Error::of_arrow(&error))
    }
}
