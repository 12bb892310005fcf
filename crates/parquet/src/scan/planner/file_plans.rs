//! The plans of a planner: one for each schema, partition and dynamic filter.

use std::sync::{Arc, PoisonError};

use lath_predicate::{BindContext, Constant, Predicate, Test, value_at};

use super::super::dynamic::Narrowing;
use super::super::thresholds::MAX_PLANS;
use super::Planner;
use super::plans::PlannedSchema;
use crate::dataset::{Alignment, DatasetFile, PartitionColumn};
use crate::error::Result;
use crate::file::ParquetFile;
use crate::scan::columns::{Conditions, FilePlan};
use crate::schema::Projection;

impl Planner {
    /// The plan for files with the schema of `file`, one for each schema and partition.
    pub(in crate::scan) fn plan_for(&self, entry: &DatasetFile, file: &ParquetFile) -> Result<Arc<FilePlan>> {
        self.plan_with(entry, file, None, self.query.predicate.as_ref())
    }

    /// The plan with the dynamic filter `narrowing` added to the predicate.
    pub(super) fn narrowed_plan_for(
        &self,
        entry: &DatasetFile,
        file: &ParquetFile,
        narrowing: &Arc<Narrowing>,
    ) -> Result<Arc<FilePlan>> {
        let both = self.query.predicate.clone().map(|predicate| predicate.and(narrowing.predicate.clone()));
        let predicate = both.as_ref().unwrap_or(&narrowing.predicate);
        self.plan_with(entry, file, Some(narrowing), Some(predicate))
    }

    fn plan_with(
        &self,
        entry: &DatasetFile,
        file: &ParquetFile,
        narrowing: Option<&Arc<Narrowing>>,
        predicate: Option<&Predicate>,
    ) -> Result<Arc<FilePlan>> {
        let mut plans = self.plans.of_schemas.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = plans.iter().rev().find(|planned| planned.matches(file, entry.partition(), narrowing)) {
            return Ok(Arc::clone(&found.plan));
        }
        let (alignment, projection) = match &self.query.leaves {
            Some(leaves) => {
                let projection = Projection::from_leaves(leaves.iter().copied());
                (Alignment::identity(&self.target.of_files), Some(projection))
            }
            None => {
                let alignment = self.dataset.align(&self.target.of_files, entry, file)?;
                let projection = alignment.names().map(|names| Projection::from_names(names.iter().cloned()));
                (alignment, projection)
            }
        };
        let conditions = Conditions {
            predicate,
            added: narrowing.map(|narrowing| &narrowing.predicate),
            schema: self.dataset.schema(),
            is_united: self.dataset.is_united(),
            constants: self.constants(entry.partition()),
        };
        let columns = (alignment, projection.as_ref());
        let plan = FilePlan::new(file, columns, &self.query.layout, &conditions).map_err(|error| file.locate(error))?;
        let plan = Arc::new(plan);
        // Plans with an older dynamic filter are not used again.
        let is_same =
            |planned: &PlannedSchema| planned.narrowing.as_ref().map(Arc::as_ptr) == narrowing.map(Arc::as_ptr);
        plans.retain(|planned| planned.narrowing.is_none() || is_same(planned));
        if plans.len() == MAX_PLANS {
            plans.remove(0);
        }
        plans.push(PlannedSchema {
            schema: Arc::clone(file.schema()),
            columns: Arc::clone(file.metadata().schema_descr()),
            partition: entry.partition().into(),
            narrowing: narrowing.cloned(),
            plan: Arc::clone(&plan),
        });
        Ok(plan)
    }

    /// Whether the predicate may be true for rows of a partition, given the values of partition columns.
    pub(super) fn may_be_in_partition(&self, partition: &[u32]) -> Result<bool> {
        let Some(predicate) = self.query.predicate.as_ref().filter(|_| !partition.is_empty()) else { return Ok(true) };
        let mut known = self.plans.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&may_be) = known.get(partition) {
            return Ok(may_be);
        }
        let constants = self.constants(partition);
        let schema = self.dataset.schema();
        let bound = predicate.bind(&BindContext::new(schema).with_constants(&constants))?;
        let may_be = !matches!(bound.test, Test::Constant(Some(false) | None));
        known.insert(partition.into(), may_be);
        Ok(may_be)
    }

    /// The partition columns, which have one value for all rows of a file.
    fn constants(&self, partition: &[u32]) -> Vec<Constant> {
        let constant = |(column, &row): (&PartitionColumn, &u32)| Constant {
            name: column.field().name().clone(),
            field: Arc::clone(column.field()),
            value: value_at(column.values(), row as usize),
        };
        self.dataset.partitions().iter().zip(partition).map(constant).collect()
    }
}
