//! Describes a configuration in words: what a gateway does with it, and possible mistakes.

use std::{
    fmt::{self, Display},
    sync::Arc,
};

use dovetail_sched::units::Rate;
use dovetail_toml::values::written_time;

use super::{
    hosts::HostPattern,
    model::{Access, Beyond, Class, Config, Forwarded, Helper, LogFormat, Per, Probe, Quota},
    parents::Parent,
    prefixes::{Prefix, Prefixes},
    reload::joined,
};

impl Config {
    /// The configuration in aligned lines, followed by [`warnings`](Self::warnings).
    #[must_use]
    pub fn describe(&self) -> impl Display {
        Description(self)
    }

    /// Possible mistakes, a sentence each.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut warn = |text: String| warnings.push(text);
        let proxy = &self.proxy;
        let ways = [&*proxy.listen, &proxy.redirect, &proxy.tproxy, proxy.tls_listen()];
        for address in ways.into_iter().flatten().filter(|address| address.ip().is_unspecified()) {
            warn(format!("{address} listens on all of this machine's addresses: also on the downlink's"));
        }
        let access = &self.access;
        for prefix in whole(&access.clients) {
            let family = if prefix.addr().is_ipv4() { "IPv4" } else { "IPv6" };
            warn(format!("access.clients has {prefix}: an open proxy for every {family} address"));
        }
        for prefix in whole(&proxy.trusted) {
            warn(format!("proxy.trusted has {prefix}: every client can say that it is another one"));
        }
        if let Some(Helper { .. }) = &access.helper {
            let names = self
                .classes
                .iter()
                .flat_map(|class| &class.users)
                .chain(self.groups.iter().flat_map(|group| &group.users));
            for name in names.filter(|name| ***name != *name.trim().to_lowercase()) {
                warn(format!("{name}: with access.helper names are in small letters: write it so"));
            }
        }
        if proxy.tls.is_some() && self.pac.proxy.is_empty() {
            warn(
                "there is no pac.proxy: over TLS the PAC file names the host that it was requested from, which may be an \
                 address that the certificate lacks: set it, such as pac.proxy = \"https://gateway.example.org:3129\""
                    .into(),
            );
        }
        if access.has_names() && !proxy.listen.is_empty() {
            warn("passwords cross the network in clear: anyone who can listen on the users' side can read them".into());
        }
        if access.has_names() && !(proxy.redirect.is_empty() && proxy.tproxy.is_empty()) {
            warn(
                "clients of redirect and tproxy do not know of the proxy, so they cannot authenticate and are refused"
                    .into(),
            );
        }
        for parent in self.parents.iter().filter(|parent| parent.user.is_some() && parent.tls.is_none()) {
            warn(format!("the password for the parent {} crosses the network in clear: it may offer tls", parent.name));
        }
        let downlink = &self.downlink;
        let policy = downlink.policy.entry().name;
        match downlink.probe {
            Probe::Off => warn("downlink.probe is off: the far queue is not measured".into()),
            Probe::Tcp => {
                let what = "downlink.probe is tcp: its measurements include servers' own delays; name an address \
                    beyond the link";
                warn(what.into());
            }
            Probe::Icmp(_) | Probe::Udp(_) | Probe::Hop { .. } => (),
        }
        if !downlink.learn {
            let rate = rate(downlink.rate);
            warn(format!("{policy} takes the link's rate as {rate}: a rate that is too high fills the far queue"));
        }
        if self.admin.is_none() {
            warn("there is no [admin]: no page and no metrics".into());
        }
        for class in &self.classes {
            for prefix in class.clients.iter().filter(|prefix| !may_ask(access, prefix)) {
                warn(format!(
                    "class {}: {prefix} is outside of access.clients, so its requests are refused",
                    class.name
                ));
            }
        }
        if !self.quotas.is_empty() && self.store.is_none() {
            warn("there is no [store]: quotas begin unused whenever the gateway starts".into());
        }
        self.quotas.iter().flat_map(|quota| self.unreached(quota)).for_each(&mut warn);
        for class in
            self.classes.iter().filter(|class| class.rate.is_some_and(|most| most.bps() >= downlink.rate.bps()))
        {
            warn(format!("class {}: its rate is not below the downlink's, so it caps nothing", class.name));
        }
        for group in self.groups.iter() {
            for prefix in group.clients.iter().filter(|prefix| !may_ask(access, prefix)) {
                warn(format!(
                    "group {}: {prefix} is outside of access.clients, so its requests are refused",
                    group.name
                ));
            }
            let listed = self.classes.iter().any(|class| class.groups.contains(&group.name));
            let first = self.class_of_group(&group.name);
            let other =
                group.clients.iter().map(|&clients| self.class_of_network(clients)).find(|&class| class != first);
            if let Some(other) = other.filter(|_| !listed) {
                let (name, first, other) = (&group.name, &self.classes[first].name, &self.classes[other].name);
                warn(format!(
                    "group {name}: some of it would be in class {first} and some in {other}; all of it is in {first}: list \
                     it in a class's groups"
                ));
            }
        }
        if self.limits.connections_per_user > self.limits.connections {
            warn("limits.connections_per_user is over limits.connections: one client can take all connections".into());
        }
        warnings
    }
}

