//! Writes the nodes and functions of plans that DataFusion does not know.

use std::fmt;
use std::ops::Range;
use std::str::from_utf8;
use std::sync::Arc;

use arrow_schema::{Schema, SortOptions};
use datafusion::common::{Result, Statistics, internal_err, plan_err};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf;
use lath_parquet::{Runtime, ScanPlan, SortingColumn};
use prost::Message;

use super::form::{schema, unreadable};
use super::functions::Functions;
use super::hot_rows::HotRows;
use super::scan::FileRefusal;
use super::write_part::{WritePartNode, WriteRefusal, WriteRule};
use crate::memory::{plain_sort, sort_of_views};
use crate::rewrite::{barrier_columns, grouping_sets, with_barrier, with_grouping_sets};
use crate::scan::{FieldProjection, LathSource};
use crate::session::Session;
use crate::write::WritePartExec;

/// Writes and reads what Lath adds to DataFusion's plans: scans, operators and functions.
#[derive(Clone)]
pub struct PlanCodec {
    functions: Functions,
    runtime: Runtime,
    refusal: Option<FileRefusal>,
    writing: Option<WriteRule>,
}

impl PlanCodec {
    /// Creates a codec whose scans read on a runtime.
    pub fn new(runtime: &Runtime) -> Self {
        Self { functions: Functions::of(&Session::new()), runtime: runtime.clone(), refusal: None, writing: None }
    }

    /// Reads no plan with a file for which `refusal` returns a reason.
    #[must_use]
    pub fn refusing(self, refusal: FileRefusal) -> Self {
        Self { refusal: Some(refusal), ..self }
    }

    /// Reads plans that write files, except below URLs for which `refusal` returns a reason. Otherwise no such plan is read. Writers use a part of a
    /// process's memory, if it has a limit.
    #[must_use]
    pub fn writing(self, refusal: WriteRefusal, memory_budget_bytes: Option<usize>) -> Self {
        Self { writing: Some(WriteRule { refusal, memory_budget_bytes }), ..self }
    }

    pub(super) fn functions(&self) -> &Functions {
        &self.functions
    }

    fn scan_node(&self, source: &LathSource, converter: &dyn PhysicalProtoConverterExtension) -> Result<ScanNode> {
        let plan = match source.plan.tasks() {
            [] => Vec::new(),
            _ => serde_json::to_vec(source.plan.as_ref()).map_err(unreadable)?,
        };
        let expr = |expr: &Arc<dyn PhysicalExpr>| converter.physical_expr_to_proto(expr, self);
        let projected = source.projection.as_deref().map(|projection| {
            let exprs = projection.field_exprs().iter().map(|projected| {
                Ok(ProjectedNode { expr: Some(expr(&projected.expr)?), alias: projected.alias.clone() })
            });
            let schema = Some(projection.schema().as_ref().try_into()?);
            Ok::<_, DataFusionError>(ProjectionNode { exprs: exprs.collect::<Result<_>>()?, schema })
        });
        let sorted = source.ordering.iter().map(|column| SortingNode {
            path: column.path.clone(),
            descending: column.descending,
            nulls_first: column.nulls_first,
        });
        Ok(ScanNode {
            plan,
            schema: Some(source.plan.schema().as_ref().try_into()?),
            testable: Some(source.testable.as_ref().try_into()?),
            projection: projected.transpose()?,
            ordering: sorted.collect(),
            verifies_order: source.verifies_order,
            partitions: u64::try_from(source.partitions).unwrap_or(u64::MAX),
            fetch: source.fetch.map(|rows| u64::try_from(rows).unwrap_or(u64::MAX)),
            pushed_filters: source.pushed_filters.iter().map(expr).collect::<Result<_>>()?,
        })
    }

