//! Reads other columns for the rows that a plan has found.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use lath_format::schema::{is_at_or_below, is_column, quoted_names};

use super::super::planner::{PlannedRowGroup, Planner};
use super::{ScanPlan, ScanTask, byte_count};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::scan::columns::{FileTarget, Target, VirtualColumns};
use crate::schema::ArrowLayout;

impl ScanPlan {
    /// A plan for the found rows with fewer columns, named as by [`Scan::select`](crate::Scan::select): dotted paths of columns
    /// of the plan or of fields within them. Columns of file names and row numbers stay if they are named. Nothing is read or
    /// pruned again.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a path that the plan does not have, and for a plan of numbered leaves.
    ///
    /// ```no_run
    /// # fn main() -> lath_parquet::Result<()> {
    /// use lath_parquet::{Dataset, DatasetOptions};
    ///
    /// let trips = Dataset::open(["trips/"], DatasetOptions::new())?;
    /// let plan = trips.scan().filter("fare > 100")?.plan()?;
    /// let names = plan.select(["rider.name"])?;
    /// assert_eq!(names.row_count(), plan.row_count());
    /// # Ok(())
    /// # }
    /// ```
    pub fn select<S: Into<String>>(&self, paths: impl IntoIterator<Item = S>) -> Result<Self> {
        let paths: Vec<String> = paths.into_iter().map(Into::into).collect();
        let Some(planner) = self.planner()? else {
            return Ok(Self { schema: project(&self.schema, &paths)?, ..self.clone() });
        };
        let planner = Arc::new(planner.select(&paths)?);
        let tasks = self.tasks.iter().map(|task| task.planned_by(&planner)).collect::<Result<_>>()?;
        Ok(Self { schema: Arc::clone(&planner.target.schema), ..self.with_tasks(tasks) })
    }
}

impl Planner {
    /// A copy of the planner for other columns.
    fn select(&self, paths: &[String]) -> Result<Self> {
        if self.query.leaves.is_some() {
            return Err(Error::invalid("the plan is of numbered leaves; plan again to read other columns"));
        }
        let VirtualColumns { file_name, row_number } = &self.target.virtual_columns;
        let named = |column: &Option<String>| column.clone().filter(|name| paths.contains(name));
        let virtual_columns = VirtualColumns { file_name: named(file_name), row_number: named(row_number) };
        let of_files: Vec<String> = virtual_columns.without(paths).cloned().collect();
        let of_files = project(&self.target.of_files, &of_files)?;
        let paths = self.target.within_plan(paths);
        let target = Target::new(of_files, Some(&paths), &virtual_columns, self.query.layout.strings)?;
        Ok(Self { target: Arc::new(target), plans: Arc::default(), ..self.clone() })
    }
}

impl Target {
    /// Replaces a column by the fields that the plan has of it, if it does not have all: files may have more fields.
    fn within_plan(&self, paths: &[String]) -> Vec<String> {
        let fields_of = |path: &String| {
            let own = self.paths.as_deref()?;
            let column = self.of_files.fields().iter().find(|field| is_column(path, field.name()))?;
            let name = column.name();
            let is_field = |own: &&String| {
                quoted_names(own).map_or_else(|| is_at_or_below(own, name), |names| names.first() == Some(name))
            };
            let mut fields = own.iter().filter(is_field).peekable();
            let is_partial = fields.peek().is_some() && !own.iter().any(|own| is_column(own, name));
            is_partial.then(|| fields.cloned().collect::<Vec<_>>())
        };
        paths.iter().flat_map(|path| fields_of(path).unwrap_or_else(|| vec![path.clone()])).collect()
    }
}

impl ScanTask {
    /// A copy of the task for the columns of `planner`, which has the files and the predicate of the task's planner.
    fn planned_by(&self, planner: &Arc<Planner>) -> Result<Self> {
        let mut task = Self { planner: Arc::clone(planner), ..self.clone() };
        if let Some((file, planned)) = self.open.as_deref() {
            let entry = &planner.dataset.files()[self.file];
            let plan = planner.plan_for(entry, file)?;
            let target = Arc::new(FileTarget::new(&planner.target, &plan, entry.location()));
            let planned = PlannedRowGroup { planner: Arc::clone(planner), plan, target, ..planned.clone() };
            task.byte_count = byte_count(&PlannedRowGroup { rows: self.rows.clone(), ..planned.clone() });
            task.open = Some(Arc::new((file.clone(), planned)));
        }
        Ok(task)
    }
}

/// The columns and fields of `schema` that `paths` name.
fn project(schema: &SchemaRef, paths: &[String]) -> Result<SchemaRef> {
    Dataset::described(Vec::new(), Vec::new(), Arc::clone(schema)).project(Some(paths), &ArrowLayout::default())
}
