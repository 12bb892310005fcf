//! Which inputs are joined, and by which columns.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::common::{JoinSide, JoinType, NullEquality};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::utils::ColumnIndex;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::projection::ProjectionExec;

/// With more inputs than this, the order of the query stays: there are too many to go through.
const MAX_INPUTS: usize = 12;

/// A set of inputs: the bits of their numbers.
pub(super) type Inputs = u32;

/// A column of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct InputColumn {
    pub(super) input: usize,
    pub(super) column: usize,
}

/// Inner joins that lie directly below each other.
#[derive(Debug)]
pub(super) struct JoinGraph {
    pub(super) inputs: Vec<Arc<dyn ExecutionPlan>>,
    /// Columns that are equal in all rows of the result, at least two in each list.
    pub(super) equal: Vec<Vec<InputColumn>>,
    pub(super) filters: Vec<Filter>,
    /// The columns of the result.
    pub(super) output: Vec<InputColumn>,
    /// The order in which the plan has the joins.
    pub(super) order: Order,
    pub(super) mode: PartitionMode,
}

/// A condition beside the equality of columns.
#[derive(Debug)]
pub(super) struct Filter {
    /// On the columns of `schema`.
    pub(super) expression: Arc<dyn PhysicalExpr>,
    pub(super) schema: SchemaRef,
    /// Where each column of the schema comes from.
    pub(super) columns: Vec<InputColumn>,
}

/// Which inputs are joined first.
#[derive(Debug, Clone)]
pub(super) enum Order {
    Input(usize),
    /// The hash table is made of the first.
    Join(Box<Order>, Box<Order>),
}

impl Order {
    pub(super) fn inputs(&self) -> Inputs {
        match self {
            Self::Input(input) => 1 << input,
            Self::Join(left, right) => left.inputs() | right.inputs(),
        }
    }
}

impl InputColumn {
    pub(super) fn is_of(self, inputs: Inputs) -> bool {
        inputs >> self.input & 1 == 1
    }
}

impl Filter {
    pub(super) fn is_of(&self, inputs: Inputs) -> bool {
        self.columns.iter().all(|column| column.is_of(inputs))
    }
}

impl JoinGraph {
    /// The joins of three or more inputs that begin with this plan; `None` if there are none, or too many.
    pub(super) fn of(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let mode = *inner_join(plan)?.partition_mode();
        let mut graph = Self {
            inputs: Vec::new(),
            equal: Vec::new(),
            filters: Vec::new(),
            output: Vec::new(),
            order: Order::Input(0),
            mode,
        };
        let (order, output) = graph.add(plan)?;
        (graph.order, graph.output) = (order, output);
        // What is asked of one input's rows alone, no join would ask for.
        let has_two_of_one = |equal: &Vec<InputColumn>| equal.windows(2).any(|pair| pair[0].input == pair[1].input);
        let is_of_one = |filter: &Filter| (0..graph.inputs.len()).any(|input| filter.is_of(1 << input));
        let is_of_joins = !graph.equal.iter().any(has_two_of_one) && !graph.filters.iter().any(is_of_one);
        (graph.inputs.len() > 2 && is_of_joins).then_some(graph)
    }

    /// How many columns of all inputs have a name.
    pub(super) fn times_of_name(&self, name: &str) -> usize {
        let of_input = |input: &Arc<dyn ExecutionPlan>| {
            input.schema().fields().iter().filter(|field| field.name() == name).count()
        };
        self.inputs.iter().map(of_input).sum()
    }

    /// Whether two columns have one name.
    pub(super) fn has_shared_names(&self) -> bool {
        let schemas = self.inputs.iter().map(|input| input.schema());
        schemas.flat_map(|schema| schema.fields().to_vec()).any(|field| self.times_of_name(field.name()) > 1)
    }

    /// Whether a condition says that columns of both sets are equal.
    pub(super) fn are_joined(&self, left: Inputs, right: Inputs) -> bool {
        let has = |equal: &[InputColumn], inputs| equal.iter().any(|column| column.is_of(inputs));
        self.equal.iter().any(|equal| has(equal, left) && has(equal, right))
    }

    /// Adds a plan; gives the order of what is joined in it, and its columns.
    fn add(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Option<(Order, Vec<InputColumn>)> {
        if let Some(join) = inner_join(plan) {
            let (left, left_columns) = self.add(join.left())?;
            let (right, right_columns) = self.add(join.right())?;
            for (left, right) in join.on() {
                self.equate(left_columns[column_of(left)?], right_columns[column_of(right)?]);
            }
            if let Some(filter) = join.filter() {
                let column = |index: &ColumnIndex| match index.side {
                    JoinSide::Left => left_columns.get(index.index).copied(),
                    JoinSide::Right => right_columns.get(index.index).copied(),
                    JoinSide::None => None,
                };
                let columns = filter.column_indices().iter().map(column).collect::<Option<_>>()?;
                let (expression, schema) = (Arc::clone(filter.expression()), Arc::clone(filter.schema()));
                self.filters.push(Filter { expression, schema, columns });
            }
            let all = [left_columns, right_columns].concat();
            let columns = match &join.projection {
                Some(projection) => projection.iter().map(|&at| all[at]).collect(),
                None => all,
            };
            return Some((Order::Join(Box::new(left), Box::new(right)), columns));
        }
        if let Some((projection, columns)) = columns_of_joins(plan) {
            let (order, all) = self.add(projection.input())?;
            return Some((order, columns.into_iter().map(|at| all[at]).collect()));
        }
        let input = self.inputs.len();
        if input == MAX_INPUTS {
            return None;
        }
        self.inputs.push(Arc::clone(plan));
        let columns = (0..plan.schema().fields().len()).map(|column| InputColumn { input, column });
        Some((Order::Input(input), columns.collect()))
    }

    fn equate(&mut self, left: InputColumn, right: InputColumn) {
        let mut equal = vec![left, right];
        self.equal.retain(|other| {
            let is_other = !other.contains(&left) && !other.contains(&right);
            if !is_other {
                equal.extend(other);
            }
            is_other
        });
        equal.sort_unstable();
        equal.dedup();
        self.equal.push(equal);
    }
}

/// The plan as an inner join by the equality of columns, which gives all rows.
fn inner_join(plan: &Arc<dyn ExecutionPlan>) -> Option<&HashJoinExec> {
    let join = plan.downcast_ref::<HashJoinExec>()?;
    let is_inner = *join.join_type() == JoinType::Inner
        && join.null_equality() == NullEquality::NullEqualsNothing
        && plan.fetch().is_none();
    let by_columns = || join.on().iter().all(|(left, right)| column_of(left).is_some() && column_of(right).is_some());
    (is_inner && by_columns()).then_some(join)
}

/// The plan as one that does no more than choose columns of joins, and which it chooses.
fn columns_of_joins(plan: &Arc<dyn ExecutionPlan>) -> Option<(&ProjectionExec, Vec<usize>)> {
    let projection = plan.downcast_ref::<ProjectionExec>()?;
    let columns = projection.expr().iter().map(|projected| column_of(&projected.expr)).collect::<Option<Vec<_>>>()?;
    let input = projection.input();
    (inner_join(input).is_some() || columns_of_joins(input).is_some()).then_some((projection, columns))
}

fn column_of(expression: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    Some(expression.downcast_ref::<Column>()?.index())
}
