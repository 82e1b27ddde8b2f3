//! `dovetail admit`: which flows a node can promise rates and delays, asked in the order of a file.
//!
//! The rules are those of [`dovetail_sched::cost::admission`]. A file is read in three steps: [`form`] is what TOML says,
//! [`parse`] turns texts with units into numbers of a resource's own unit, and [`request`] checks it as a whole.

mod answer;
mod form;
mod json;
mod parse;
mod request;
mod show;

use std::{fs::File, io::Read, path::Path};

use crate::{
    args::AdmitArgs,
    failure::Failure,
    output::{print, print_json},
};
use answer::Answers;
use request::Request;

/// The longest file that is read, in bytes: room for the most reservations that are allowed.
const LONGEST_FILE: u64 = 64 << 20;

pub(crate) fn run(args: &AdmitArgs) -> Result<(), Failure> {
    let name = args.file.display().to_string();
    let request = Request::parse(&read(&args.file)?, &name).map_err(Failure::new)?;
    let answers = Answers::of(&request, args.bound);
    if args.json { print_json(&json::json(&answers, &name)) } else { print(&show::text(&answers, &name)) }
}

fn read(path: &Path) -> Result<String, Failure> {
    let failed = |error| Failure::file("read", path, error);
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST_FILE + 1).read_to_string(&mut text));
    if read.map_err(failed)? as u64 > LONGEST_FILE {
        return Err(Failure::file("read", path, format!("it is longer than {} MiB", LONGEST_FILE >> 20)));
    }
    Ok(text)
}
