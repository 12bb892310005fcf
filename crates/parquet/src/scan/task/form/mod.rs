//! The serialized form of tasks and plans; `docs/formats/tasks.md` describes it.

mod file;
mod mapping;
mod partition;
mod rows;
mod scan;

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use self::file::FileForm;
use self::rows::RowsForm;
use self::scan::ScanForm;
use super::{ScanPlan, ScanTask};
use crate::error::{Error, Result};

/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskForm {
    lath_scan_task: u32,
    scan: ScanForm,
    file: FileForm,
    rows: RowsForm,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanForm {
    lath_scan_plan: u32,
    scan: ScanForm,
    files: Vec<FileForm>,
    tasks: Vec<PlannedRowsForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlannedRowsForm {
    file: usize,
    rows: RowsForm,
}

impl Serialize for ScanTask {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = || {
            Ok::<_, Error>(TaskForm {
                lath_scan_task: VERSION,
                scan: ScanForm::new(&self.planner, self.how)?,
                file: FileForm::new(&self.planner, self.file, self.version.as_ref())?,
                rows: RowsForm::new(self),
            })
        };
        form().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ScanTask {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = TaskForm::deserialize(deserializer)?;
        let task = || {
            check_version(form.lath_scan_task)?;
            let version = form.file.version.version()?;
            let (planner, how) = form.scan.into_planner(vec![form.file], u64::MAX)?;
            form.rows.into_task(&Arc::new(planner), how, 0, version)
        };
        task().map_err(serde::de::Error::custom)
    }
}

impl Serialize for ScanPlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = || {
            let Some(first) = self.tasks.first() else {
                return Err(Error::invalid("a plan without tasks cannot be serialized"));
            };
            let planner = &first.planner;
            let mut places = BTreeMap::new();
            let mut files = Vec::new();
            let mut tasks = Vec::with_capacity(self.tasks.len());
            for task in &self.tasks {
                let file = match places.get(&task.file) {
                    Some(&file) => file,
                    None => {
                        files.push(FileForm::new(planner, task.file, task.version.as_ref())?);
                        places.insert(task.file, files.len() - 1);
                        files.len() - 1
                    }
                };
                tasks.push(PlannedRowsForm { file, rows: RowsForm::new(task) });
            }
            let scan = ScanForm::new(planner, first.how)?;
            Ok(PlanForm { lath_scan_plan: VERSION, scan, files, tasks, limit: self.limit() })
        };
        form().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ScanPlan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = PlanForm::deserialize(deserializer)?;
        let plan = || {
            check_version(form.lath_scan_plan)?;
            let limit = form.limit.unwrap_or(u64::MAX);
            let versions = form.files.iter().map(|file| file.version.version()).collect::<Result<Vec<_>>>()?;
            let (planner, how) = form.scan.into_planner(form.files, limit)?;
            let planner = Arc::new(planner);
            let tasks = form.tasks.into_iter().map(|PlannedRowsForm { file, rows }| {
                let version = versions.get(file).cloned();
                let version = version
                    .ok_or_else(|| Error::invalid(format!("a task refers to file {file}, which is not in the list")));
                rows.into_task(&planner, how, file, version?)
            });
            Ok::<_, Error>(Self::new(Arc::clone(&planner.target.schema), tasks.collect::<Result<_>>()?, limit))
        };
        plan().map_err(serde::de::Error::custom)
    }
}

fn check_version(version: u32) -> Result<()> {
    if version == VERSION {
        return Ok(());
    }
    Err(Error::unsupported(format!("version {version} of the written form of tasks; this is version {VERSION}")))
}

fn decode_base64(text: &str) -> Result<Vec<u8>> {
    BASE64_STANDARD.decode(text).map_err(|error| Error::invalid(format!("text that is not base64: {error}")))
}
