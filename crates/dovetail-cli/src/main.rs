//! The `dovetail` command.

use std::{env, process::ExitCode};

/// Tables of a million flows are accessed at random.
#[global_allocator]
static ALLOCATOR: dovetail_hugepages::HugePages = dovetail_hugepages::HugePages;

fn main() -> ExitCode {
    ExitCode::from(dovetail_cli::run(env::args_os()))
}