impl Config {
    /// What a quota does not do for requests to hosts with a class of their own: users' bytes count by the users' own class.
    fn unreached(&self, quota: &Quota) -> impl Iterator<Item = String> {
        let name = &quota.name;
        let of_hosts = || self.classes.iter().filter(|class| !class.hosts.is_empty());
        let listed = of_hosts().filter(|class| quota.classes.contains(&class.name)).map(move |class| {
            format!(
                "quota {name}: what users get from the hosts of class {} counts for the users' own classes: list those in \
                 quota.classes",
                class.name
            )
        });
        let names = of_hosts().map(|class| &*class.name).collect::<Vec<_>>().join(", ");
        let is_kept = matches!(quota.beyond, Beyond::Weight(_)) && !names.is_empty();
        let kept = is_kept.then(|| {
            format!(
                "quota {name}: requests to hosts of class {names} keep the weight of that class, also beyond the quota: use \
                 beyond = \"refuse\", or give the class a small weight or a rate"
            )
        });
        listed.chain(kept)
    }
}

/// The prefixes of all addresses of a family, if these cover it, together or alone.
fn whole<V>(prefixes: &Prefixes<V>) -> impl Iterator<Item = Prefix> {
    let all = Prefix::aggregate(&prefixes.prefixes().copied().collect());
    all.into_iter().filter(|prefix| prefix.prefix_len() == 0)
}

/// Whether any client in this prefix is permitted.
fn may_ask(access: &Access, prefix: &Prefix) -> bool {
    access.clients.prefixes().any(|clients| clients.contains(prefix) || prefix.contains(clients))
}

struct Description<'c>(&'c Config);

/// Lines under one heading, which is shown before the first.
struct Part<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    heading: &'static str,
}

impl Part<'_, '_> {
    fn line(&mut self, what: &str, value: impl Display) -> fmt::Result {
        let heading = std::mem::take(&mut self.heading);
        writeln!(self.f, "{heading:<10} {what:<21} {value}")
    }
}

impl Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = self.0;
        listens(config, &mut Part { f, heading: "listens" })?;
        downlink(config, &mut Part { f, heading: "downlink" })?;
        let mut part = Part { f, heading: "uplink" };
        match &config.uplink {
            None => part.line("rate", "not known: uploads are not paced")?,
            Some(uplink) => {
                let learnt = if uplink.learn { ", or less where that is learnt" } else { "" };
                part.line("rate", format_args!("{}, paced{learnt}", rate(uplink.rate)))?;
            }
        }
        access(config, &mut Part { f, heading: "access" })?;
        let mut part = Part { f, heading: "groups" };
        for group in config.groups.iter() {
            part.line(&group.name, members(&group.clients, &group.users, &[]))?;
        }
        let mut part = Part { f, heading: "classes" };
        for (index, class) in config.classes.iter().enumerate() {
            part.line(&class.name, who(class, index == config.default_class))?;
        }
        let mut part = Part { f, heading: "quotas" };
        for quota in &config.quotas {
            part.line(&quota.name, of_quota(quota))?;
        }
        let mut part = Part { f, heading: "parents" };
        for parent in &config.parents {
            part.line(&parent.name, by(parent))?;
        }
        bounds(config, f)?;
        let mut part = Part { f, heading: "admin" };
        match &config.admin {
            None => part.line("", "off")?,
            Some(admin) => {
                let token = if admin.token.is_some() { "changes need the token" } else { "read-only: no token" };
                part.line("", format_args!("{} ({token})", admin.listen))?;
            }
        }
        let mut part = Part { f, heading: "log" };
        match &config.log {
            None => part.line("", "off")?,
            Some(log) => {
                let format = if log.format == LogFormat::Squid { "Squid's format" } else { "JSON" };
                part.line("", format_args!("{} ({format})", log.path.display()))?;
            }
        }
        if let Some(store) = &config.store {
            let every = written_time(store.every);
            Part { f, heading: "store" }.line("", format_args!("{}, written every {every}", store.path.display()))?;
        }
        for warning in config.warnings() {
            writeln!(f, "warning: {warning}")?;
        }
        Ok(())
    }
}

