//! The native part of the Python package `dovetail`.
//!
//! The package in `python/dovetail` is what users see; its functions have Python's signatures and call this module with plain
//! values. Computations run without the interpreter's lock, on another thread, while the calling thread handles signals and
//! progress.
//!
//! | module | contents |
//! |---|---|
//! | `given` | conversion of options from Python to the libraries' types |
//! | `unseen` | errors in a text that was written from a dict or overrides |
//! | `run` | a computation that Ctrl-C stops and a progress bar follows |
//! | `table`, `pickled` | tables that Arrow's consumers read without a copy, and as plain values |
//! | `simulate` | policies over the same traffic |
//! | `own` | a policy that is a Python object |
//! | `ask` | the other operations of the command: documents, and tables of their contents |
//! | `scheduler`, `inner`, `batch`, `handles` | a scheduler by packets or arrays, and the objects that packets carry |
//! | `requests`, `far`, `offer` | a scheduler of requests, the queue at a link's far end, and a connection's window |

mod ask;
mod batch;
mod clock;
mod far;
mod given;
mod handles;
mod inner;
mod offer;
mod own;
mod pickled;
mod requests;
mod run;
mod scheduler;
mod simulate;
mod table;
mod unseen;

/// What `import dovetail._native` finds.
#[pyo3::pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::ask::{Answer, admit, command, compare, explain, policies, reproduce, scenarios, tune};
    #[pymodule_export]
    use super::far::Far;
    #[pymodule_export]
    use super::offer::Offer;
    #[pymodule_export]
    use super::requests::{RequestScheduler, Turn};
    #[pymodule_export]
    use super::scheduler::{Out, Scheduler};
    #[pymodule_export]
    use super::simulate::{Simulated, scenario, simulate};
    #[pymodule_export]
    use super::table::{Table, table_of};

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
