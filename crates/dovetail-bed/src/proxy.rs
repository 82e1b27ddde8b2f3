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

    /// Dovetail's gateway under a policy of requests, run by `program`, the command `dovetail`. The testbed's first class has the
    /// first of these weights, and so on.
    #[must_use]
    pub fn dovetail(program: impl Into<PathBuf>, policy: &'a str, weights: &'a [u32]) -> Self {
        let program = program.into();
        Self::command(policy, move |site| {
            let file = site.folder.join("gateway.toml");
            fs::write(&file, dovetail_settings(site, policy, weights))?;
            let mut command = Command::new(&program);
            command.args(["gateway", "--config"]).arg(file);
            Ok(command)
        })
    }

    /// A line for `sh`, which learns of its site from variables of its environment: `LISTEN`, the address and port where to
    /// listen; `RATE_BPS` and `GOODPUT_BPS`, of the downlink; `PROVIDER`, the address of the provider's side; `FOLDER`, for settings.
    #[must_use]
    pub fn shell(name: impl Into<String>, line: &'a str) -> Self {
        Self::command(name, move |site| {
            let mut command = Command::new("sh");
            command.args(["-c", line]);
            command.env("LISTEN", site.listen.to_string()).env("PROVIDER", site.provider.to_string());
            command.env("RATE_BPS", site.rate_bps.to_string()).env("GOODPUT_BPS", format!("{:.0}", site.goodput_bps));
            command.env("FOLDER", &site.folder);
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

/// Classes by the addresses that the testbed assigns to their users.
fn dovetail_settings(site: &Site, policy: &str, weights: &[u32]) -> String {
    let mut settings = format!(
        "[proxy]\n\
         listen = \"{}\"\n\
         \n\
         [downlink]\n\
         rate = \"{}bps\"\n\
         probe = \"{}\"\n\
         policy = \"{policy}\"\n\
         \n\
         [access]\n\
         clients = [\"10.0.0.0/16\"]\n\
         connect_ports = [80, 443]\n\
         destinations = {{ allow = [\"10.200.0.0/16\"] }}\n",
        site.listen, site.rate_bps, site.provider
    );
    for (class, weight) in (1..).zip(weights) {
        settings +=
            &format!("\n[[class]]\nname = \"class{class}\"\nweight = {weight}\nclients = [\"10.0.{class}.0/24\"]\n");
    }
    settings
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

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        Site {
            listen: "10.0.0.1:3128".parse().unwrap(),
            rate_bps: 2_000_000,
            goodput_bps: 1_912_813.7,
            provider: Ipv4Addr::new(10, 99, 0, 1),
            folder: "/tmp/folder".into(),
        }
    }

    #[test]
    fn dovetail_s_settings_match_the_testbed() {
        let settings: toml::Table = dovetail_settings(&site(), "grants", &[4, 1]).parse().unwrap();
        assert_eq!(settings["proxy"]["listen"].as_str(), Some("10.0.0.1:3128"));
        assert_eq!(settings["downlink"]["rate"].as_str(), Some("2000000bps"));
        assert_eq!(settings["downlink"]["probe"].as_str(), Some("10.99.0.1"));
        assert_eq!(settings["downlink"]["policy"].as_str(), Some("grants"));
        assert_eq!(settings["access"]["destinations"]["allow"][0].as_str(), Some("10.200.0.0/16"));
        let classes = settings["class"].as_array().unwrap();
        let said: Vec<_> =
            classes.iter().map(|class| (class["weight"].as_integer(), class["clients"][0].as_str())).collect();
        assert_eq!(said, [(Some(4), Some("10.0.1.0/24")), (Some(1), Some("10.0.2.0/24"))]);
    }

    #[cfg(unix)]
    #[test]
    fn a_line_for_the_shell_learns_of_its_site() {
        let line = "echo $LISTEN $RATE_BPS $GOODPUT_BPS $PROVIDER $FOLDER";
        let Proxy::Command { name, make } = Proxy::shell("mine", line) else { panic!("it is a command") };
        let said = make(&site()).unwrap().output().unwrap().stdout;
        assert_eq!((&*name, &*said), ("mine", &b"10.0.0.1:3128 2000000 1912814 10.99.0.1 /tmp/folder\n"[..]));
    }
}
