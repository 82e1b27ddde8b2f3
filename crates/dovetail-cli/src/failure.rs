//! Errors of the command, in terms of the command line, with their exit status.

use std::{fmt::Display, io};

use dovetail_compare::{Error, Misuse};
use dovetail_experiments::Tally;

use crate::output::tell;

/// A message, and whether it is a usage error.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    /// Exit status 2: a usage error. Otherwise 1: any other failure.
    misuse: bool,
}

impl Failure {
    /// Exit status 1: the command failed.
    pub(crate) fn new(message: impl Display) -> Self {
        Self { message: message.to_string(), misuse: false }
    }

    /// Exit status 2: a usage error.
    pub(crate) fn misuse(message: impl Display) -> Self {
        Self { message: message.to_string(), misuse: true }
    }

    /// Standard output cannot be written to.
    pub(crate) fn output(error: &io::Error) -> Self {
        Self::new(format!("cannot write to standard output: {error}"))
    }

    /// A row of an experiment that should hold and does not is a failure; the results are printed all the same.
    pub(crate) fn unless_all_held(tally: Tally) -> Result<(), Self> {
        match tally.missed {
            0 => Ok(()),
            1 => Err(Self::new("a row that should hold does not")),
            missed => Err(Self::new(format!("{missed} rows that should hold do not"))),
        }
    }

    /// Prints the message, with a hint at the help of `command`; returns the exit status.
    pub(crate) fn report(&self, command: &str) -> u8 {
        tell(format_args!("dovetail: {}\n", self.message));
        if self.misuse {
            tell(format_args!("For more information, try '{command} --help'.\n"));
        }
        if self.misuse { 2 } else { 1 }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Misuse(misuse) => Self::misuse(of_misuse(&misuse)),
            Error::Output(error) => Self::output(&error),
            error => Self::new(error),
        }
    }
}

impl From<dovetail_experiments::Error> for Failure {
    fn from(error: dovetail_experiments::Error) -> Self {
        use dovetail_experiments::Error as Wrong;
        match error {
            Wrong::Compare(error) => error.into(),
            Wrong::Unknown { .. } | Wrong::Twice(_) => Self::misuse(error),
            Wrong::NothingNamed(field) => Self::misuse(format!("{}: name an experiment, or all", option(field))),
            wrong @ Wrong::NoTrial { .. } => Self::misuse(format!("--{wrong}")),
            Wrong::NoReplay(known) => Self::misuse(format!("--trace: none of these replays a capture; {known} do")),
            Wrong::NothingArrives => Self::new("--trace: the capture spans no time, so there is no load to scale"),
            error => Self::new(error),
        }
    }
}

/// The message of a usage error, with options as written on the command line.
fn of_misuse(misuse: &Misuse) -> String {
    match misuse {
        Misuse::Option { fields, why } => {
            let options: Vec<_> = fields.iter().map(|field| option(field)).collect();
            format!("{}: {why}", options.join(", "))
        }
        Misuse::Policy { .. } | Misuse::Twice(_) | Misuse::Taken { .. } => format!("--{misuse}"),
        Misuse::TooManyPackets => misuse.to_string().replace("packets or sizes", "--packets or --sizes"),
        misuse => misuse.to_string(),
    }
}

/// The option that sets a field.
fn option(field: &str) -> String {
    match field {
        "policies" => "--policy".to_owned(),
        "scenario" => "SCENARIO".to_owned(),
        "traces" => "--trace".to_owned(),
        field => format!("--{}", field.replace('_', "-")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_to_hold_and_does_not_is_a_failure_and_a_known_one_is_none() {
        let tally = |known, missed| {
            let mut tally = Tally::default();
            (tally.rows, tally.known, tally.missed) = (9, known, missed);
            Failure::unless_all_held(tally).map_err(|failure| (failure.message, failure.misuse))
        };
        assert_eq!(tally(3, 0), Ok(()));
        assert_eq!(tally(0, 1), Err(("a row that should hold does not".to_owned(), false)));
        assert_eq!(tally(3, 2), Err(("2 rows that should hold do not".to_owned(), false)));
    }

    #[test]
    fn options_are_said_as_they_are_written() {
        let said = |fields, why: &str| of_misuse(&Misuse::Option { fields, why: why.to_owned() });
        assert_eq!(said(&["queue_packets"], "no"), "--queue-packets: no");
        assert_eq!(said(&["window", "records"], "no"), "--window, --records: no");
        assert_eq!(said(&["policies"], "no"), "--policy: no");
        assert_eq!(of_misuse(&Misuse::Twice("drfq".to_owned())), "--policy drfq is given twice");
        let many = "use fewer --packets or --sizes: at most 2,000,000 packets of each function can be kept";
        assert_eq!(of_misuse(&Misuse::TooManyPackets), many);
    }
}
