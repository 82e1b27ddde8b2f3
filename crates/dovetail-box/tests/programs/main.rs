//! WebAssembly programs: their answers, failures and rejections, and those of the folder `programs`.
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
