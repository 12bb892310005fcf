//! Collects the inputs of inner joins and their join columns.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::common::{JoinSide, JoinType, NullEquality};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::utils::ColumnIndex;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::projection::ProjectionExec;

/// Maximum number of inputs. With more, the query's order stays, because there are too many orders to try.
const MAX_INPUTS: usize = 12;

/// A set of inputs, as a bit mask.
pub(super) type Inputs = u32;

/// A column of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct InputColumn {
    pub(super) input: usize,
    pub(super) column: usize,
}

/// Inner joins directly below each other.
#[derive(Debug)]
pub(super) struct JoinGraph {
    pub(super) inputs: Vec<Arc<dyn ExecutionPlan>>,
    /// Columns that are equal in all rows of the result, at least two in each list.
    pub(super) equal: Vec<Vec<InputColumn>>,
    pub(super) filters: Vec<Filter>,
    /// The columns of the result.
    pub(super) output: Vec<InputColumn>,
    /// The order of joins in the original plan.
    pub(super) order: Order,
    pub(super) mode: PartitionMode,
}

/// A join condition other than an equality of columns.
#[derive(Debug)]
pub(super) struct Filter {
    /// The condition, on the columns of `schema`.
    pub(super) expression: Arc<dyn PhysicalExpr>,
    pub(super) schema: SchemaRef,
    /// The origin of each column of `schema`.
    pub(super) columns: Vec<InputColumn>,
}

/// A tree of joins.
#[derive(Debug, Clone)]
pub(super) enum Order {
    Input(usize),
    /// The hash table is built from the first side.
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
    pub(super) fn is_in(self, inputs: Inputs) -> bool {
        inputs >> self.input & 1 == 1
    }
}

impl Filter {
    pub(super) fn uses_only(&self, inputs: Inputs) -> bool {
        self.columns.iter().all(|column| column.is_in(inputs))
    }
}

impl JoinGraph {
    /// Collects the joins at the root of a plan; `None` if they have fewer than three inputs, or too many.
    pub(super) fn from_plan(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
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
        // `build` puts each condition at the join of its inputs, so it would lose a condition on a single input.
        let has_two_of_one_input =
            |equal: &Vec<InputColumn>| equal.windows(2).any(|pair| pair[0].input == pair[1].input);
        let uses_one_input = |filter: &Filter| (0..graph.inputs.len()).any(|input| filter.uses_only(1 << input));
        let is_valid = !graph.equal.iter().any(has_two_of_one_input) && !graph.filters.iter().any(uses_one_input);
        (graph.inputs.len() > 2 && is_valid).then_some(graph)
    }

    /// The number of columns of all inputs with this name.
    pub(super) fn columns_named(&self, name: &str) -> usize {
        let columns = |input: &Arc<dyn ExecutionPlan>| {
            input.schema().fields().iter().filter(|field| field.name() == name).count()
        };
        self.inputs.iter().map(columns).sum()
    }

    /// Whether two columns have the same name.
    pub(super) fn has_shared_names(&self) -> bool {
        let schemas = self.inputs.iter().map(|input| input.schema());
        schemas.flat_map(|schema| schema.fields().to_vec()).any(|field| self.columns_named(field.name()) > 1)
    }

    /// Whether an equality of columns joins the two sets.
    pub(super) fn are_joined(&self, left: Inputs, right: Inputs) -> bool {
        let has = |equal: &[InputColumn], inputs| equal.iter().any(|column| column.is_in(inputs));
        self.equal.iter().any(|equal| has(equal, left) && has(equal, right))
    }

    /// Adds a plan. Returns the order of its joins, and its columns.
    fn add(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Option<(Order, Vec<InputColumn>)> {
        if let Some(join) = inner_join(plan) {
            let (left, left_columns) = self.add(join.left())?;
            let (right, right_columns) = self.add(join.right())?;
            for (left, right) in join.on() {
                self.equate(left_columns[column_index(left)?], right_columns[column_index(right)?]);
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

/// The plan, if it is an inner join by equality of columns without a limit.
fn inner_join(plan: &Arc<dyn ExecutionPlan>) -> Option<&HashJoinExec> {
    let join = plan.downcast_ref::<HashJoinExec>()?;
    let is_inner = *join.join_type() == JoinType::Inner
        && join.null_equality() == NullEquality::NullEqualsNothing
        && plan.fetch().is_none();
    let by_columns =
        || join.on().iter().all(|(left, right)| column_index(left).is_some() && column_index(right).is_some());
    (is_inner && by_columns()).then_some(join)
}

/// The plan, if it only selects columns of joins, and the selected columns.
fn columns_of_joins(plan: &Arc<dyn ExecutionPlan>) -> Option<(&ProjectionExec, Vec<usize>)> {
    let projection = plan.downcast_ref::<ProjectionExec>()?;
    let columns =
        projection.expr().iter().map(|projected| column_index(&projected.expr)).collect::<Option<Vec<_>>>()?;
    let input = projection.input();
    (inner_join(input).is_some() || columns_of_joins(input).is_some()).then_some((projection, columns))
}

fn column_index(expression: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    Some(expression.downcast_ref::<Column>()?.index())
}
