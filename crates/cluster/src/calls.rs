//! The queries that a worker takes part in, and when they end.
//!
//! A coordinator keeps one call open for each part of a plan while its query runs. datafusion-distributed drops the part after that call,
//! but caches hold it for longer, and operators that read ahead on separate tasks would go on until they have read everything.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderMap, HeaderName, HeaderValue};
use lath_sql::Stop;

/// The header with the number of a call, which the worker itself sets.
const HEADER: HeaderName = HeaderName::from_static("x-lath-call");

/// The open calls of a worker.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenCalls {
    stops: Arc<Mutex<HashMap<u64, Stop>>>,
    next: Arc<AtomicU64>,
}

/// A call that is open. The part of the plan is stopped when this is dropped.
#[derive(Debug)]
pub(crate) struct OpenCall {
    calls: OpenCalls,
    number: u64,
}

impl OpenCalls {
    /// Opens a call and writes its number to the headers.
    pub(crate) fn open(&self, headers: &mut HeaderMap) -> OpenCall {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        headers.insert(HEADER, HeaderValue::from(number));
        self.stops.lock().unwrap_or_else(PoisonError::into_inner).insert(number, Stop::new());
        OpenCall { calls: self.clone(), number }
    }

    /// The handle that stops the part of a plan that came with a call; a stopped one if the call has ended.
    pub(crate) fn stop(&self, headers: &HeaderMap) -> Stop {
        let number = headers.get(HEADER).and_then(|number| number.to_str().ok()?.parse().ok());
        let stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        number.and_then(|number: u64| stops.get(&number).cloned()).unwrap_or_else(|| {
            let ended = Stop::new();
            ended.stop();
            ended
        })
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        let stop = self.calls.stops.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
        if let Some(stop) = stop {
            stop.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_stopped_when_its_call_ends() {
        let calls = OpenCalls::default();
        let (mut first, mut second) = (HeaderMap::new(), HeaderMap::new());
        // A coordinator cannot choose the number.
        second.insert(HEADER, HeaderValue::from(0));
        let (ended, open) = (calls.open(&mut first), calls.open(&mut second));
        let (first_stop, second_stop) = (calls.stop(&first), calls.stop(&second));
        drop(ended);
        assert!(first_stop.is_stopped() && !second_stop.is_stopped());
        assert!(calls.stop(&first).is_stopped() && calls.stop(&HeaderMap::new()).is_stopped());
        drop(open);
        assert!(second_stop.is_stopped());
    }
}
