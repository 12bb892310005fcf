//! The database of a session, which several processes may change by turns.
//!
//! A session has its database open for reading until a statement changes something, and from then on for writing, so that the next change
//! costs nothing. It opens the database for reading again when another process waits to write, between two statements.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use datafusion::common::{Result, plan_err};
use lath_table::{Database, TableOptions};

use crate::error::table_error;

/// Time between two looks for processes that wait.
const LOOK: Duration = Duration::from_millis(20);

/// Time after which a statement that waits looks whether it was stopped.
const ATTEMPT: Duration = Duration::from_millis(200);

/// Time that a process which waits is given to open the database.
const TURN: Duration = Duration::from_millis(50);

/// The folder of a session's database, and how it is opened.
#[derive(Debug, Clone)]
pub(crate) struct DatabaseFolder {
    pub(crate) path: PathBuf,
    pub(crate) is_read_only: bool,
    pub(crate) options: TableOptions,
    /// The time for which a statement waits for another process.
    pub(crate) wait: Duration,
}

/// The database of a session and its siblings, which is closed when this is dropped.
#[derive(Debug)]
pub(crate) struct SessionDatabase(Arc<SharedDatabase>);

/// The database of a session, for all that use it.
#[derive(Debug)]
pub(crate) struct SharedDatabase {
    folder: DatabaseFolder,
    open: Mutex<OpenDatabase>,
}

#[derive(Debug)]
struct OpenDatabase {
    /// `None` once the session is closed, and while another process has a turn at an encrypted database.
    database: Option<Database>,
    is_closed: bool,
    /// Whether a thread looks for processes that wait to write.
    is_watched: bool,
}

impl OpenDatabase {
    fn get(&mut self, folder: &DatabaseFolder) -> Result<&mut Database> {
        if self.is_closed {
            return plan_err!("the session is closed, and its database with it");
        }
        let database = match self.database.take() {
            Some(database) => database,
            None => Database::open_read_only(&folder.path, folder.options.clone()).map_err(table_error)?,
        };
        Ok(self.database.insert(database))
    }
}

impl SessionDatabase {
    /// Opens a database, or creates it unless it is only read.
    pub(crate) fn open(folder: DatabaseFolder) -> lath_table::Result<Self> {
        let database = match Database::open_read_only(&folder.path, folder.options.clone()) {
            Err(lath_table::Error::NoDatabase { .. }) if !folder.is_read_only => {
                Database::open_or_create(&folder.path, folder.options.clone())?
            }
            opened => opened?,
        };
        let is_writer = !database.is_read_only();
        let open = Mutex::new(OpenDatabase { database: Some(database), is_closed: false, is_watched: false });
        let shared = Arc::new(SharedDatabase { folder, open });
        if is_writer {
            shared.watch(&mut shared.lock());
        }
        Ok(Self(shared))
    }

    pub(crate) fn shared(&self) -> &Arc<SharedDatabase> {
        &self.0
    }
}

impl Drop for SessionDatabase {
    fn drop(&mut self) {
        // Here and not on the thread that looks for others, so that it is closed when the session is.
        let mut open = self.0.lock();
        open.is_closed = true;
        let closed = open.database.take();
        drop(open);
        drop(closed);
    }
}

impl SharedDatabase {
    fn lock(&self) -> MutexGuard<'_, OpenDatabase> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The database as it is open now.
    pub(crate) fn get(&self) -> Result<Database> {
        self.lock().get(&self.folder).map(|database| database.clone())
    }

    /// Opens the database again for reading if it lacks what others have committed since.
    pub(crate) fn refresh(&self) -> Result<()> {
        self.lock().get(&self.folder)?.reopen_if_outdated().map_err(table_error)
    }

    /// Whether the session cannot change it.
    pub(crate) fn is_read_only(&self) -> bool {
        self.folder.is_read_only
    }

    /// Opens the database for writing, unless it is. While the returned handle or one of its tables lives, it stays open so. Blocks while
    /// another process writes, for as long as the statement `is_wanted`; others can use the database meanwhile.
    pub(crate) fn for_writing(self: &Arc<Self>, is_wanted: impl Fn() -> bool) -> Result<Database> {
        if let Some(database) = self.writer()? {
            return Ok(database);
        }
        self.make_room();
        let begun = Instant::now();
        loop {
            let left = self.folder.wait.saturating_sub(begun.elapsed());
            let options = self.folder.options.clone().wait(left.min(ATTEMPT));
            match Database::open(&self.folder.path, options) {
                Err(lath_table::Error::InUse { .. }) if left > ATTEMPT && is_wanted() => {}
                Err(lath_table::Error::InUse { folder, users, .. }) => {
                    return Err(table_error(lath_table::Error::InUse { folder, users, waited: begun.elapsed() }));
                }
                opened => return self.install(opened.map_err(table_error)?),
            }
        }
    }

    /// The database, if it is open for writing or only read.
    fn writer(&self) -> Result<Option<Database>> {
        let mut open = self.lock();
        if !open.get(&self.folder)?.is_read_only() && self.let_others_write(&mut open) {
            // Those who wait look every few milliseconds.
            thread::sleep(TURN);
        }
        let Some(database) = &open.database else { return Ok(None) };
        let is_as_wanted = !database.is_read_only() || self.folder.is_read_only;
        Ok(is_as_wanted.then(|| database.clone()))
    }

    /// Closes an encrypted database before it is opened for writing: files are not removed while readers have it open.
    fn make_room(&self) {
        let mut open = self.lock();
        if open.database.as_ref().is_some_and(|database| database.is_encrypted() && !database.is_shared()) {
            open.database = None;
        }
    }

    fn install(self: &Arc<Self>, writer: Database) -> Result<Database> {
        let mut open = self.lock();
        if open.is_closed {
            return plan_err!("the session is closed, and its database with it");
        }
        open.database = Some(writer.clone());
        self.watch(&mut open);
        Ok(writer)
    }

    /// Opens the database for reading if another process waits to write and nothing here uses it. Returns whether it did. An encrypted database
    /// is closed, because one process at a time has it open.
    fn let_others_write(&self, open: &mut OpenDatabase) -> bool {
        let Some(database) = &mut open.database else { return false };
        if database.is_shared() || !database.is_awaited() {
            return false;
        }
        if database.is_encrypted() {
            open.database = None;
            return true;
        }
        // If it cannot be opened again, the session keeps what it has.
        let reading = Database::open_read_only(&self.folder.path, self.folder.options.clone());
        reading.is_ok_and(|reading| {
            *database = reading;
            true
        })
    }

    /// Looks for processes that wait to write, as long as this one can.
    fn watch(self: &Arc<Self>, open: &mut OpenDatabase) {
        if open.is_watched {
            return;
        }
        let this = Arc::clone(self);
        let looking = thread::Builder::new().name("lath-sql-turns".to_owned());
        // Without the thread, the database stays open for writing until a statement looks.
        open.is_watched = looking.spawn(move || while this.look() {}).is_ok();
    }

    /// Waits and looks once. Returns whether to go on.
    fn look(&self) -> bool {
        thread::sleep(LOOK);
        let mut open = self.lock();
        let is_writer = open.database.as_ref().is_some_and(|database| !database.is_read_only());
        open.is_watched = is_writer && !self.let_others_write(&mut open);
        open.is_watched
    }
}
