//! The trees of a store, as mappings from bytes to bytes.

use std::borrow::Cow;
use std::ops::Bound as End;
use std::sync::{Arc, Mutex, PoisonError};

use lath::store::{Error, Snapshot, Transaction, Tree, TreeMut, prefix_range};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMapping, PyMemoryView, PyTuple};

use super::open_store::{OpenStore, STORE, ended};
use lath_pyo3::error::Failure;
use lath_pyo3::fork::{OfProcess, Origin};
use lath_pyo3::work;

/// Entries that are read at once while a range is iterated.
const RUN: usize = 256;

/// The source of entries: the last commit, one commit, or a transaction.
#[derive(Clone)]
pub(crate) enum Source {
    Store(Arc<OpenStore>),
    Snapshot(Arc<OpenStore>, Arc<OfProcess<Snapshot>>),
    Transaction(Arc<OpenStore>, Arc<Mutex<Option<OfProcess<Transaction>>>>),
}

/// One tree of a store.
#[pyclass(name = "Tree", module = "lath", frozen, subclass)]
pub(crate) struct PyTree {
    source: Source,
    name: String,
}

/// The bounds of a range.
#[derive(Debug, Clone)]
struct Ends {
    start: End<Vec<u8>>,
    end: End<Vec<u8>>,
}

impl PyTree {
    pub(crate) fn new(source: Source, name: &str) -> Self {
        Self { source, name: name.to_owned() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn open(&self) -> &OpenStore {
        match &self.source {
            Source::Store(open) | Source::Snapshot(open, _) | Source::Transaction(open, _) => open,
        }
    }

    /// Reads the tree, if it exists.
    fn read<T>(&self, read: impl FnOnce(Option<Tree<'_>>) -> Result<T, Error>) -> Result<T, Failure> {
        let open = self.open();
        open.check()?;
        let answer = match &self.source {
            Source::Store(open) => open.snapshot()?.tree(&self.name).and_then(read),
            Source::Snapshot(_, snapshot) => snapshot.get(STORE)?.tree(&self.name).and_then(read),
            Source::Transaction(_, transaction) => {
                let mut transaction = transaction.lock().unwrap_or_else(PoisonError::into_inner);
                let transaction = transaction.as_mut().ok_or_else(ended)?.get_mut(STORE)?;
                let tree = transaction.existing_tree(&self.name);
                tree.and_then(|tree| read(tree.map(TreeMut::into_tree).transpose()?))
            }
        };
        answer.map_err(|error| open.failure(error))
    }

    /// Changes the tree: in the transaction, or in a separate commit.
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut TreeMut<'_>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        match &self.source {
            Source::Store(open) => open.change(py, |transaction| change(&mut transaction.tree(&self.name)?)),
            Source::Snapshot(..) => Err(Failure::invalid("a snapshot does not change: change the store").into()),
            Source::Transaction(open, transaction) => {
                open.store()?;
                let mut transaction = transaction.lock().unwrap_or_else(PoisonError::into_inner);
                let transaction = transaction.as_mut().ok_or_else(ended)?.get_mut(STORE)?;
                let changed = work::guard(|| {
                    transaction
                        .tree(&self.name)
                        .and_then(|mut tree| change(&mut tree))
                        .map_err(|error| open.failure(error))
                });
                Ok(changed?)
            }
        }
    }

    fn entries(&self, ends: Ends, reverse: bool, limit: Option<u64>, what: What) -> PyResult<PyEntries> {
        let source = match &self.source {
            // An iterator reads one commit, also if the store is changed meanwhile.
            Source::Store(open) => Source::Snapshot(open.clone(), Arc::new(OfProcess::new(open.snapshot()?))),
            other => other.clone(),
        };
        let tree = Self { source, name: self.name.clone() };
        let left = limit.unwrap_or(u64::MAX);
        let state = State { tree, ends, run: Vec::new().into_iter(), left, is_done: false };
        Ok(PyEntries { state: Mutex::new(state), origin: Origin::here(), reverse, what })
    }
}

#[pymethods]
impl PyTree {
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        match self.get_bytes(py, key)? {
            Some(value) => Ok(value),
            None => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    /// The value of `key`, or `default`.
    #[pyo3(signature = (key, default = None, /))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.get_bytes(py, key)?.map(Bound::into_any).or(default))
    }

    /// The values of several keys, in the order of the keys; `None` for missing keys.
    fn get_many<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> PyResult<Vec<Option<Bound<'py, PyBytes>>>> {
        let keys = keys.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        let keys = keys.iter().map(bytes).collect::<PyResult<Vec<_>>>()?;
        let values = self.read(|tree| match tree {
            Some(tree) => {
                let values = tree.get_many(&keys)?;
                Ok(values.into_iter().map(|value| value.map(|value| PyBytes::new(py, value))).collect())
            }
            None => Ok(keys.iter().map(|_| None).collect()),
        });
        Ok(values?)
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = bytes(key)?;
        Ok(self.read(|tree| tree.map_or(Ok(false), |tree| tree.contains_key(&key)))?)
    }

