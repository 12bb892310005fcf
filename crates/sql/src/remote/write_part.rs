//! Plans of files that one process writes and another completes.

use std::sync::Arc;

use datafusion::common::{Result, internal_err, plan_err};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion_proto::protobuf;
use lath_parquet::Runtime;
use lath_writer::SortOptions;
use prost::Message;

use super::form::schema;
use super::written_format::FormatNode;
use crate::write::{PartFiles, WritePartExec, file_schema};

/// Says why objects must not be written below a URL; `None` if they may.
pub type WriteRefusal = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The rule by which a process writes files for others.
#[derive(Clone)]
pub(super) struct WriteRule {
    pub(super) refusal: WriteRefusal,
    pub(super) memory_budget_bytes: Option<usize>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WritePartNode {
    #[prost(string, tag = "1")]
    url: String,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, optional, tag = "3")]
    schema: Option<protobuf::Schema>,
    #[prost(string, repeated, tag = "4")]
    partition_by: Vec<String>,
    #[prost(oneof = "FormatNode", tags = "6, 7")]
    format: Option<FormatNode>,
}

impl WritePartNode {
    pub(super) fn new(files: &PartFiles) -> Result<Self> {
        Ok(Self {
            url: files.url.clone(),
            name: files.name.clone(),
            schema: Some(files.schema().as_ref().try_into()?),
            partition_by: files.partition_by().to_vec(),
            format: Some(FormatNode::new(files.format(), &file_schema(files.schema(), files.partition_by())?)?),
        })
    }

    /// The operator that writes the rows of `input`, if the rule allows it. Its writers have the threads of a runtime.
    pub(super) fn plan(
        self,
        input: &Arc<dyn ExecutionPlan>,
        rule: &WriteRule,
        runtime: &Runtime,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let WriteRule { refusal, memory_budget_bytes } = rule;
        if let Some(reason) = refusal(&self.url) {
            return plan_err!("{reason}");
        }
        let Some(format) = self.format else { return internal_err!("files without a format") };
        let schema = schema(self.schema.as_ref())?;
        // Each partition has a writer, and they share memory and threads.
        let writers = input.output_partitioning().partition_count().max(1);
        let memory = memory_budget_bytes.map(|bytes| (bytes / 4 / writers).max(1));
        let format = format.format(runtime.threads() / writers, memory)?;
        let memory = memory.unwrap_or(SortOptions::DEFAULT_MEMORY_BUDGET_BYTES);
        let sort_options = SortOptions::new().memory_budget_bytes(memory);
        let files = PartFiles::new(self.url, self.name, schema, self.partition_by, format, sort_options);
        Ok(Arc::new(WritePartExec::new(Arc::clone(input), files)))
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field, Schema};
    use datafusion::physical_plan::empty::EmptyExec;
    use lath_text::{TextFormat, TextWriteOptions};

    use super::*;
    use crate::write::FileFormat;

    #[test]
    fn files_are_written_only_where_it_is_allowed() {
        let schema = Arc::new(Schema::new(vec![
            Field::new("day", DataType::Int32, true),
            Field::new("price", DataType::Float64, true),
        ]));
        let input: Arc<dyn ExecutionPlan> = Arc::new(EmptyExec::new(Arc::clone(&schema)).with_partitions(3));
        let node = |url: &str| {
            let format = FileFormat::Text(TextWriteOptions::new(TextFormat::Csv));
            let files = PartFiles::new(
                url.to_owned(),
                "part-1.csv".to_owned(),
                Arc::clone(&schema),
                vec!["day".to_owned()],
                format,
                SortOptions::new(),
            );
            WritePartNode::new(&files).unwrap()
        };
        let refusal: WriteRefusal =
            Arc::new(|url| (!url.starts_with("s3://lake/")).then(|| format!("{url}: not here")));
        let rule = WriteRule { refusal, memory_budget_bytes: Some(64 << 20) };
        let plan = |url: &str| node(url).plan(&input, &rule, &Runtime::global());
        let error = plan("s3://other/copies").unwrap_err().to_string();
        assert!(error.contains("s3://other/copies: not here"), "{error}");
        let plan = plan("s3://lake/copies").unwrap();
        let files = plan.downcast_ref::<WritePartExec>().unwrap().files();
        assert_eq!((files.url.as_str(), files.name.as_str()), ("s3://lake/copies", "part-1.csv"));
        assert_eq!((files.schema(), files.partition_by()), (&schema, &["day".to_owned()][..]));
        assert_eq!(plan.output_partitioning().partition_count(), 3);
    }
}
