//! The part that all tasks of a scan share.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use lath_format::schema::encode_arrow_schema;
use lath_predicate::{BindContext, Predicate};
use serde::{Deserialize, Serialize};

use super::decode_base64;
use super::file::FileForm;
use super::mapping::MappedColumnForm;
use super::partition::partitions;
use crate::dataset::{Dataset, DatasetFile, DatasetOptions};
use crate::deletes::DeleteMask;
use crate::error::{Error, Result};
use crate::file::OpenOptions;
use crate::options::{Int96Unit, Strings};
use crate::scan::columns::{Target, VirtualColumns};
use crate::scan::monitor::Cancel;
use crate::scan::planner::{Planner, Query};
use crate::scan::task::How;
use crate::schema::{ArrowLayout, ColumnMapping, decode_arrow_schema};

/// The part that all tasks of a scan share.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScanForm {
    /// Arrow schemas as Parquet files store them.
    schema: String,
    columns: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paths: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file_name_column: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    row_number_column: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    predicate: Option<String>,
    strings: StringsForm,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dictionary_columns: Vec<String>,
    int96: Int96Form,
    arrow_schema_hint: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    column_mapping: Option<Vec<MappedColumnForm>>,
    batch_size: usize,
    verify_crc: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StringsForm {
    Views,
    Offsets,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Int96Form {
    Nanoseconds,
    Microseconds,
    Milliseconds,
}

impl ScanForm {
    pub(super) fn new(planner: &Planner, how: How) -> Result<Self> {
        let dataset = &planner.dataset;
        let open = dataset.files().first().map_or_else(OpenOptions::new, |file| file.options().open().clone());
        let (follows_hint, int96_unit) = open.schema_choices();
        let mapping = open.column_mapping();
        let is_alike = |file: &DatasetFile| ColumnMapping::is_same(mapping, file.options().open().column_mapping());
        if !dataset.files().iter().all(is_alike) {
            return Err(Error::invalid(
                "tasks of files whose columns are mapped in different ways cannot be serialized",
            ));
        }
        let predicate = planner.query.predicate.as_ref().map(Predicate::to_string);
        if let Some(text) = &predicate {
            // A predicate that was built in Rust may be nested more deeply than text may be.
            Predicate::parse(text).map_err(|error| Error::invalid(format!("the predicate of a task: {error}")))?;
        }
        let target = &planner.target;
        Ok(Self {
            schema: encode_arrow_schema(&needed_schema(planner)),
            columns: encode_arrow_schema(&target.of_files),
            paths: target.paths.clone(),
            file_name_column: target.virtual_columns.file_name.clone(),
            row_number_column: target.virtual_columns.row_number.clone(),
            predicate,
            strings: match planner.query.layout.strings {
                Strings::Views => StringsForm::Views,
                Strings::Offsets => StringsForm::Offsets,
            },
            dictionary_columns: planner.query.layout.dictionary_columns.clone(),
            int96: match int96_unit {
                Int96Unit::Nanoseconds => Int96Form::Nanoseconds,
                Int96Unit::Microseconds => Int96Form::Microseconds,
                Int96Unit::Milliseconds => Int96Form::Milliseconds,
            },
            arrow_schema_hint: follows_hint,
            column_mapping: mapping.map(|columns| MappedColumnForm::all(columns.columns())).transpose()?,
            batch_size: how.batch_size,
            verify_crc: how.verify_crc,
        })
    }

    /// The planner of tasks about `files`.
    pub(super) fn into_planner(self, files: Vec<FileForm>, limit: u64) -> Result<(Planner, How)> {
        let int96_unit = match self.int96 {
            Int96Form::Nanoseconds => Int96Unit::Nanoseconds,
            Int96Form::Microseconds => Int96Unit::Microseconds,
            Int96Form::Milliseconds => Int96Unit::Milliseconds,
        };
        let open = OpenOptions::new().arrow_schema_hint(self.arrow_schema_hint).int96_unit(int96_unit);
        let columns = self.column_mapping.map(MappedColumnForm::into_columns).transpose()?;
        let open = columns.into_iter().fold(open, |open, columns| open.columns(Arc::new(ColumnMapping::new(columns))));
        let options = Arc::new(DatasetOptions::new().open_options(open));
        let strings = match self.strings {
            StringsForm::Views => Strings::Views,
            StringsForm::Offsets => Strings::Offsets,
        };
        if self.batch_size == 0 {
            return Err(Error::invalid("a batch size of 0 rows"));
        }
        let schema = Arc::new(decode_arrow_schema(&self.schema)?);
        let of_files: SchemaRef = Arc::new(decode_arrow_schema(&self.columns)?);
        let virtual_columns = VirtualColumns { file_name: self.file_name_column, row_number: self.row_number_column };
        let target = Target::new(of_files, self.paths.as_deref(), &virtual_columns, strings)?;
        let (partitions, rows) = partitions(files.iter().map(|file| file.partition.as_deref()))?;
        let mut deleted = BTreeMap::new();
        let mut dataset_files = Vec::with_capacity(files.len());
        for ((at, file), partition) in files.into_iter().enumerate().zip(rows) {
            if let Some(mask) = &file.deleted {
                deleted.insert(at, Arc::new(DeleteMask::from_bytes(&decode_base64(mask)?)?));
            }
            let (path, version) = (file.path.as_deref(), file.version.version()?);
            let described = DatasetFile::described(&file.location, path, version, partition, &options)?;
            dataset_files.push(match file.block_checksums()? {
                Some(checksums) => described.verified(Arc::new(checksums)),
                None => described,
            });
        }
        let query = Query {
            predicate: self.predicate.as_deref().map(Predicate::parse).transpose()?,
            deleted,
            layout: ArrowLayout { strings, dictionary_columns: self.dictionary_columns },
            ..Query::default()
        };
        let planner = Planner {
            dataset: Dataset::described(dataset_files, partitions, schema),
            query,
            limit,
            cancel: Cancel::default(),
            target: Arc::new(target),
            plans: Arc::default(),
        };
        Ok((planner, How { batch_size: self.batch_size, verify_crc: self.verify_crc }))
    }
}

/// The columns of the dataset's files that the result or the predicate needs: a file may lack them.
fn needed_schema(planner: &Planner) -> Schema {
    let dataset = &planner.dataset;
    let whole = dataset.schema();
    // A partition column that some files have themselves is needed from them.
    let is_in_files = |partition: usize| {
        let rows = |file: &DatasetFile| file.partition().get(partition) == Some(&DatasetFile::NO_CONSTANT);
        dataset.files().iter().any(rows)
    };
    let columns = whole.fields().iter().enumerate();
    let of_files = columns.filter(|(at, _)| dataset.partition_at(*at).is_none_or(is_in_files)).map(|(_, field)| field);
    let bound = planner.query.predicate.as_ref().map(|predicate| predicate.bind(&BindContext::new(whole)));
    let is_asked = |name: &str| match &bound {
        None => false,
        Some(Ok(bound)) => bound.columns.iter().any(|column| column.names.first().is_some_and(|root| root == name)),
        Some(Err(_)) => true,
    };
    let is_needed = |name: &String| planner.target.of_files.column_with_name(name).is_some() || is_asked(name);
    let fields = of_files.filter(|field| is_needed(field.name())).cloned();
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), whole.metadata().clone())
}