    fn scan(
        &self,
        node: ScanNode,
        context: &PhysicalPlanDecodeContext<'_>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planned = schema(node.schema.as_ref())?;
        let partitions = usize::try_from(node.partitions).unwrap_or(1).max(1);
        let expr = |expr: &protobuf::PhysicalExprNode, schema: &Schema| {
            converter.proto_to_physical_expr(expr, schema, context)
        };
        let projection = node.projection.map(|projection| {
            let exprs = projection.exprs.into_iter().map(|projected| {
                let Some(written) = projected.expr else { return internal_err!("a projection without expression") };
                Ok(ProjectionExpr::new(expr(&written, &planned)?, projected.alias))
            });
            let exprs = ProjectionExprs::new(exprs.collect::<Result<Vec<_>>>()?);
            FieldProjection::from_fields(exprs, &planned, schema(projection.schema.as_ref())?)
        });
        let projection = projection.transpose()?.map(Arc::new);
        if node.plan.is_empty() {
            let schema = projection.as_deref().map_or(planned, |projection| Arc::clone(projection.schema()));
            return Ok(Arc::new(EmptyExec::new(schema).with_partitions(partitions)));
        }
        let plan: ScanPlan = serde_json::from_slice(&node.plan).map_err(unreadable)?;
        if let Some(refusal) = &self.refusal
            && let Some(reason) = plan.tasks().iter().find_map(|task| refusal(task))
        {
            return plan_err!("{reason}");
        }
        if *plan.schema() != planned {
            return internal_err!("a scan of {:?} became one of {:?}", planned, plan.schema());
        }
        let testable = schema(node.testable.as_ref())?;
        let pushed_filters = node.pushed_filters.iter().map(|filter| expr(filter, &testable)).collect::<Result<_>>()?;
        let sorted = node.ordering.into_iter().map(|column| SortingColumn {
            path: column.path,
            descending: column.descending,
            nulls_first: column.nulls_first,
        });
        let statistics = Arc::new(Statistics::new_unknown(&planned));
        Ok(DataSourceExec::from_data_source(LathSource {
            plan: Arc::new(plan),
            testable,
            projection,
            ordering: sorted.collect(),
            verifies_order: node.verifies_order,
            predicate: None,
            statistics,
            partitions,
            runtime: self.runtime.clone(),
            fetch: node.fetch.and_then(|rows| usize::try_from(rows).ok()),
            pushed_filters,
            metrics: ExecutionPlanMetricsSet::new(),
            rows_done: Arc::default(),
            snapshot: None,
        }))
    }

    fn sort_node(&self, sort: &SortExec, converter: &dyn PhysicalProtoConverterExtension) -> Result<PlainSortNode> {
        let keys = sort.expr().iter().map(|key| {
            Ok(SortKeyNode {
                expr: Some(converter.physical_expr_to_proto(&key.expr, self)?),
                descending: key.options.descending,
                nulls_first: key.options.nulls_first,
            })
        });
        Ok(PlainSortNode { keys: keys.collect::<Result<_>>()?, preserve_partitioning: sort.preserve_partitioning() })
    }

    fn sort(
        node: PlainSortNode,
        input: &Arc<dyn ExecutionPlan>,
        context: &PhysicalPlanDecodeContext<'_>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = input.schema();
        let keys = node.keys.into_iter().map(|key| {
            let Some(expr) = key.expr else { return internal_err!("a sort key without expression") };
            let expr = converter.proto_to_physical_expr(&expr, &schema, context)?;
            let options = SortOptions { descending: key.descending, nulls_first: key.nulls_first };
            Ok(PhysicalSortExpr::new(expr, options))
        });
        let Some(order) = LexOrdering::new(keys.collect::<Result<Vec<_>>>()?) else {
            return internal_err!("a sort without keys");
        };
        plain_sort(&SortExec::new(order, Arc::clone(input)).with_preserve_partitioning(node.preserve_partitioning))
    }
}

fn form(written: &[u8]) -> Result<&str> {
    from_utf8(written).map_err(unreadable)
}

