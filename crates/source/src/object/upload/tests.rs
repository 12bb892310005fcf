mod named;

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions,
    PutResult, Result, UploadPart,
};

use super::*;
use crate::StoreOptions;
use crate::object::runtime::RequestThreads;

/// Objects in memory, and the parts that processes have sent. (`InMemory` panics, or loses parts, unless parts
/// arrive in order.)
#[derive(Debug, Default)]
struct Objects {
    objects: InMemory,
    ids: AtomicUsize,
    sent: Mutex<HashMap<String, BTreeMap<usize, PutPayload>>>,
}

/// A store in memory whose answers are lost as `fault` says.
#[derive(Debug)]
struct Faulty {
    store: Arc<Objects>,
    fault: Fault,
    aborted: Arc<AtomicUsize>,
    puts: AtomicUsize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// The object is written, and the answer is an error.
    AfterWriting,
    /// Nothing is written.
    BeforeWriting,
    /// So many times the answer is that there is an object, and nothing is written.
    Conflict(usize),
    /// The second part fails.
    Part,
}

#[derive(Debug)]
struct FaultyParts {
    parts: Box<dyn MultipartUpload>,
    fault: Fault,
    count: usize,
    aborted: Arc<AtomicUsize>,
}

fn lost() -> Error {
    Error::Generic { store: "test", source: "the answer was lost".into() }
}

#[async_trait::async_trait]
impl MultipartUpload for FaultyParts {
    fn put_part(&mut self, payload: PutPayload) -> UploadPart {
        self.count += 1;
        let part = self.parts.put_part(payload);
        if self.fault == Fault::Part && self.count == 2 { Box::pin(async { Err(lost()) }) } else { part }
    }

    async fn complete(&mut self) -> Result<PutResult> {
        if self.fault == Fault::BeforeWriting {
            return Err(lost());
        }
        let completed = self.parts.complete().await?;
        if self.fault == Fault::AfterWriting { Err(lost()) } else { Ok(completed) }
    }

    async fn abort(&mut self) -> Result<()> {
        self.aborted.fetch_add(1, Ordering::Relaxed);
        self.parts.abort().await
    }
}

#[async_trait::async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        if self.fault == Fault::BeforeWriting {
            return Err(lost());
        }
        if matches!(self.fault, Fault::Conflict(count) if self.puts.fetch_add(1, Ordering::Relaxed) < count) {
            return Err(Error::AlreadyExists { path: path.to_string(), source: "a conflict".into() });
        }
        let put = self.store.objects.put_opts(path, payload, options).await?;
        if self.fault == Fault::AfterWriting { Err(lost()) } else { Ok(put) }
    }

    async fn put_multipart_opts(&self, path: &Path, options: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        let parts = self.store.objects.put_multipart_opts(path, options).await?;
        Ok(Box::new(FaultyParts { parts, fault: self.fault, count: 0, aborted: Arc::clone(&self.aborted) }))
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.store.objects.get_opts(path, options).await
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.store.objects.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.objects.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.objects.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.objects.copy_opts(from, to, options).await
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("faulty")
    }
}

struct Bucket {
    client: Arc<Client>,
    path: Path,
    aborted: Arc<AtomicUsize>,
}

impl Bucket {
    fn new(store: &Arc<Objects>, fault: Fault) -> Self {
        let aborted = Arc::new(AtomicUsize::new(0));
        let store =
            Faulty { store: Arc::clone(store), fault, aborted: Arc::clone(&aborted), puts: AtomicUsize::new(0) };
        let options = StoreOptions {
            requests_in_flight: 8,
            retries: 0,
            timeout: Duration::from_secs(30),
            granted: crate::GrantedAccess::default(),
        };
        let threads = Arc::new(RequestThreads::default());
        let store = Arc::new(store);
        let client = Client::new(Arc::clone(&store) as _, "s3://bucket".into(), &options, &threads, None);
        Self { client: Arc::new(client.with_parts(Some(store))), path: Path::from("folder/object"), aborted }
    }

    /// Begins an object in parts of ten bytes.
    fn begin(&self, replaces: Replaces) -> io::Result<Upload> {
        Upload::begin(&self.client, self.path.clone(), replaces, 10)
    }

    fn write(&self, bytes: &[u8], replaces: Replaces) -> io::Result<Version> {
        let mut upload = self.begin(replaces)?;
        upload.write_all(bytes)?;
        upload.commit()
    }

    fn content(&self) -> Option<Vec<u8>> {
        let head = self.client.head(&self.path).ok()?;
        if head.size == 0 {
            return Some(Vec::new());
        }
        let range = object_store::GetRange::Bounded(0..head.size);
        self.client.get(&self.path, range).ok().map(|(bytes, _)| bytes.to_vec())
    }
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| at as u8).collect()
}

/// Lengths of objects of no, one and several parts, and of one more and one less byte than whole parts.
const LENGTHS: [usize; 9] = [0, 1, 9, 10, 11, 20, 21, 95, 100];

