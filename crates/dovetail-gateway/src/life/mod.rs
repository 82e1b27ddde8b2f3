//! A gateway's life cycle: it is [assembled](parts), [runs](mod@run), is [reconfigured](reload) and [drains](drain).

mod check;
mod control;
mod drain;
mod parts;
mod reload;
mod run;
mod signals;

#[cfg(feature = "test-support")]
pub use self::control::Counts;
pub use self::{
    check::check,
    control::Control,
    run::{run, run_until_signalled},
};
