//! The plans of a planner: one for each schema, partition and dynamic filter.

use std::sync::{Arc, PoisonError};

use lath_predicate::{BindContext, Constant, FieldDefault, Predicate, Test, value_at};

use super::super::dynamic::Narrowing;
use super::super::thresholds::MAX_PLANS;
use super::Planner;
use super::plans::PlannedSchema;
use crate::dataset::{Alignment, DatasetFile, PartitionColumn};
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::prune::{ColumnBounds, TablePredicate};
use crate::scan::columns::{Conditions, FilePlan};
use crate::schema::{ColumnMapping, Projection};

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
                let alignment = self.dataset.align(&self.target.of_files, self.target.paths.as_deref(), entry, file)?;
                let projection = alignment.names().map(|names| Projection::from_names(names.iter().cloned()));
                (alignment, projection)
            }
        };
        let mut constants = self.constants(entry.partition());
        let mut field_defaults = Vec::new();
        if let (Some(columns), Some(predicate)) = (file.column_mapping(), predicate) {
            field_defaults = self.field_defaults(columns, predicate, file)?;
            constants.extend(self.defaults(columns, file, &constants));
        }
        let conditions = Conditions {
            predicate,
            added: narrowing.map(|narrowing| &narrowing.predicate),
            schema: self.dataset.schema(),
            is_united: self.dataset.is_united(),
            constants,
            field_defaults,
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
            mapping: file.column_mapping().cloned(),
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

    /// Whether the predicate may be true for rows of a file, given the evidence that is known before the file is opened.
    pub(super) fn may_be_in_file(&self, file: &DatasetFile) -> Result<bool> {
        let (Some(predicate), Some(evidence)) = (&self.query.predicate, file.evidence()) else { return Ok(true) };
        if !self.query.pruning.statistics {
            return Ok(true);
        }
        let table = match self.plans.of_table.get() {
            Some(table) => table,
            None => {
                let table = TablePredicate::new(predicate, self.dataset.schema())?;
                self.plans.of_table.get_or_init(|| table)
            }
        };
        let constant = |name: &str| {
            let mut constants = self.dataset.constants(file.partition());
            let (column, row) = constants.find(|(column, _)| column.field().name() == name)?;
            Some(ColumnBounds::constant(value_at(column.values(), row)))
        };
        Ok(table.may_have_rows_with(evidence, &constant))
    }

    /// The partition columns with one value for all rows of a file.
    fn constants(&self, partition: &[u32]) -> Vec<Constant> {
        let constant = |(column, row): (&PartitionColumn, usize)| Constant {
            name: column.field().name().clone(),
            field: Arc::clone(column.field()),
            value: value_at(column.values(), row),
        };
        self.dataset.constants(partition).map(constant).collect()
    }

    /// The columns that `file` lacks and that have a default, unless they are among the `others`.
    fn defaults(&self, columns: &ColumnMapping, file: &ParquetFile, others: &[Constant]) -> Vec<Constant> {
        let mut defaults = Vec::new();
        for (name, value) in columns.missing_defaults(file.schema()) {
            let Ok(field) = self.dataset.schema().field_with_name(name) else { continue };
            if !field.data_type().is_nested() && others.iter().all(|constant| constant.name != name) {
                let field = Arc::new(field.clone());
                defaults.push(Constant { name: name.to_owned(), field, value: value_at(value, 0) });
            }
        }
        defaults
    }

    /// The fields within structs that the predicate has, that `file` lacks, and that have a default.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for such a field within the values of a map.
    fn field_defaults(
        &self,
        columns: &ColumnMapping,
        predicate: &Predicate,
        file: &ParquetFile,
    ) -> Result<Vec<FieldDefault>> {
        let bound = predicate.bind(&BindContext::new(self.dataset.schema()))?;
        let mut defaults = Vec::new();
        for column in &bound.columns {
            let path = &column.names;
            if let Some(value) = columns.nested_default(path, file.schema()).and_then(|value| value_at(value, 0)) {
                defaults.push(FieldDefault { path: path.clone(), value });
            }
            if column.is_in_map() && columns.has_defaults_within(path) {
                return Err(Error::unsupported(format!(
                    "a condition on {:?}, which is within a map whose values have fields with a default",
                    column.name
                )));
            }
        }
        Ok(defaults)
    }
}
