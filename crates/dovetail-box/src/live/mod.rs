//! The box between two interfaces.

pub mod lab;
pub mod switch;
mod sys;
