//! Shell completions and man pages for the command line.

use std::{fs, io::Write};

use clap::CommandFactory;
use dovetail_compare::{Error, output::print};

use crate::{
    args::{Cli, CompletionsArgs, ManArgs},
    failure::Failure,
};

/// Writes a completion script for a shell.
pub(crate) fn completions(args: &CompletionsArgs, out: &mut dyn Write) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "dovetail", &mut script);
    print(out, String::from_utf8_lossy(&script).trim_end())
}

/// Writes a page for the command and for each of its subcommands.
pub(crate) fn man(args: &ManArgs) -> Result<(), Failure> {
    let written =
        fs::create_dir_all(&args.folder).and_then(|()| clap_mangen::generate_to(Cli::command(), &args.folder));
    let folder = args.folder.display();
    written.map_err(|error| Failure::new(format!("cannot write man pages to {folder}: {error}")))
}
