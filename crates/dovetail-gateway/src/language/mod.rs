//! The languages of what users read: the gateway's own page for each of them, and the reasons for refusals.
//!
//! Each page has its texts in a table per language, with places in braces. What the operator reads is English only.

mod accept;
mod each;
mod fill;
mod notation;
#[cfg(test)]
pub(crate) mod table;

pub(crate) use self::{
    each::{InEach, Language},
    fill::{escaped, fill},
};
