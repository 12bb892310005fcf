//! Waiting for signals, and ending by one.
#![expect(unsafe_code, reason = "signals are waited for by calls of the C library")]

use std::process::exit;
use std::ptr::null_mut;

/// The signals that ask a process to end.
const ALL: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The signals that are waited for.
#[derive(Clone, Copy)]
pub(super) struct Signals {
    set: libc::sigset_t,
}

impl Signals {
    /// Blocks the signals in this thread and all that it starts; `None` if there are none to wait for: signals that the process was started
    /// to ignore, by `nohup` or as a job in the background, stay ignored.
    pub(super) fn block() -> Option<Self> {
        let mut set = empty_set();
        let mut is_empty = true;
        for signal in ALL.into_iter().filter(|&signal| !is_ignored(signal)) {
            add(&mut set, signal);
            is_empty = false;
        }
        // SAFETY: the set is initialised and lives for the call; the old one is not asked for.
        let is_blocked = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, null_mut()) } == 0;
        (is_blocked && !is_empty).then_some(Self { set })
    }

    /// Waits for one of the signals.
    pub(super) fn wait(&self) -> Option<libc::c_int> {
        let mut signal = 0;
        // SAFETY: the set is initialised, and both live for the call.
        let has_failed = unsafe { libc::sigwait(&raw const self.set, &raw mut signal) } != 0;
        (!has_failed).then_some(signal)
    }

    /// Lets the signals reach this thread again, where they do what they do by default.
    pub(super) fn unblock(&self) {
        unblock(&self.set);
    }
}

/// Makes writes past the allowed length of files (`ulimit -f`) errors, as on a full disk, instead of the end of the process.
pub(super) fn ignore_file_limits() {
    // SAFETY: ignoring a signal runs no code of this process. If it fails, the signal does what it does by default.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Ends the process as `signal` does by default.
pub(super) fn end_by(signal: libc::c_int) -> ! {
    let mut set = empty_set();
    add(&mut set, signal);
    unblock(&set);
    // SAFETY: it takes any number, and the signal's action is the default, which runs no code of this process.
    unsafe { libc::raise(signal) };
    // The first process of a container is not ended by signals.
    exit(128 + signal)
}

fn empty_set() -> libc::sigset_t {
    // SAFETY: a set is an array of integers, for which zeros are valid.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set lives for the call.
    unsafe { libc::sigemptyset(&raw mut set) };
    set
}

fn add(set: &mut libc::sigset_t, signal: libc::c_int) {
    // SAFETY: the set is initialised and lives for the call.
    unsafe { libc::sigaddset(set, signal) };
}

fn unblock(set: &libc::sigset_t) {
    // SAFETY: the set is initialised and lives for the call; the old one is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, set, null_mut()) };
}

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: zeros are a valid action: no flags, an empty mask, the default.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: no action is set, and the one asked for lives for the call.
    let is_known = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) } == 0;
    is_known && action.sa_sigaction == libc::SIG_IGN
}
