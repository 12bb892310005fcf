//! Objects that one process sends and another makes visible.

use object_store::MultipartId;
use object_store::multipart::{MultipartStore, PartId};

use super::*;
use crate::SentObject;

#[async_trait::async_trait]
impl MultipartStore for Faulty {
    async fn create_multipart(&self, path: &Path) -> Result<MultipartId> {
        self.store.create_multipart(path).await
    }

    async fn put_part(&self, path: &Path, id: &MultipartId, index: usize, payload: PutPayload) -> Result<PartId> {
        if self.fault == Fault::Part && index == 1 {
            Err(lost())
        } else {
            self.store.put_part(path, id, index, payload).await
        }
    }

    async fn complete_multipart(&self, path: &Path, id: &MultipartId, parts: Vec<PartId>) -> Result<PutResult> {
        if self.fault == Fault::BeforeWriting {
            return Err(lost());
        }
        let completed = self.store.complete_multipart(path, id, parts).await?;
        if self.fault == Fault::AfterWriting { Err(lost()) } else { Ok(completed) }
    }

    async fn abort_multipart(&self, path: &Path, id: &MultipartId) -> Result<()> {
        self.aborted.fetch_add(1, Ordering::Relaxed);
        self.store.abort_multipart(path, id).await
    }
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
