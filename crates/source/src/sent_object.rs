/// An object whose parts are in a store, but not put together: any process that may write to the store can do so, or delete them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentObject {
    /// The store's name of the upload.
    pub id: String,
    /// The store's names of the parts, in their order.
    pub parts: Vec<String>,
    /// Length in bytes.
    pub len: u64,
}
