//! The proxy to be measured.

use std::{
    fmt, fs, io,
    net::{Ipv4Addr, SocketAddrV4},
    path::PathBuf,
    process::Command,
};

/// What a proxy needs to know about its testbed.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// Where it must listen.
    pub listen: SocketAddrV4,
    /// The downlink's rate, in bits of Ethernet frames per second.
    pub rate_bps: u64,
    /// The most TCP payload that the downlink carries, in bits per second.
    pub goodput_bps: f64,
    /// The near end of the provider's side, which answers pings.
    pub provider: Ipv4Addr,
    /// A directory of its own, writable by all users, which is removed after the run.
    pub folder: PathBuf,
}

/// Creates the command that runs a proxy in the foreground.
type Make<'a> = dyn Fn(&Site) -> io::Result<Command> + Sync + 'a;

/// The proxy to measure.
pub enum Proxy<'a> {
    /// A program that is started in the gateway's namespace and ended after the run.
    Command {
        /// Its name in messages.
        name: String,
        /// Creates its command; the testbed sets its standard input, output and error.
        make: Box<Make<'a>>,
    },
    /// A proxy already listening there, started through `Bed::within`; its resource usage is not measured.
    Listening,
}

impl<'a> Proxy<'a> {
    /// A program run by the command that `make` creates. It must stay in the foreground and end on SIGTERM.
    #[must_use]
    pub fn command(name: impl Into<String>, make: impl Fn(&Site) -> io::Result<Command> + Sync + 'a) -> Self {
        Self::Command { name: name.into(), make: Box::new(make) }
    }

    /// Squid with its defaults, but no cache and no logs: the ordinary proxy to compare others with.
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