#[test]
fn objects_of_any_length_are_written_whole() {
    for len in LENGTHS {
        let bucket = Bucket::new(&Arc::default(), Fault::None);
        let version = bucket.write(&bytes(len), Replaces::None).unwrap();
        assert!(matches!(version, Version::Store { len: found, .. } if found == len as u64));
        assert_eq!(bucket.content(), Some(bytes(len)));
        assert_eq!(bucket.aborted.load(Ordering::Relaxed), 0, "{len}");
    }
}

#[test]
fn nothing_is_visible_before_the_commit() {
    for len in LENGTHS {
        let bucket = Bucket::new(&Arc::default(), Fault::None);
        let mut upload = bucket.begin(Replaces::Any).unwrap();
        for byte in bytes(len) {
            upload.write_all(&[byte]).unwrap();
        }
        assert_eq!(bucket.content(), None);
        drop(upload);
        assert_eq!(bucket.content(), None);
        assert_eq!(bucket.aborted.load(Ordering::Relaxed), usize::from(len > 10), "{len}");
    }
}

#[test]
fn an_abort_from_another_thread_ends_an_upload() {
    for len in LENGTHS {
        let bucket = Bucket::new(&Arc::default(), Fault::None);
        let mut upload = bucket.begin(Replaces::Any).unwrap();
        upload.write_all(&bytes(len)).unwrap();
        let abort = upload.abort_handle();
        std::thread::spawn(move || abort.abort()).join().unwrap();
        assert_eq!(upload.commit().unwrap_err().kind(), ErrorKind::Interrupted);
        assert_eq!(bucket.content(), None);
        // After a commit it does nothing.
        let mut upload = bucket.begin(Replaces::Any).unwrap();
        upload.write_all(&bytes(len)).unwrap();
        let abort = upload.abort_handle();
        upload.commit().unwrap();
        abort.abort();
        assert_eq!(bucket.content(), Some(bytes(len)));
    }
}

#[test]
fn objects_are_replaced_only_if_they_may_be() {
    for len in LENGTHS {
        let bucket = Bucket::new(&Arc::default(), Fault::None);
        let first = bucket.write(b"first", Replaces::None).unwrap();
        assert_eq!(bucket.write(&bytes(len), Replaces::None).unwrap_err().kind(), ErrorKind::AlreadyExists);
        let second = bucket.write(b"second", Replaces::Version(first.clone())).unwrap();
        assert!(bucket.write(&bytes(len), Replaces::Version(first)).is_err());
        assert_eq!(bucket.content().unwrap(), b"second");
        bucket.write(&bytes(len), Replaces::Version(second.clone())).unwrap();
        assert_eq!(bucket.content(), Some(bytes(len)));
        // It came while the object was written.
        let bucket = Bucket::new(&Arc::default(), Fault::None);
        let mut upload = bucket.begin(Replaces::None).unwrap();
        upload.write_all(&bytes(len)).unwrap();
        bucket.write(b"other", Replaces::None).unwrap();
        assert_eq!(upload.commit().unwrap_err().kind(), ErrorKind::AlreadyExists, "{len}");
        assert_eq!(bucket.content().unwrap(), b"other");
    }
}

#[test]
fn a_lost_answer_is_no_error_if_the_object_was_written() {
    for len in LENGTHS {
        for replaces in [Replaces::Any, Replaces::None] {
            let bucket = Bucket::new(&Arc::default(), Fault::AfterWriting);
            bucket.write(&bytes(len), replaces.clone()).unwrap();
            assert_eq!(bucket.content(), Some(bytes(len)));
            let bucket = Bucket::new(&Arc::default(), Fault::BeforeWriting);
            assert!(bucket.write(&bytes(len), replaces).unwrap_err().to_string().contains("the answer was lost"));
            assert_eq!(bucket.content(), None);
        }
        // An object that was there before is not taken for the new one.
        let store = Arc::default();
        Bucket::new(&store, Fault::None).write(&bytes(len), Replaces::Any).unwrap();
        assert!(Bucket::new(&store, Fault::BeforeWriting).write(&bytes(len), Replaces::Any).is_err());
    }
}

#[test]
fn a_conflict_without_an_object_is_tried_again() {
    for (count, is_written) in [(0, true), (1, true), (3, true), (4, false)] {
        let bucket = Bucket::new(&Arc::default(), Fault::Conflict(count));
        let written = bucket.write(b"new", Replaces::None);
        assert_eq!(written.is_ok(), is_written, "{count}");
        assert_eq!(bucket.content().is_some(), is_written, "{count}");
    }
    // There is an object.
    let store = Arc::default();
    Bucket::new(&store, Fault::None).write(b"old", Replaces::None).unwrap();
    let bucket = Bucket::new(&store, Fault::Conflict(1));
    assert_eq!(bucket.write(b"new", Replaces::None).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(bucket.content().unwrap(), b"old");
}

#[test]
fn a_part_that_fails_fails_the_upload() {
    for len in LENGTHS {
        let bucket = Bucket::new(&Arc::default(), Fault::Part);
        let written = bucket.write(&bytes(len), Replaces::Any);
        assert_eq!(written.is_err(), len > 10);
        assert_eq!(bucket.content().is_none(), len > 10);
        assert_eq!(bucket.aborted.load(Ordering::Relaxed), usize::from(len > 10), "{len}");
    }
}
