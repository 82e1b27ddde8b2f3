//! Programs in WebAssembly: what they answer, how they fail, what is refused, and the ones of the folder `programs`.
#![allow(clippy::unwrap_used)]

mod answers;
mod failures;
mod folders;
mod fuzz;
mod hostile;
mod loading;
mod measuring;
mod sdk;
mod writing;
