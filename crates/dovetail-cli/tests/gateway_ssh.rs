//! Echo latency of an SSH session beside downloads of other users, through `dovetail gateway` and through Squid: OpenSSH's
//! programs on a link of 2 Mbit/s, by `CONNECT`. With `DOVETAIL_LONG=1`, three minutes, with `--nocapture` for the figures.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod gateways;
mod pages;

use std::{
    env, fs,
    io::{Read, Write},
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use dovetail_bed::{Bed, Place, Proxy, Via};
use gateways::{Settings, gateway, has, has_squid, link, ms, possible};
use pages::{
    bulk::Bulk,
    running::{LISTEN, Running},
};

const TRIP: Duration = ms(40);
const KEYS: usize = 200;
/// Interval between two keys: five a second, a typing speed.
const GAP: Duration = ms(200);

/// Ended when dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn key(folder: &Path, name: &str) {
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(name)).status();
    assert!(made.unwrap().success());
}

/// At the testbed's first server, on a port that tunnels may connect to.
fn server(bed: &Bed, folder: &Path) -> Ended {
    key(folder, "host");
    key(folder, "user");
    let at = |name: &str| folder.join(name).display().to_string();
    let settings = format!(
        "Port 443\nListenAddress 10.200.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nPermitRootLogin yes\nUsePAM no\n\
         UseDNS no\nPidFile none\nPrintMotd no\nPrintLastLog no\n",
        at("host"),
        at("user.pub")
    );
    fs::write(folder.join("sshd.conf"), settings).unwrap();
    // Its directory for privilege separation, which its package creates when the service starts.
    fs::create_dir_all("/run/sshd").unwrap();
    let program =
        env::split_paths(&env::var_os("PATH").unwrap()).map(|folder| folder.join("sshd")).find(|at| at.exists());
    let begin = || {
        let mut command = Command::new(program.unwrap_or("/usr/sbin/sshd".into()));
        command.args(["-D", "-f"]).arg(folder.join("sshd.conf"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    };
    Ended(bed.within(Place::Servers, begin).unwrap())
}

/// Echo latency of each key, in milliseconds.
fn echoes(bed: &Bed, folder: &Path) -> Vec<f64> {
    let proxy = format!("ProxyCommand=nc -X connect -x {LISTEN} %h %p");
    let key = folder.join("user");
    let mut command = Command::new("ssh");
    command
        .args(["-tt", "-F", "none", "-e", "none", "-p", "443", "-o", &proxy, "-i"])
        .arg(key)
        .args(["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"])
        .args(["root@10.200.0.1", "echo ready; cat > /dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut session = Ended(bed.within(Place::Clients, || command.spawn()).unwrap());
    let (mut typed, mut shown) = (session.0.stdin.take().unwrap(), session.0.stdout.take().unwrap());
    let mut until = |wanted: &[u8]| {
        let mut seen = Vec::new();
        while !seen.ends_with(wanted) {
            let mut byte = [0];
            shown.read_exact(&mut byte).unwrap();
            seen.push(byte[0]);
        }
    };
    until(b"ready\r\n");
    let mut took = Vec::new();
    for key in (b'a'..=b'z').cycle().take(KEYS) {
        sleep(GAP);
        let begun = Instant::now();
        typed.write_all(&[key]).unwrap();
        until(&[key]);
        took.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    took.sort_by(f64::total_cmp);
    took
}

/// Median and 95th percentile of echo latency in excess of the round trip, in milliseconds.
fn over(proxy: &Proxy<'_>, downloads: &[Via]) -> [f64; 2] {
    let users = downloads.len().max(1) as u32;
    let bed = Bed::new(&link(2_000_000, TRIP, &[users])).unwrap_or_else(|error| panic!("{error}"));
    let running = Running::new(&bed, proxy);
    let folder = running.folder.path();
    let _server = server(&bed, folder);
    let bulk = |(user, &via): (u8, &Via)| Bulk::of(&bed, [10, 0, 1, user].into(), via);
    let bulks: Vec<_> = (1..).zip(downloads).map(bulk).collect();
    if !bulks.is_empty() {
        // Their windows have grown, and so has the link's queue if nothing keeps it short.
        sleep(ms(8000));
    }
    let took = echoes(&bed, folder);
    bulks.into_iter().for_each(Bulk::end);
    [50, 95].map(|percent| took[took.len() * percent / 100] - TRIP.as_secs_f64() * 1e3)
}

#[test]
fn keys_are_shown_soon_beside_downloads() {
    if !possible() || !has_squid() || !has("ssh", "-V") || !has("sshd", "-V") || !has("nc", "-h") {
        return;
    }
    let four = [Via::Absolute, Via::Connect, Via::Absolute, Via::Connect];
    for (name, downloads) in [("alone", &four[..0]), ("beside four downloads", &four)] {
        let [ours, theirs] = [gateway(Settings::default()), Proxy::squid()].map(|proxy| over(&proxy, downloads));
        eprintln!(
            "{name}: an echo takes {:.0} ms over the round trip, at p95 {:.0}; with Squid {:.0}, at p95 {:.0}",
            ours[0], ours[1], theirs[0], theirs[1]
        );
        assert!(ours[1] <= 150.0, "{name}: {ours:?}");
    }
}
