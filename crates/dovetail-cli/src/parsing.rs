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

/// The arguments with negative values attached to their options, as in `--link=-1Mbps`: the parser takes a value that begins
/// with a hyphen for another option, but the value's own reader says its range. No option is called by a digit.
pub(crate) fn with_negative_values(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let is_negative = |arg: &str| {
        arg.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
    };
    let takes_value = |arg: &str| arg.len() > 2 && arg.starts_with("--") && !arg.contains('=');
    let mut all: Vec<OsString> = Vec::new();
    let mut are_options = true;
    for arg in args {
        are_options &= arg != "--";
        match all.last_mut().filter(|last| last.to_str().is_some_and(takes_value)) {
            Some(option) if are_options && arg.to_str().is_some_and(is_negative) => {
                option.push("=");
                option.push(arg);
            }
            _ => all.push(arg),
        }
    }
    all
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_that_are_negative_numbers_are_attached() {
        for (given, attached) in [
            ("dovetail compare --link -1Mbps --load -.5", "dovetail compare --link=-1Mbps --load=-.5"),
            ("dovetail tune --trace - --json", "dovetail tune --trace - --json"),
            ("dovetail compare --report -r --seed=-1 -1", "dovetail compare --report -r --seed=-1 -1"),
            ("dovetail sweep -- --seed -1", "dovetail sweep -- --seed -1"),
            ("dovetail sweep -- -1", "dovetail sweep -- -1"),
        ] {
            let args = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
            assert_eq!(with_negative_values(args(given)), args(attached));
        }
    }
}
