//! A gateway's life: it is [put together](parts), [runs](mod@run), [goes on with another configuration](reload) and
//! [ends](drain).

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
