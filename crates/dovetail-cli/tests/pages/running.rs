//! A proxy running in a testbed, for users that are separate programs, which a testbed does not simulate.

use std::{
    env, fs,
    net::{SocketAddrV4, TcpStream},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use dovetail_bed::{Bed, Place, Proxy, Site};

/// Address of the proxy at the testbed's gateway.
pub const LISTEN: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::new(10, 0, 0, 1), 3128);

/// A folder removed on drop. Every user may write to it: proxies drop root.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("dovetail-users-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Stopped on drop.
pub struct Running {
    child: Child,
    pub folder: Folder,
}

impl Running {
    /// Starts the proxy, and waits until it listens.
    pub fn new(bed: &Bed, proxy: &Proxy<'_>) -> Self {
        let Proxy::Command { name, make } = proxy else { panic!("a program") };
        let folder = Folder::new();
        let spec = bed.spec();
        let site = Site {
            listen: LISTEN,
            rate_bps: spec.rate_bps,
            goodput_bps: spec.goodput_bps(),
            provider: [10, 99, 0, 1].into(),
            folder: folder.path().to_owned(),
        };
        let begin = || make(&site)?.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let running = Self { child: bed.within(Place::Gateway, begin).unwrap(), folder };
        let begun = Instant::now();
        while bed.within(Place::Clients, || TcpStream::connect(LISTEN)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{name} does not listen");
            thread::sleep(Duration::from_millis(50));
        }
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