fn listens(config: &Config, part: &mut Part<'_, '_>) -> fmt::Result {
    let proxy = &config.proxy;
    let ways = [
        ("as a proxy", &*proxy.listen),
        ("as a proxy, by TLS", proxy.tls_listen()),
        ("redirected (REDIRECT)", &proxy.redirect),
        ("transparent (TPROXY)", &proxy.tproxy),
    ];
    for (what, addresses) in ways.into_iter().filter(|(_, addresses)| !addresses.is_empty()) {
        part.line(what, joined(addresses, ""))?;
    }
    if let Some(tls) = &proxy.tls {
        part.line("certificate", tls.certificate.display())?;
        part.line("its key", tls.key.display())?;
    }
    if proxy.trusted.prefixes().next().is_some() {
        part.line("PROXY header from", listed(&proxy.trusted))?;
    }
    let forwarded = match proxy.forwarded {
        Forwarded::Off => "no Forwarded",
        Forwarded::Unknown => "Forwarded: for=unknown",
        Forwarded::Address => "Forwarded: for= the client's address",
    };
    part.line("identifies as", format_args!("Via: {}; {forwarded}", proxy.name))?;
    part.line("name servers", joined(&proxy.nameservers, "the system's"))?;
    part.line("own pages", format_args!("http://{}/", config.pages.host))?;
    let pac = &config.pac;
    let proxies = joined(&pac.proxy, "the address that the file is requested from");
    part.line("PAC proxy", format_args!("{proxies}{}", if pac.falls_back { ", or direct" } else { "" }))?;
    part.line("direct", joined(&pac.direct, "nothing"))
}

fn downlink(config: &Config, part: &mut Part<'_, '_>) -> fmt::Result {
    let downlink = &config.downlink;
    part.line(
        "rate",
        format_args!("{}{}", rate(downlink.rate), if downlink.learn { ", as a first estimate" } else { "" }),
    )?;
    let goodput = downlink.goodput_bytes_per_s();
    part.line("goodput", format_args!("{goodput:.0} bytes/s ({:.1} % of the rate)", downlink.payload * 100.0))?;
    let every = written_time(downlink.probe_every);
    match &downlink.probe {
        Probe::Off => part.line("probe", "off")?,
        probe => part.line("probe", format_args!("{probe}, every {every}"))?,
    }
    part.line("policy", downlink.policy.entry().name)?;
    let given = downlink.policy.as_str().split_once(':').map_or("", |(_, knobs)| knobs);
    let knobs = downlink.policy.entry().knobs.iter().map(|knob| {
        let own = given.split(',').find_map(|pair| pair.strip_prefix(knob.key)?.strip_prefix('='));
        format!("{}={}", knob.key, own.unwrap_or(knob.default))
    });
    part.line("with", joined(knobs, "no knobs"))
}

fn access(config: &Config, part: &mut Part<'_, '_>) -> fmt::Result {
    let access = &config.access;
    part.line("clients", joined(access.clients.prefixes(), ""))?;
    let says = access.passwords.as_ref().map(|path| format!("passwords in {}", path.display()));
    let says = says.or_else(|| access.helper.as_ref().map(asks));
    part.line("authentication", says.as_deref().unwrap_or("none: users are addresses"))?;
    part.line("users of IPv6", format_args!("each /{} is one", access.ipv6_user))?;
    part.line("ports", joined(&access.ports, "any"))?;
    part.line("ports for CONNECT", joined(&access.connect_ports, "none"))?;
    part.line("also allowed", listed(&access.allow))?;
    part.line("denied", listed(&access.deny))
}

fn listed(prefixes: &Prefixes<()>) -> String {
    joined(prefixes.prefixes(), "nothing")
}

/// The program that is used, and how.
fn asks(helper: &Helper) -> String {
    let Helper { program, arguments, processes, channels, timeout } = helper;
    let words = std::iter::once(program.display().to_string()).chain(arguments.iter().cloned());
    let at_once = if *channels > 0 { format!(", {channels} channels each") } else { String::new() };
    format!(
        "asks {}: {processes} processes at most{at_once}, {} each",
        words.collect::<Vec<_>>().join(" "),
        written_time(*timeout)
    )
}

