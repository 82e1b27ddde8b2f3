//! The native part of the Python package `dovetail`.
//!
//! The package in `python/dovetail` is what users see; its functions have Python's signatures and call what is here with plain
//! values. What computes does so without the interpreter's lock, on another thread, while the calling one looks after signals
//! and progress.
//!
//! | module | what |
//! |---|---|
//! | `given` | options as Python gives them, as the libraries take them |
//! | `run` | a computation that Ctrl-C stops and a progress bar follows |
//! | `table` | tables that Arrow's consumers read without a copy |
//! | `simulate` | policies over the same traffic |

mod given;
mod run;
mod simulate;
mod table;

/// What `import dovetail._native` finds.
#[pyo3::pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::simulate::{Simulated, scenario, simulate};
    #[pymodule_export]
    use super::table::Table;

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
