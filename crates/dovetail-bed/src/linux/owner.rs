//! Names that contain their owner's process ID, so that what a killed process left behind can be told from what is in use.

use std::{fs, path::Path, process};

use rustix::{
    io::Errno,
    process::{Pid, test_kill_process},
};

/// Names begin with this, the process ID and a dash.
const PREFIX: &str = "dovetail-bed";

/// A name owned by this process.
pub(super) fn name(what: &str) -> String {
    format!("{PREFIX}{}-{what}", process::id())
}

/// The names in a directory whose owners are gone.
pub(super) fn left_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| owner(name).is_some_and(|owner| test_kill_process(owner) == Err(Errno::SRCH))).collect()
}

fn owner(name: &str) -> Option<Pid> {
    let (number, _) = name.strip_prefix(PREFIX)?.split_once('-')?;
    Pid::from_raw(number.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_whose_they_are() {
        assert_eq!(owner(&name("0-clients")), Pid::from_raw(process::id() as i32));
        for other in ["dovetail-bed", "dovetail-bed7", "dovetail-bedx-0", "dovetail-bed0-0", "eth0"] {
            assert_eq!(owner(other), None, "{other}");
        }
    }
}