impl PhysicalExtensionCodec for PlanCodec {
    fn try_decode(
        &self,
        written: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let node = PlanNode::decode(written).map_err(unreadable)?;
        let context = PhysicalPlanDecodeContext::new(context, self);
        match (node.node, inputs) {
            (Some(Node::Scan(scan)), []) => self.scan(scan, &context, converter),
            (Some(Node::Barrier(barrier)), [input]) => {
                let columns = (!barrier.all).then_some(Range {
                    start: usize::try_from(barrier.start).unwrap_or(0),
                    end: usize::try_from(barrier.end).unwrap_or(usize::MAX),
                });
                with_barrier(columns, Arc::clone(input))
            }
            (Some(Node::HotRows(hot)), []) => {
                let partitions = usize::try_from(hot.partitions).unwrap_or(1).max(1);
                let rows = HotRows::from_bytes(&hot.rows, schema(hot.schema.as_ref())?, partitions)?;
                Ok(DataSourceExec::from_data_source(rows))
            }
            (Some(Node::GroupingSets(node)), [input]) => {
                with_grouping_sets(Arc::clone(input), node.sets.into_iter().map(|set| set.is_null).collect())
            }
            (Some(Node::PlainSort(sort)), [input]) => Self::sort(sort, input, &context, converter),
            (Some(Node::WritePart(part)), [input]) => match &self.writing {
                Some(rule) => part.plan(input, rule, &self.runtime),
                None => plan_err!("this process writes no files for others"),
            },
            _ => internal_err!("an operator of an unknown kind, or with {} inputs", inputs.len()),
        }
    }

    fn try_encode(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        written: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let source = plan.downcast_ref::<DataSourceExec>();
        let node = if let Some(source) = source.and_then(|exec| exec.data_source().downcast_ref::<LathSource>()) {
            Node::Scan(self.scan_node(source, converter)?)
        } else if let Some(hot) = HotRows::in_plan(&plan) {
            Node::HotRows(HotRowsNode {
                schema: Some(hot.schema().as_ref().try_into()?),
                rows: hot.to_bytes()?,
                partitions: u64::try_from(hot.partitions()).unwrap_or(u64::MAX),
            })
        } else if let Some(columns) = barrier_columns(&plan) {
            let number = |index: usize| u64::try_from(index).unwrap_or(u64::MAX);
            let (all, columns) = (columns.is_none(), columns.unwrap_or_default());
            Node::Barrier(BarrierNode { all, start: number(columns.start), end: number(columns.end) })
        } else if let Some(sets) = grouping_sets(&plan) {
            let sets = sets.iter().map(|set| GroupingSetNode { is_null: set.clone() });
            Node::GroupingSets(GroupingSetsNode { sets: sets.collect() })
        } else if let Some(sort) = sort_of_views(&plan) {
            Node::PlainSort(self.sort_node(sort, converter)?)
        } else if let Some(part) = plan.downcast_ref::<WritePartExec>() {
            Node::WritePart(WritePartNode::new(part.files())?)
        } else {
            return plan_err!("{} cannot run in another process", plan.name());
        };
        PlanNode { node: Some(node) }.encode(written).map_err(unreadable)
    }

    fn try_encode_udf(&self, function: &ScalarUDF, written: &mut Vec<u8>) -> Result<()> {
        match self.functions.scalar_form(function) {
            Some(form) => {
                written.extend_from_slice(form.as_bytes());
                Ok(())
            }
            None => plan_err!("the function {} is known to this process alone", function.name()),
        }
    }

    fn try_decode_udf(&self, name: &str, written: &[u8]) -> Result<Arc<ScalarUDF>> {
        self.functions.scalar(name, form(written)?)
    }

    fn try_encode_udaf(&self, function: &AggregateUDF, written: &mut Vec<u8>) -> Result<()> {
        match self.functions.aggregate_form(function) {
            Some(form) => {
                written.extend_from_slice(form.as_bytes());
                Ok(())
            }
            None => plan_err!("the function {} is known to this process alone", function.name()),
        }
    }

    fn try_decode_udaf(&self, name: &str, written: &[u8]) -> Result<Arc<AggregateUDF>> {
        self.functions.aggregate(name, form(written)?)
    }
}

impl fmt::Debug for PlanCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanCodec").finish_non_exhaustive()
    }
}