    fn __len__(&self) -> PyResult<usize> {
        let count = self.read(|tree| tree.map_or(Ok(0), |tree| tree.len()))?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    fn __bool__(&self) -> PyResult<bool> {
        Ok(self.__len__()? > 0)
    }

    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (key, value) = (bytes(key)?, bytes(value)?);
        self.change(py, |tree| tree.put(&key, &value))
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let name = bytes(key)?;
        if self.change(py, |tree| tree.remove(&name))? {
            return Ok(());
        }
        Err(PyKeyError::new_err(key.clone().unbind()))
    }

    /// Puts a value if the key is new, and returns whether it was.
    fn insert(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (key, value) = (bytes(key)?, bytes(value)?);
        self.change(py, |tree| tree.insert(&key, &value))
    }

    /// Removes a key, and returns its value, or `default`.
    #[pyo3(signature = (key, *default))]
    fn pop<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let name = bytes(key)?;
        let value = self.change(py, |tree| {
            let value = tree.get(&name)?.map(<[u8]>::to_vec);
            if value.is_some() {
                tree.remove(&name)?;
            }
            Ok(value)
        })?;
        match value {
            Some(value) => Ok(PyBytes::new(py, &value).into_any()),
            None => default.get_item(0).map_err(|_| PyKeyError::new_err(key.clone().unbind())),
        }
    }

    /// The value of a key, which is `value` from now on if the key is new.
    fn setdefault<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        if let Some(value) = self.get_bytes(py, key)? {
            return Ok(value);
        }
        let (key, value) = (bytes(key)?, bytes(value)?);
        let kept = self.change(py, |tree| {
            // Another thread may have been faster.
            let earlier = tree.get(&key)?.map(<[u8]>::to_vec);
            if earlier.is_none() {
                tree.put(&key, &value)?;
            }
            Ok(earlier)
        })?;
        Ok(PyBytes::new(py, kept.as_deref().unwrap_or(&value)))
    }

    /// Removes the last entry, and returns it.
    fn popitem<'py>(&self, py: Python<'py>) -> PyResult<Entry<'py>> {
        let last = self.change(py, |tree| {
            let last = tree.as_tree()?.last()?.map(|(key, value)| (key, value.to_vec()));
            if let Some((key, _)) = &last {
                tree.remove(key)?;
            }
            Ok(last)
        })?;
        match last {
            Some((key, value)) => Ok(entry(py, &key, &value)),
            None => Err(PyKeyError::new_err("the tree is empty")),
        }
    }

    /// Puts the entries of a mapping, or pairs of keys and values, together.
    fn update(&self, py: Python<'_>, entries: &Bound<'_, PyAny>) -> PyResult<()> {
        let entries = match entries.cast::<PyMapping>() {
            Ok(mapping) => mapping.items()?.into_any(),
            Err(_) => entries.call_method0("items").unwrap_or_else(|_| entries.clone()),
        };
        let mut pairs = Vec::new();
        for entry in entries.try_iter()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = entry?.extract()?;
            pairs.push((bytes(&key)?.into_owned(), bytes(&value)?.into_owned()));
        }
        self.change(py, |tree| pairs.iter().try_for_each(|(key, value)| tree.put(key, value)))
    }

    /// Removes the keys from `start` on, up to but not including `end`, and returns their number.
    #[pyo3(signature = (start = None, end = None))]
    fn remove_range(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let start = start.map(bytes).transpose()?.unwrap_or_default();
        let end = end.map(bytes).transpose()?;
        self.change(py, |tree| tree.remove_range(&start, end.as_deref()))
    }

    /// Removes all keys.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, |tree| tree.remove_range(&[], None)).map(drop)
    }

    /// The keys from `start` on, up to but not including `end`, with their values.
    #[pyo3(signature = (start = None, end = None, *, reverse = false, limit = None))]
    fn range(
        &self,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
        reverse: bool,
        limit: Option<u64>,
    ) -> PyResult<PyEntries> {
        self.entries(ends(start, end)?, reverse, limit, What::Entries)
    }

    /// The keys that begin with `prefix`, with their values.
    #[pyo3(signature = (prefix, *, reverse = false, limit = None))]
    fn prefix(&self, prefix: &Bound<'_, PyAny>, reverse: bool, limit: Option<u64>) -> PyResult<PyEntries> {
        let (start, end) = prefix_range(&bytes(prefix)?);
        self.entries(Ends { start, end }, reverse, limit, What::Entries)
    }

    /// The number of keys from `start` on, up to but not including `end`, without reading them.
    #[pyo3(signature = (start = None, end = None))]
    fn count(&self, start: Option<&Bound<'_, PyAny>>, end: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
        let Ends { start, end } = ends(start, end)?;
        Ok(self.read(|tree| tree.map_or(Ok(0), |tree| tree.count((start, end))))?)
    }

    /// The first key and its value.
    fn first<'py>(&self, py: Python<'py>) -> PyResult<Option<Entry<'py>>> {
        Ok(self
            .read(|tree| Ok(tree.map(|tree| tree.first()).transpose()?.flatten().map(|it| entry(py, &it.0, it.1))))?)
    }

    /// The last key and its value.
    fn last<'py>(&self, py: Python<'py>) -> PyResult<Option<Entry<'py>>> {
        Ok(self.read(|tree| Ok(tree.map(|tree| tree.last()).transpose()?.flatten().map(|it| entry(py, &it.0, it.1))))?)
    }

    fn __iter__(&self) -> PyResult<PyEntries> {
        self.keys()
    }

    fn __reversed__(&self) -> PyResult<PyEntries> {
        self.entries(ALL, true, None, What::Keys)
    }

    /// All keys, in order.
    fn keys(&self) -> PyResult<PyEntries> {
        self.entries(ALL, false, None, What::Keys)
    }

    /// All values, in the order of their keys.
    fn values(&self) -> PyResult<PyEntries> {
        self.entries(ALL, false, None, What::Values)
    }

    /// All keys with their values, in order.
    fn items(&self) -> PyResult<PyEntries> {
        self.entries(ALL, false, None, What::Entries)
    }
}

