//! Writes plans for workers.

use std::fmt;
use std::sync::Arc;

use datafusion::common::{Result, plan_err};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_distributed::DistributedCodec;
use datafusion_proto::bytes::physical_plan_to_bytes_with_proto_converter;
use datafusion_proto::physical_plan::{
    ComposedPhysicalExtensionCodec, DeduplicatingProtoConverter, PhysicalExtensionCodec,
    PhysicalProtoConverterExtension,
};
use lath_sql::remote::PlanCodec;

/// Writes a plan so that datafusion-distributed reads it with the codec of Lath.
///
/// By itself, datafusion-distributed asks its own codec for functions first, which writes every function as its name alone. Functions of
/// Lath that differ from those registered under their name would then be others on a worker.
pub(crate) fn write_plan(plan: Arc<dyn ExecutionPlan>, codec: &PlanCodec) -> Result<Vec<u8>> {
    // As on the worker: the codec of datafusion-distributed, then Lath's.
    let codecs: Vec<Arc<dyn PhysicalExtensionCodec>> = vec![Arc::new(NetworkNodes), Arc::new(codec.clone())];
    let codec = ComposedPhysicalExtensionCodec::new(codecs);
    let converter = DeduplicatingProtoConverter::default();
    physical_plan_to_bytes_with_proto_converter(plan, &codec, &converter).map(|bytes| bytes.to_vec())
}

/// The nodes of datafusion-distributed, without functions.
struct NetworkNodes;

impl PhysicalExtensionCodec for NetworkNodes {
    fn try_decode(
        &self,
        written: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        DistributedCodec.try_decode(written, inputs, context, converter)
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        written: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        DistributedCodec.try_encode(node, written, converter)
    }

    fn try_encode_udf(&self, function: &ScalarUDF, _: &mut Vec<u8>) -> Result<()> {
        plan_err!("{} is written by the codec of Lath", function.name())
    }

    fn try_encode_udaf(&self, function: &AggregateUDF, _: &mut Vec<u8>) -> Result<()> {
        plan_err!("{} is written by the codec of Lath", function.name())
    }
}

impl fmt::Debug for NetworkNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NetworkNodes")
    }
}
