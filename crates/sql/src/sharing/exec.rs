//! Reads shared rows.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, PhysicalExpr};
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, InputDistributionRequirements, PlanProperties,
};

use super::rows::{ReadPart, SharedRows};

/// Reads shared rows. A statement's first reader has the plan that computes them as its input, where the plan can be seen; whichever reader
/// needs rows first runs it.
#[derive(Debug)]
pub(super) struct SharedExec {
    rows: Arc<SharedRows>,
    /// The number of this reader among all readers of the rows.
    reader: Option<usize>,
    input: Option<Arc<dyn ExecutionPlan>>,
    generation: u64,
    metrics: ExecutionPlanMetricsSet,
    properties: Arc<PlanProperties>,
}

impl SharedExec {
    /// A reader that is not attached to the plan yet.
    pub(super) fn new(rows: Arc<SharedRows>) -> Self {
        let properties = Arc::clone(rows.plan().properties());
        let metrics = ExecutionPlanMetricsSet::new();
        Self { rows, reader: None, input: None, generation: 0, metrics, properties }
    }

    pub(super) fn rows(&self) -> &Arc<SharedRows> {
        &self.rows
    }

    /// This reader with its number, and with the plan as its input if it is the first.
    pub(super) fn attached(&self, reader: usize, input: Option<Arc<dyn ExecutionPlan>>) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self { reader: Some(reader), input, ..self.copy(self.generation) })
    }

    fn copy(&self, generation: u64) -> Self {
        Self {
            rows: Arc::clone(&self.rows),
            reader: self.reader,
            input: self.input.clone(),
            generation,
            metrics: ExecutionPlanMetricsSet::new(),
            properties: Arc::clone(&self.properties),
        }
    }
}

impl DisplayAs for SharedExec {
    fn fmt_as(&self, form: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.rows.number;
        let readers = self.rows.readers();
        match (form, &self.input) {
            (DisplayFormatType::TreeRender, Some(_)) => write!(f, "number={number}\nreaders={readers}"),
            (DisplayFormatType::TreeRender, None) => write!(f, "number={number}\nread again"),
            (_, Some(_)) => write!(f, "SharedExec: number={number}, readers={readers}"),
            (_, None) => write!(f, "SharedExec: number={number}, read again"),
        }
    }
}

impl ExecutionPlan for SharedExec {
    fn name(&self) -> &'static str {
        "SharedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        self.input_distribution_requirements().into_per_child()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        let required = match self.properties.partitioning.partition_count() {
            1 => Distribution::SinglePartition,
            _ => Distribution::UnspecifiedDistribution,
        };
        InputDistributionRequirements::new(self.input.iter().map(|_| required.clone()).collect())
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        self.input.iter().map(|_| false).collect()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.input.iter().map(|_| true).collect()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.input.iter().collect()
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        if children.len() != usize::from(self.input.is_some()) {
            return internal_err!("a reader of shared rows has one input at most");
        }
        let input = children.pop();
        if let Some(input) = &input {
            let count = self.properties.partitioning.partition_count();
            if input.output_partitioning().partition_count() != count {
                return internal_err!("shared rows have {count} partitions, but their plan has others");
            }
            self.rows.set_plan(Arc::clone(input));
        }
        Ok(Arc::new(Self { input, ..self.copy(self.generation) }))
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(self.copy(self.generation + 1)))
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    /// Gives a recursive query's table to the plan before it is attached. The first reader does it for all.
    fn with_new_state(&self, state: Arc<dyn Any + Send + Sync>) -> Option<Arc<dyn ExecutionPlan>> {
        if self.reader.is_some() || self.rows.has_state(&state) {
            return None;
        }
        let with_state = |plan: Arc<dyn ExecutionPlan>| {
            Ok(match plan.with_new_state(Arc::clone(&state)) {
                Some(plan) => Transformed::yes(plan),
                None => Transformed::no(plan),
            })
        };
        let changed = self.rows.plan().transform_down(with_state).ok().filter(|changed| changed.transformed)?;
        self.rows.set_state(&state, changed.data);
        Some(Arc::new(self.copy(self.generation)))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some(reader) = self.reader else {
            return internal_err!("a reader of shared rows has not been attached to its plan");
        };
        let part = ReadPart { reader, generation: self.generation, partition };
        let rows = self.rows.read(part, &context, &self.metrics)?;
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], arguments: &StatisticsArgs) -> Result<Arc<Statistics>> {
        self.rows.statistics(arguments.partition())
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }
}
