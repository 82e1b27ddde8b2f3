//! Records what the Linux kernel's TCP does over an emulated path, exactly and repeatably.
//!
//! The kernel is User-mode Linux in its time-travel mode: its clock stands still while anything runs, and jumps to the next
//! timer when nothing does. So the figures are those of the kernel's own TCP, and the same in every run, however busy the
//! machine is. `record.sh` builds that kernel and boots it with this program, whose standard input is a tunnel device; what
//! it prints is `crates/dovetail-tcp/tests/all/recorded/linux-6.12.toml`.

#[cfg(target_os = "linux")]
mod cases;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod packet;
#[cfg(target_os = "linux")]
mod run;

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    use std::io::{Error, Write};

    let wanted = std::env::args().nth(1).unwrap_or_default();
    let Some((name, record)) = cases::GROUPS.iter().find(|(name, _)| *name == wanted) else {
        let names: Vec<_> = cases::GROUPS.iter().map(|(name, _)| *name).collect();
        return Err(Error::other(format!("expected a group: {}", names.join(", "))));
    };
    let mut out = std::io::stdout();
    writeln!(out, "{name} = [")?;
    record(&mut out)?;
    writeln!(out, "]")
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("only Linux has the kernel that is recorded");
}