/// A node of a plan that DataFusion does not write.
#[derive(Clone, PartialEq, Message)]
struct PlanNode {
    #[prost(oneof = "Node", tags = "1, 2, 3, 4, 5, 6")]
    node: Option<Node>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Node {
    #[prost(message, tag = "1")]
    Scan(ScanNode),
    #[prost(message, tag = "2")]
    Barrier(BarrierNode),
    #[prost(message, tag = "3")]
    PlainSort(PlainSortNode),
    #[prost(message, tag = "4")]
    HotRows(HotRowsNode),
    #[prost(message, tag = "5")]
    WritePart(WritePartNode),
    #[prost(message, tag = "6")]
    GroupingSets(GroupingSetsNode),
}

#[derive(Clone, PartialEq, Message)]
struct ScanNode {
    /// The plan as `docs/formats/tasks.md` describes it; empty without tasks.
    #[prost(bytes = "vec", tag = "1")]
    plan: Vec<u8>,
    #[prost(message, optional, tag = "2")]
    schema: Option<protobuf::Schema>,
    #[prost(message, optional, tag = "3")]
    testable: Option<protobuf::Schema>,
    #[prost(message, optional, tag = "4")]
    projection: Option<ProjectionNode>,
    #[prost(message, repeated, tag = "5")]
    ordering: Vec<SortingNode>,
    #[prost(bool, tag = "6")]
    verifies_order: bool,
    #[prost(uint64, tag = "7")]
    partitions: u64,
    #[prost(uint64, optional, tag = "8")]
    fetch: Option<u64>,
    #[prost(message, repeated, tag = "9")]
    pushed_filters: Vec<protobuf::PhysicalExprNode>,
}

#[derive(Clone, PartialEq, Message)]
struct ProjectionNode {
    #[prost(message, repeated, tag = "1")]
    exprs: Vec<ProjectedNode>,
    #[prost(message, optional, tag = "2")]
    schema: Option<protobuf::Schema>,
}

#[derive(Clone, PartialEq, Message)]
struct HotRowsNode {
    #[prost(message, optional, tag = "1")]
    schema: Option<protobuf::Schema>,
    /// In Arrow's stream format.
    #[prost(bytes = "vec", tag = "2")]
    rows: Vec<u8>,
    #[prost(uint64, tag = "3")]
    partitions: u64,
}

#[derive(Clone, PartialEq, Message)]
struct ProjectedNode {
    #[prost(message, optional, tag = "1")]
    expr: Option<protobuf::PhysicalExprNode>,
    #[prost(string, tag = "2")]
    alias: String,
}

#[derive(Clone, PartialEq, Message)]
struct SortingNode {
    #[prost(string, tag = "1")]
    path: String,
    #[prost(bool, tag = "2")]
    descending: bool,
    #[prost(bool, tag = "3")]
    nulls_first: bool,
}

#[derive(Clone, PartialEq, Message)]
struct BarrierNode {
    #[prost(bool, tag = "1")]
    all: bool,
    #[prost(uint64, tag = "2")]
    start: u64,
    #[prost(uint64, tag = "3")]
    end: u64,
}

#[derive(Clone, PartialEq, Message)]
struct GroupingSetsNode {
    #[prost(message, repeated, tag = "1")]
    sets: Vec<GroupingSetNode>,
}

#[derive(Clone, PartialEq, Message)]
struct GroupingSetNode {
    #[prost(bool, repeated, tag = "1")]
    is_null: Vec<bool>,
}

#[derive(Clone, PartialEq, Message)]
struct PlainSortNode {
    #[prost(message, repeated, tag = "1")]
    keys: Vec<SortKeyNode>,
    #[prost(bool, tag = "2")]
    preserve_partitioning: bool,
}

#[derive(Clone, PartialEq, Message)]
struct SortKeyNode {
    #[prost(message, optional, tag = "1")]
    expr: Option<protobuf::PhysicalExprNode>,
    #[prost(bool, tag = "2")]
    descending: bool,
    #[prost(bool, tag = "3")]
    nulls_first: bool,
}
