//! The box between two interfaces.

mod sys;
