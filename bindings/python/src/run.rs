//! A computation on another thread, without the interpreter's lock.
//!
//! Python delivers signals to its main thread between two of its instructions, so a long call has to check for them. The
//! calling thread does so every few milliseconds; when one raises, as Ctrl-C does, it stops the computation and waits for it.

use std::{
    panic::resume_unwind,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use dovetail_compare::{Meter, Progress, Task};
use pyo3::{exceptions::PyValueError, prelude::*};

/// How often signals are checked.
const LOOK: Duration = Duration::from_millis(20);

/// How often progress is reported, in checks.
const TELL: u32 = 5;

/// Converts an error to a Python exception with its text.
pub(crate) fn raised(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Runs `work` and returns its result. `told` is called now and then with the name of the current task, what is counted, how
/// many are done, and how many there will be.
///
/// # Errors
/// ValueError with the text of the error, and whatever a signal's handler or `told` raises.
pub(crate) fn run<T: Send, E: ToString + Send>(
    py: Python<'_>,
    told: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&dyn Progress) -> Result<T, E> + Send,
) -> PyResult<T> {
    run_until(py, told, &Arc::default(), work)
}

/// Same as [`run`], until it is done or `stop` is set.
///
/// # Errors
/// Same as for [`run`].
pub(crate) fn run_until<T: Send, E: ToString + Send>(
    py: Python<'_>,
    told: Option<&Bound<'_, PyAny>>,
    stop: &Arc<AtomicBool>,
    work: impl FnOnce(&dyn Progress) -> Result<T, E> + Send,
) -> PyResult<T> {
    let (watch, end) = (Watch { stop: stop.clone(), ..Watch::default() }, Arc::new(End::default()));
    thread::scope(|scope| {
        let ending = Ending(end.clone());
        let worker = scope.spawn(|| {
            let _ending = ending;
            work(&watch)
        });
        let interrupted = attend(py, told, &watch, &end).err();
        if interrupted.is_some() {
            watch.stop.store(true, Ordering::Relaxed);
        }
        result(interrupted, py.detach(|| worker.join()))
    })
}

/// Same as [`run`] for work that may not check for a while whether it is to stop: when a signal raises, this returns at once,
/// and the work ends at its next check.
///
/// # Errors
/// Same as for [`run`].
pub(crate) fn run_apart<T: Send + 'static, E: ToString + Send + 'static>(
    py: Python<'_>,
    told: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&dyn Progress) -> Result<T, E> + Send + 'static,
) -> PyResult<T> {
    let (watch, end) = (Arc::new(Watch::default()), Arc::new(End::default()));
    let (watched, ending) = (watch.clone(), Ending(end.clone()));
    let worker = thread::spawn(move || {
        let _ending = ending;
        work(watched.as_ref())
    });
    if let Err(signal) = attend(py, told, &watch, &end) {
        watch.stop.store(true, Ordering::Relaxed);
        return Err(signal);
    }
    result(None, py.detach(|| worker.join()))
}

fn result<T, E: ToString>(interrupted: Option<PyErr>, ended: thread::Result<Result<T, E>>) -> PyResult<T> {
    match (interrupted, ended) {
        (_, Err(panic)) => resume_unwind(panic),
        (Some(signal), _) => Err(signal),
        (None, Ok(ended)) => ended.map_err(raised),
    }
}

/// Whether the work has ended.
#[derive(Default)]
struct End {
    is_over: Mutex<bool>,
    ended: Condvar,
}

/// Records the end, also after a panic.
struct Ending(Arc<End>);

impl Drop for Ending {
    fn drop(&mut self) {
        *locked(&self.0.is_over) = true;
        self.0.ended.notify_all();
    }
}

/// Returns when the work is done, or when a signal's handler or `told` raises.
fn attend(py: Python<'_>, told: Option<&Bound<'_, PyAny>>, watch: &Watch, end: &End) -> PyResult<()> {
    let mut looks = 0;
    loop {
        let ended = py.detach(|| {
            let waited = end.ended.wait_timeout_while(locked(&end.is_over), LOOK, |is_over| !*is_over);
            *waited.unwrap_or_else(PoisonError::into_inner).0
        });
        looks += 1;
        if let Some(told) = told.filter(|_| ended || looks % TELL == 0) {
            watch.tell(told)?;
        }
        if ended {
            return Ok(());
        }
        py.check_signals()?;
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The progress of the work, for another thread.
#[derive(Default)]
struct Watch {
    stop: Arc<AtomicBool>,
    /// The task that was begun last.
    task: Mutex<Option<Arc<State>>>,
}

struct State {
    name: Mutex<String>,
    counts: String,
    done: AtomicU64,
    total: Option<u64>,
}

impl Watch {
    fn tell(&self, told: &Bound<'_, PyAny>) -> PyResult<()> {
        let Some(state) = locked(&self.task).clone() else { return Ok(()) };
        let name = locked(&state.name).clone();
        told.call1((name, &state.counts, state.done.load(Ordering::Relaxed), state.total)).map(drop)
    }
}

impl Progress for Watch {
    fn begin(&self, task: Task<'_>) -> Box<dyn Meter> {
        let Task { name, counts, total, .. } = task;
        let (name, counts) = (Mutex::new(name.to_owned()), counts.to_owned());
        let state = Arc::new(State { name, counts, done: AtomicU64::new(0), total });
        *locked(&self.task) = Some(state.clone());
        Box::new(Told { state, stop: self.stop.clone() })
    }
}

struct Told {
    state: Arc<State>,
    stop: Arc<AtomicBool>,
}

impl Meter for Told {
    fn inc(&self, more: u64) {
        self.state.done.fetch_add(more, Ordering::Relaxed);
    }

    fn rename(&self, name: &str) {
        *locked(&self.state.name) = name.to_owned();
    }

    fn stop(&self) -> Option<&AtomicBool> {
        Some(&self.stop)
    }
}
