//! What parsing ends with instead of a command to run: help, the version, or a usage error.

use std::{
    ffi::OsString,
    io::{ErrorKind, Write},
};

use clap::{CommandFactory, error::ErrorKind as Kind};

use crate::{
    args::Cli,
    failure::Failure,
    output::{Stdout, tell},
};

/// How the last line of a usage error begins.
const HINT: &str = "For more information, try '";

/// Prints it; returns the exit status. `command` is whose help a usage error names.
pub(crate) fn report(end: &clap::Error, command: &str) -> u8 {
    let is_help = end.kind() == Kind::DisplayHelpOnMissingArgumentOrSubcommand;
    if end.use_stderr() && !is_help {
        tell(with_command(&end.render().ansi().to_string(), command));
    } else if let Err(error) = end.print().and_then(|()| Stdout::default().flush())
        && error.kind() != ErrorKind::BrokenPipe
    {
        return Failure::output(&error).report(command);
    }
    u8::try_from(end.exit_code()).unwrap_or(2)
}

/// The message with the name of the command in its hint.
fn with_command(message: &str, command: &str) -> String {
    match message.rsplit_once(HINT) {
        Some((before, hint)) => format!("{before}{HINT}{}", hint.replacen("--help", &format!("{command} --help"), 1)),
        None => message.to_owned(),
    }
}

/// The command and the subcommands that these arguments begin with, as in `dovetail gateway doctor`.
pub(crate) fn command_in(args: &[OsString]) -> String {
    let root = Cli::command();
    let (mut command, mut name) = (&root, root.get_name().to_owned());
    let mut args = args.iter().skip(1);
    while let Some(inner) = args.next().and_then(|arg| command.find_subcommand(arg)) {
        (command, name) = (inner, format!("{name} {}", inner.get_name()));
    }
    name
}
