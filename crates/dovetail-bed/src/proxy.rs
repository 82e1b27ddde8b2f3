//! Who is measured.

use std::{
    fmt, fs, io,
    net::{Ipv4Addr, SocketAddrV4},
    path::PathBuf,
    process::Command,
};

/// What a proxy needs to know about the testbed that it runs in.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// Where it has to listen.
    pub listen: SocketAddrV4,
    /// The downlink, in bits of Ethernet frames a second.
    pub rate_bps: u64,
    /// The most that the downlink carries of TCP's payload, in bits a second.
    pub goodput_bps: f64,
    /// The near end of the provider's side, which answers pings.
    pub provider: Ipv4Addr,
    /// A folder of its own, open to all users, which is removed after the run.
    pub folder: PathBuf,
}

/// Makes the command that runs a proxy in the foreground.
type Make<'a> = dyn Fn(&Site) -> io::Result<Command> + Sync + 'a;

/// The proxy to measure.
pub enum Proxy<'a> {
    /// A program, begun in the gateway's namespace and ended after the run.
    Command {
        /// For messages.
        name: String,
        /// Its command; input, output and errors are the testbed's.
        make: Box<Make<'a>>,
    },
    /// One that listens there already, begun through `Bed::within`; what it takes is not measured.
    Listening,
}

impl<'a> Proxy<'a> {
    /// The program that `make` makes the command of. It stays in the foreground, and ends on SIGTERM.
    #[must_use]
    pub fn command(name: impl Into<String>, make: impl Fn(&Site) -> io::Result<Command> + Sync + 'a) -> Self {
        Self::Command { name: name.into(), make: Box::new(make) }
    }

    /// Squid with its defaults, without a cache and without logs: the ordinary proxy to measure others beside.
    #[must_use]
    pub fn squid() -> Self {
        Self::command("Squid", |site| {
            let file = site.folder.join("squid.conf");
            fs::write(&file, squid_settings(site))?;
            let mut command = Command::new("squid");
            command.args(["-N", "-d", "1", "-f"]).arg(file);
            Ok(command)
        })
    }
}

fn squid_settings(site: &Site) -> String {
    let folder = site.folder.display();
    format!(
        "http_port {}\n\
         http_access allow all\n\
         cache deny all\n\
         access_log none\n\
         cache_log {folder}/cache.log\n\
         coredump_dir {folder}\n\
         pid_filename none\n\
         netdb_filename none\n\
         pinger_enable off\n\
         visible_hostname gateway\n\
         max_filedescriptors 4096\n\
         shutdown_lifetime 1 seconds\n",
        site.listen
    )
}

impl fmt::Debug for Proxy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { name, .. } => f.debug_struct("Command").field("name", name).finish_non_exhaustive(),
            Self::Listening => f.write_str("Listening"),
        }
    }
}

/// One of the testbed's four namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Where users are: 10.0.CLASS.USER.
    Clients,
    /// Where the proxy is: 10.0.0.1.
    Gateway,
    /// The far end of the downlink: 10.99.0.1.
    Provider,
    /// Where the servers are: 10.200.0.1 and so on.
    Servers,
}
