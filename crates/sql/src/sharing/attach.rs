//! Puts the shared plan below its first use.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};

use super::exec::SharedExec;
use super::rows::SharedRows;

/// Numbers the readers of shared rows, and gives the plan to the first one. The rule is the last one of the optimizer: until then no reader
/// shows the plan, so that the plan is optimized once, and not for one of its readers.
#[derive(Debug)]
pub(crate) struct AttachShared;

impl PhysicalOptimizerRule for AttachShared {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let mut readers = Readers::default();
        let plan = readers.attach(plan)?;
        for (rows, count) in readers.counts.into_values() {
            rows.set_readers(count);
        }
        Ok(plan)
    }

    fn name(&self) -> &'static str {
        "lath_attach_shared"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The rows that have been met, and the number of their readers, by the address of the rows.
#[derive(Default)]
struct Readers {
    counts: HashMap<usize, (Arc<SharedRows>, usize)>,
}

impl Readers {
    fn attach(&mut self, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        if let Some(reader) = plan.downcast_ref::<SharedExec>() {
            let rows = reader.rows();
            let (_, count) = self.counts.entry(Arc::as_ptr(rows).addr()).or_insert_with(|| (Arc::clone(rows), 0));
            *count += 1;
            let number = *count - 1;
            if number > 0 {
                return Ok(reader.attached(number, None));
            }
            // Readers within the plan may have been attached when it was optimized, but other plans may read the same rows.
            let input = self.attach(rows.plan())?;
            rows.set_plan(Arc::clone(&input));
            return Ok(reader.attached(number, Some(input)));
        }
        let children =
            plan.children().into_iter().map(|child| self.attach(Arc::clone(child))).collect::<Result<_>>()?;
        replace_children_if_necessary(plan, children)
    }
}