type Entry<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

const ALL: Ends = Ends { start: End::Unbounded, end: End::Unbounded };

impl PyTree {
    fn get_bytes<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let key = bytes(key)?;
        let value = self.read(|tree| match tree {
            Some(tree) => Ok(tree.get(&key)?.map(|value| PyBytes::new(py, value))),
            None => Ok(None),
        });
        Ok(value?)
    }
}

/// The parts of entries that an iterator returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Keys,
    Values,
    Entries,
}

/// An iterator over keys in order.
#[pyclass(name = "Entries", module = "lath", frozen)]
pub(crate) struct PyEntries {
    state: Mutex<State>,
    origin: Origin,
    reverse: bool,
    what: What,
}

struct State {
    tree: PyTree,
    ends: Ends,
    run: std::vec::IntoIter<(Vec<u8>, Vec<u8>)>,
    left: u64,
    is_done: bool,
}

#[pymethods]
impl PyEntries {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.origin.check(STORE)?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.left == 0 {
            return Ok(None);
        }
        if state.run.len() == 0 && !state.is_done {
            py.check_signals()?;
            state.fill(self.reverse, self.what)?;
        }
        let Some((key, value)) = state.run.next() else { return Ok(None) };
        state.left -= 1;
        Ok(Some(match self.what {
            What::Keys => PyBytes::new(py, &key).into_any(),
            What::Values => PyBytes::new(py, &value).into_any(),
            What::Entries => entry(py, &key, &value).into_pyobject(py)?.into_any(),
        }))
    }
}

impl State {
    /// Reads the next run of entries.
    fn fill(&mut self, reverse: bool, what: What) -> Result<(), Failure> {
        let count = usize::try_from(self.left).unwrap_or(RUN).min(RUN);
        let ends = (self.ends.start.clone(), self.ends.end.clone());
        let copy = |entry: Result<(Vec<u8>, &[u8]), Error>| {
            let (key, value) = entry?;
            Ok((key, if what == What::Keys { Vec::new() } else { value.to_vec() }))
        };
        let run = self.tree.read(|tree| {
            let Some(tree) = tree else { return Ok(Vec::new()) };
            let range = tree.range(ends);
            if reverse { range.rev().take(count).map(copy).collect() } else { range.take(count).map(copy).collect() }
        });
        let run: Vec<(Vec<u8>, Vec<u8>)> = run?;
        self.is_done = run.len() < count;
        if let Some((last, _)) = run.last() {
            let place = if reverse { &mut self.ends.end } else { &mut self.ends.start };
            *place = End::Excluded(last.clone());
        }
        self.run = run.into_iter();
        Ok(())
    }
}

fn entry<'py>(py: Python<'py>, key: &[u8], value: &[u8]) -> Entry<'py> {
    (PyBytes::new(py, key), PyBytes::new(py, value))
}

fn ends(start: Option<&Bound<'_, PyAny>>, end: Option<&Bound<'_, PyAny>>) -> PyResult<Ends> {
    let start = start.map(bytes).transpose()?.map_or(End::Unbounded, |key| End::Included(key.into_owned()));
    let end = end.map(bytes).transpose()?.map_or(End::Unbounded, |key| End::Excluded(key.into_owned()));
    Ok(Ends { start, end })
}

/// The bytes of a key or a value.
fn bytes<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Cow::Borrowed(bytes.as_bytes()));
    }
    if let Ok(bytes) = value.cast::<PyByteArray>() {
        return Ok(Cow::Owned(bytes.to_vec()));
    }
    if value.cast::<PyMemoryView>().is_ok() {
        let bytes = value.call_method0("tobytes")?;
        return Ok(Cow::Owned(bytes.cast::<PyBytes>()?.as_bytes().to_vec()));
    }
    let name = value.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "keys and values of a store are bytes, not {name}: encode them, as in \"key\".encode()"
    )))
}
