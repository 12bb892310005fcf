use object_store::aws::AmazonS3;

use crate::StoreOptions;

/// A bucket of S3, for requests that the `object_store` crate does not have.
#[derive(Debug)]
pub(super) struct Bucket {
    pub(super) store: AmazonS3,
    pub(super) region: String,
    pub(super) options: StoreOptions,
}

impl Bucket {
    pub(super) fn new(store: AmazonS3, region: Option<String>, options: StoreOptions) -> Self {
        Self { store, region: region.unwrap_or_else(|| "us-east-1".to_owned()), options }
    }
}
