//! The box between two interfaces.

pub mod switch;
mod sys;