/// A parent's address and what it is used for.
fn by(parent: &Parent) -> String {
    let user = parent.user.as_ref().map_or(String::new(), |user| format!(" as {user}"));
    let hosts = if parent.hosts.is_empty() { "all hosts".into() } else { shown(&parent.hosts) };
    let except = if parent.except.is_empty() { String::new() } else { format!(" except {}", shown(&parent.except)) };
    let direct = if parent.direct { "; directly if it cannot be reached" } else { "" };
    let tls = if parent.tls.is_some() { " by TLS" } else { "" };
    format!("{}{tls}{user}: {hosts}{except}{direct}", parent.written_address())
}

/// The first hosts of a list, and the number of those left out.
fn shown(hosts: &[HostPattern]) -> String {
    let more = hosts.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", joined(hosts.iter().take(SHOWN), ""))
}

/// Maximum number of hosts of a list to show.
const SHOWN: usize = 4;

/// A class's weight and rate, and what belongs to it.
fn who(class: &Class, is_default: bool) -> String {
    let mut who = members(&class.clients, &class.users, &class.groups);
    let mut add = |what: String| {
        who.push_str(if who.is_empty() { "" } else { ", " });
        who.push_str(&what);
    };
    if !class.hosts.is_empty() {
        add(format!("requests to {}", shown(&class.hosts)));
    }
    if is_default {
        add("all others".into());
    }
    if let Some(quota) = &class.beyond {
        add(format!("users beyond the quota {quota}"));
    }
    let at_most = class.rate.map_or(String::new(), |most| format!(", at most {}", rate(most)));
    let others = class.weights.iter().map(|(hours, weight)| format!("; {} at {hours}", weight.as_f64()));
    let others = others.collect::<String>();
    let hours = class.hours.as_ref().map_or(String::new(), |hours| format!(", at {hours} only"));
    format!("weight {}{others}{at_most}{hours}: {who}", class.weight.as_f64())
}

/// The members of a class or a group.
fn members(clients: &[Prefix], users: &[Arc<str>], groups: &[Arc<str>]) -> String {
    let mut who: Vec<_> = clients.iter().map(Prefix::to_string).collect();
    for (what, names) in [("users", users), ("groups", groups)] {
        if !names.is_empty() {
            who.push(format!("{what} {}", names.join(", ")));
        }
    }
    who.join(", ")
}

/// A quota's size, who it applies to, and the consequences.
fn of_quota(quota: &Quota) -> String {
    let per = if quota.per == Per::User { "each user" } else { "each class" };
    let of = if quota.classes.is_empty() { String::new() } else { format!(" of {}", quota.classes.join(", ")) };
    let up = if quota.uploads { ", uploads too" } else { "" };
    let free = quota.free.as_ref().map_or(String::new(), |free| format!(", free at {free}"));
    let beyond = match quota.beyond {
        Beyond::Refuse => "then refused".to_owned(),
        Beyond::Weight(weight) => format!("then weight {}", weight.as_f64()),
    };
    format!("{} for {per}{of} {}{up}{free}; {beyond}", quota.size(), quota.every)
}

fn bounds(config: &Config, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let limits = &config.limits;
    let mut part = Part { f, heading: "limits" };
    part.line("connections", format_args!("{}, per client {}", limits.connections, limits.connections_per_user))?;
    part.line("requests per user", limits.requests_per_user)?;
    part.line("header", format_args!("{} bytes in {} fields", limits.header_bytes, limits.headers))?;
    part.line("idle per server", limits.idle_per_server)?;
    let timeouts = &config.timeouts;
    let mut part = Part { f, heading: "timeouts" };
    for (what, time) in [
        ("header", timeouts.header),
        ("idle", timeouts.idle),
        ("resolve", timeouts.resolve),
        ("connect", timeouts.connect),
        ("response", timeouts.response),
        ("stalled", timeouts.stalled),
        ("tunnel", timeouts.tunnel),
        ("pool", timeouts.pool),
        ("drain", timeouts.drain),
    ] {
        part.line(what, written_time(time))?;
    }
    Ok(())
}

/// A rate in the largest unit that gives at least 1.
fn rate(rate: Rate) -> String {
    let bps = rate.bps();
    let (scale, unit) = match bps {
        1e9.. => (1e9, "Gbit/s"),
        1e6.. => (1e6, "Mbit/s"),
        _ => (1e3, "kbit/s"),
    };
    format!("{} {unit}", bps / scale)
}
