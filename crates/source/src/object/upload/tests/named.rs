//! Objects that one process sends and another makes visible.

use object_store::multipart::{MultipartStore, PartId};
use object_store::{MultipartId, ObjectStoreExt};

use super::*;
use crate::SentObject;

#[async_trait::async_trait]
impl MultipartStore for Faulty {
    async fn create_multipart(&self, _: &Path) -> Result<MultipartId> {
        let mut sent = self.store.sent.lock().unwrap();
        let id = self.store.ids.fetch_add(1, Ordering::Relaxed).to_string();
        sent.insert(id.clone(), BTreeMap::new());
        Ok(id)
    }

    async fn put_part(&self, path: &Path, id: &MultipartId, index: usize, payload: PutPayload) -> Result<PartId> {
        if self.fault == Fault::Part && index == 1 {
            return Err(lost());
        }
        let mut sent = self.store.sent.lock().unwrap();
        sent.get_mut(id).ok_or_else(|| not_found(path))?.insert(index, payload);
        Ok(PartId { content_id: index.to_string() })
    }

    async fn complete_multipart(&self, path: &Path, id: &MultipartId, parts: Vec<PartId>) -> Result<PutResult> {
        if self.fault == Fault::BeforeWriting {
            return Err(lost());
        }
        let sent = self.store.sent.lock().unwrap().remove(id).ok_or_else(|| not_found(path))?;
        assert!(
            parts.iter().map(|part| &part.content_id).eq(sent.keys().map(usize::to_string).collect::<Vec<_>>().iter())
        );
        let completed = self.store.objects.put(path, sent.into_values().flatten().collect()).await?;
        if self.fault == Fault::AfterWriting { Err(lost()) } else { Ok(completed) }
    }

    async fn abort_multipart(&self, path: &Path, id: &MultipartId) -> Result<()> {
        self.aborted.fetch_add(1, Ordering::Relaxed);
        self.store.sent.lock().unwrap().remove(id).map(|_| ()).ok_or_else(|| not_found(path))
    }
}

fn not_found(path: &Path) -> Error {
    Error::NotFound { path: path.to_string(), source: "no such upload".into() }
}

impl Bucket {
    /// Sends an object, and leaves it to another process.
    fn send(&self, bytes: &[u8]) -> io::Result<SentObject> {
        let mut upload = Upload::begin_named(&self.client, self.path.clone(), 10)?;
        upload.write_all(bytes)?;
        let sent = upload.sent()?;
        upload.leave();
        Ok(sent)
    }

    fn resume(&self, sent: SentObject) -> Upload {
        Upload::resume(&self.client, self.path.clone(), sent, 10).unwrap()
    }
}

#[test]
fn another_process_makes_an_object_visible() {
    for len in LENGTHS {
        let store = Arc::default();
        let bucket = Bucket::new(&store, Fault::None);
        let sent = bucket.send(&bytes(len)).unwrap();
        assert_eq!((sent.len, sent.parts.len()), (len as u64, len.div_ceil(10).max(1)), "{len}");
        assert_eq!(bucket.content(), None);
        let other = Bucket::new(&store, Fault::None);
        let version = other.resume(sent).commit().unwrap();
        assert!(matches!(version, Version::Store { len: found, .. } if found == len as u64));
        assert_eq!(other.content(), Some(bytes(len)));
        assert_eq!([&bucket, &other].map(|bucket| bucket.aborted.load(Ordering::Relaxed)), [0, 0]);
    }
}

#[test]
fn another_process_deletes_what_it_does_not_make_visible() {
    let store = Arc::default();
    let sent = Bucket::new(&store, Fault::None).send(&bytes(25)).unwrap();
    let other = Bucket::new(&store, Fault::None);
    drop(other.resume(sent.clone()));
    assert_eq!(other.aborted.load(Ordering::Relaxed), 1);
    assert!(other.resume(sent).commit().is_err());
    assert_eq!(other.content(), None);
}

#[test]
fn an_object_that_is_not_left_to_another_process_is_deleted() {
    for is_sent in [false, true] {
        let bucket = Bucket::new(&Arc::default(), Fault::None);
        let mut upload = Upload::begin_named(&bucket.client, bucket.path.clone(), 10).unwrap();
        upload.write_all(&bytes(25)).unwrap();
        if is_sent {
            upload.sent().unwrap();
        }
        drop(upload);
        assert_eq!(bucket.aborted.load(Ordering::Relaxed), 1);
        // From another thread.
        let mut upload = Upload::begin_named(&bucket.client, bucket.path.clone(), 10).unwrap();
        upload.write_all(&bytes(25)).unwrap();
        upload.abort_handle().abort();
        assert_eq!(upload.sent().unwrap_err().kind(), ErrorKind::Interrupted);
    }
    let bucket = Bucket::new(&Arc::default(), Fault::Part);
    assert!(bucket.send(&bytes(25)).unwrap_err().to_string().contains("the answer was lost"));
    assert_eq!(bucket.aborted.load(Ordering::Relaxed), 1);
}

#[test]
fn a_lost_answer_is_no_error_if_another_process_has_made_the_object_visible() {
    let store = Arc::default();
    let sent = Bucket::new(&store, Fault::None).send(&bytes(25)).unwrap();
    let failing = Bucket::new(&store, Fault::BeforeWriting);
    assert!(failing.resume(sent.clone()).commit().unwrap_err().to_string().contains("the answer was lost"));
    assert_eq!((failing.content(), failing.aborted.load(Ordering::Relaxed)), (None, 1));
    let sent = Bucket::new(&store, Fault::None).send(&bytes(25)).unwrap();
    let losing = Bucket::new(&store, Fault::AfterWriting);
    losing.resume(sent).commit().unwrap();
    assert_eq!(losing.content(), Some(bytes(25)));
}

#[test]
fn a_store_without_names_of_parts_is_an_error() {
    let options = StoreOptions {
        requests_in_flight: 8,
        retries: 0,
        timeout: Duration::from_secs(30),
        granted: crate::GrantedAccess::default(),
    };
    let threads = Arc::new(RequestThreads::default());
    let client = Arc::new(Client::new(Arc::new(InMemory::new()), "web://host".into(), &options, &threads, None));
    let error = Upload::begin_named(&client, Path::from("object"), 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}
