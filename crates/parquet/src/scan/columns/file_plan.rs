//! The read plan for files of one schema.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use lath_predicate::{BindContext, BoundPredicate, Constant, FieldDefault, Predicate};

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

/// The columns that a scan reads from files of one schema, and the predicate bound to them.
#[derive(Debug)]
pub(in crate::scan) struct FilePlan {
    /// The leaves of operands and of the result, each once.
    pub(in crate::scan) leaves: Vec<PlannedLeaf>,
    pub(in crate::scan) predicate: Option<Arc<BoundPredicate>>,
    /// The condition of the dynamic filter.
    pub(in crate::scan) added: Option<Arc<BoundPredicate>>,
    /// The predicate, if it only looks up one key.
    pub(in crate::scan) single_key: Option<SingleKeyProbe>,
    /// Sources of the predicate's operands, in the order of its columns.
    pub(in crate::scan) operands: Vec<Operand>,
    /// The columns of the result.
    pub(in crate::scan) columns: Vec<PlannedColumn>,
    /// The schema of the columns, in file order.
    pub(in crate::scan) schema: SchemaRef,
    /// Converts them to the columns of the result.
    pub(in crate::scan) alignment: Alignment,
    /// Selectivity and test time of the conjuncts.
    pub(in crate::scan) selectivity: SelectivityStats,
    /// Numbers of searched and of skipped pages.
    pub(in crate::scan) search_stats: PageSearchStats,
    limits: Limits,
}

/// Conditions on the rows of a file.
pub(in crate::scan) struct Conditions<'a> {
    pub(in crate::scan) predicate: Option<&'a Predicate>,
    /// The part that the dynamic filter added.
    pub(in crate::scan) added: Option<&'a Predicate>,
    /// The columns of all files, to which names and literals refer.
    pub(in crate::scan) schema: &'a Schema,
    /// Whether the types of these columns can hold all values of the file's columns.
    pub(in crate::scan) is_united: bool,
    pub(in crate::scan) constants: Vec<Constant>,
    /// The values of fields within structs that the file lacks.
    pub(in crate::scan) field_defaults: Vec<FieldDefault>,
}

/// A column that is assembled from leaves.
#[derive(Debug)]
pub(in crate::scan) struct PlannedColumn {
    node: Node,
    /// Indices among [`FilePlan::leaves`].
    pub(in crate::scan) leaves: Vec<usize>,
}

/// Source of the values of an operand.
#[derive(Debug)]
pub(in crate::scan) enum Operand {
    /// A leaf without repetition.
    Leaf(usize),
    /// A field within a column.
    Within(PlannedColumn),
}

impl Operand {
    /// The leaves that the operand needs.
    pub(in crate::scan) fn leaves(&self) -> &[usize] {
        match self {
            Self::Leaf(leaf) => std::slice::from_ref(leaf),
            Self::Within(column) => &column.leaves,
        }
    }
}

impl FilePlan {
    /// Whether all rows of a leaf are read before any other leaf rules out rows: true for every leaf if there is no predicate,
    /// and for the predicate's leaves if it is not a list of conjuncts.
    pub(in crate::scan) fn is_read_first(&self, leaf: usize, conjuncts: &[Conjunct]) -> bool {
        match conjuncts {
            [] => true,
            [only] => only.operands.iter().any(|&operand| self.operands[operand].leaves().contains(&leaf)),
            _ => false,
        }
    }

    /// Plans to read the columns of `projection` from files like `file`, for rows for which `predicate` holds. The alignment
    /// converts them to columns of the result.
    pub(in crate::scan) fn new(
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
                .with_constants(&conditions.constants)
                .with_field_defaults(&conditions.field_defaults);
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

/// The leaf numbers of a column: of the root at the first index, then of the struct fields at the others.
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
    /// Adds the leaves of `node` to `leaves`, except leaves that are already there.
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

    /// Name of the column in errors.
    pub(in crate::scan) fn name(&self) -> &str {
        self.node.field.name()
    }

    /// The column's array for `row_count` rows, from the batches of its leaves.
    pub(in crate::scan) fn assemble(
        &self,
        plan: &FilePlan,
        leaves: impl IntoIterator<Item = LeafBatch>,
        row_count: usize,
    ) -> Result<ArrayRef> {
        assemble(&self.node, &mut leaves.into_iter(), row_count, &plan.limits)
            .map_err(|error| error.locate(|at| at.column = at.column.take().or_else(|| Some(self.name().into()))))
    }

    /// A batch of only this column.
    pub(in crate::scan) fn batch(&self, array: ArrayRef) -> Result<RecordBatch> {
        let schema = Arc::new(Schema::new(vec![Arc::clone(&self.node.field)]));
        let options = RecordBatchOptions::new().with_row_count(Some(array.len()));
        RecordBatch::try_new_with_options(schema, vec![array], &options).map_err(|error| Error::from_arrow(&error))
    }
}
