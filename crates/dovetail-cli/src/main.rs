//! The `dovetail` command.

use std::{env, process::ExitCode};

/// Tables of a million flows are visited at random.
#[global_allocator]
static ALLOCATOR: dovetail_pages::HugePages = dovetail_pages::HugePages;

fn main() -> ExitCode {
    ExitCode::from(dovetail_cli::run(env::args_os()))
}
