//! Ctrl-C stops the work at the next window of rows, so that nothing half-written stays behind; a second one ends the process.

#![cfg_attr(unix, expect(unsafe_code, reason = "signal handlers are set by a call of the C library"))]

use std::process::exit;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use lath_parquet::Cancel;

use crate::failure::Failure;

static CANCEL: OnceLock<Cancel> = OnceLock::new();

/// What an interrupt cancels.
pub(crate) fn cancel() -> Cancel {
    CANCEL
        .get_or_init(|| {
            install();
            Cancel::new()
        })
        .clone()
}

/// Ends the process some time after an interrupt, even if it waits for who reads its output. Only for commands that leave no
/// file behind.
pub(crate) fn end_soon_after() {
    const INTERVAL: Duration = Duration::from_millis(50);
    const PATIENCE: Duration = Duration::from_millis(300);
    let cancel = cancel();
    // Without the thread a second interrupt does it.
    let _ = thread::Builder::new().spawn(move || {
        while !cancel.is_cancelled() {
            thread::sleep(INTERVAL);
        }
        thread::sleep(PATIENCE);
        exit(Failure::Interrupted.exit_code().into());
    });
}

#[cfg(unix)]
extern "C" fn interrupted(_signal: libc::c_int) {
    // Nothing but a load and a store.
    if let Some(cancel) = CANCEL.get() {
        cancel.cancel();
    }
}

#[cfg(unix)]
fn install() {
    // SAFETY: all zeros are a valid `sigaction`: no flags, an empty mask, the default handler.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = interrupted as *const () as libc::sighandler_t;
    // The default comes back with the first signal. System calls that wait, on a pipe for example, go on.
    action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
    // SAFETY: `action` is initialised and lives for the call, the old action is not asked for, and the handler does only what
    // a signal handler may: it reads an initialised cell and stores to an atomic. A failure leaves the default in place.
    unsafe { libc::sigaction(libc::SIGINT, &raw const action, std::ptr::null_mut()) };
}

#[cfg(not(unix))]
fn install() {}
