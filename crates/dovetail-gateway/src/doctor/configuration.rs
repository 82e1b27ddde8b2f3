//! Writes the findings as a first configuration that states where each value comes from.

use std::{fmt::Write, net::SocketAddr};

use dovetail_toml::values::RATES_BPS;

use super::{Findings, Network};

/// The port that clients connect to.
const PORT: u16 = 3128;

impl Findings {
    /// A configuration that the gateway accepts, if the downlink's rate is known.
    #[must_use]
    pub fn configuration(&self) -> Option<String> {
        let rate = self.rate_bps()?;
        let mut text = String::from(
            "# Written by `dovetail gateway doctor`. All keys and their defaults: docs/gateway-config.md.\n\
             # What it means: dovetail gateway --check --config FILE\n\n",
        );
        // Writing to a string cannot fail.
        let _ = self.parts(&mut text, rate);
        Some(text)
    }

    fn parts(&self, text: &mut String, rate: f64) -> std::fmt::Result {
        let listen: Vec<_> = self.networks.iter().map(|network| SocketAddr::new(network.address, PORT)).collect();
        writeln!(text, "[proxy]")?;
        if listen.is_empty() {
            writeln!(text, "# Your users' side is not known: replace this address by this machine's there.")?;
            writeln!(text, "listen = \"127.0.0.1:{PORT}\"\n")?;
        } else {
            writeln!(
                text,
                "# This machine's addresses, but for those towards the server that the link was measured with."
            )?;
            writeln!(text, "listen = [{}]\n", quoted(listen))?;
        }
        writeln!(text, "[downlink]\n# {}", self.of_rate())?;
        writeln!(text, "rate = \"{}\"", accepted(rate))?;
        match self.probe() {
            Some(tried) => {
                let least = tried.seen.idle.least;
                writeln!(
                    text,
                    "# The nearest that was answered: {:.1} ms at rest{}.",
                    least.as_secs_f64() * 1e3,
                    self.of_buffer()
                )?;
                writeln!(text, "probe = \"{}\"\n", tried.probe.written())?;
            }
            None => {
                writeln!(
                    text,
                    "# No probe was found that measures the far queue; TCP's round-trip times are the last resort."
                )?;
                writeln!(text, "probe = \"tcp\"\n")?;
            }
        }
        if let Some((uplink, rate)) = self.uplink.and_then(|uplink| Some((uplink, uplink.rate_bps()?))) {
            let (mb, took) = (uplink.bytes as f64 / 1e6, uplink.took.as_secs_f64());
            writeln!(
                text,
                "[uplink]\n# Measured: {mb:.1} MB in {took:.1} s. Uploads are sent a little more slowly than this."
            )?;
            writeln!(text, "rate = \"{}\"\n", accepted(rate))?;
        }
        writeln!(text, "[access]")?;
        if self.networks.is_empty() {
            writeln!(text, "# Only this machine itself: put your users' networks here.")?;
            writeln!(text, "clients = [\"127.0.0.0/8\", \"::1\"]\n")?;
        } else {
            writeln!(text, "# The networks of the addresses above. Add others from which users come.")?;
            writeln!(text, "clients = [{}]\n", quoted(self.networks.iter().map(Network::cidr)))?;
        }
        writeln!(text, "# A page that shows what goes on, on this machine only: http://127.0.0.1:9180/")?;
        writeln!(text, "[admin]\nlisten = \"127.0.0.1:9180\"")
    }

    /// States where the rate comes from.
    fn of_rate(&self) -> String {
        let Some(downlink) = self.downlink.filter(|downlink| downlink.throughput.is_some()) else {
            return "As you said: it was not measured. The gateway learns what the link carries from there.".into();
        };
        let (mb, took) = (downlink.bytes as f64 / 1e6, downlink.took.as_secs_f64());
        let server = self.plan.to.as_ref().map(|to| format!(" from {to}")).unwrap_or_default();
        format!(
            "Measured: {mb:.1} MB in {took:.1} s{server}; frames are counted with it. The gateway learns from there."
        )
    }

    fn of_buffer(&self) -> String {
        self.far_buffer().map_or(String::new(), |buffer| {
            format!(", {:.0} ms more while the link was full, which is its far buffer", buffer.as_secs_f64() * 1e3)
        })
    }
}

impl Network {
    /// The network, in the notation of `access.clients`.
    fn cidr(&self) -> String {
        let all = ipnet::IpNet::new(self.address, self.prefix).map(|net| net.trunc());
        all.map_or_else(|_| self.address.to_string(), |net| net.to_string())
    }
}

fn quoted(items: impl IntoIterator<Item = impl ToString>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| format!("\"{}\"", item.to_string())).collect();
    items.join(", ")
}

/// A rate that the gateway accepts.
fn accepted(bps: f64) -> String {
    written(bps.clamp(*RATES_BPS.start(), *RATES_BPS.end()))
}

/// Rounds a rate to three digits, which is more than a measurement is worth.
pub(super) fn written(bps: f64) -> String {
    let digits = 10_f64.powf(bps.log10().floor() - 2.0).max(1.0);
    let bps = (bps / digits).round().max(1.0) * digits;
    let (scale, unit) = match bps {
        1e9.. => (1e9, "Gbps"),
        1e6.. => (1e6, "Mbps"),
        1e3.. => (1e3, "kbps"),
        _ => (1.0, "bps"),
    };
    format!("{}{unit}", (bps / scale * 1e3).round() / 1e3)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        config::{Config, Probe},
        doctor::{Bounds, Direction, Plan, RoundTrips, Seen, Throughput, Tried},
    };

    fn found() -> Findings {
        let trips = |long: u64| RoundTrips {
            sent: 20,
            back: 20,
            least: Duration::from_millis(21),
            median: Duration::from_millis(long),
            long: Duration::from_millis(long),
        };
        let direction = |bytes_per_s| Direction {
            throughput: Some(Throughput { bytes_per_s, spread: 0.01, full_from: Duration::ZERO, before: None }),
            bytes: 2_870_000,
            took: Duration::from_secs(12),
            ended_early: false,
        };
        let seen = Seen { idle: trips(22), down: Some(trips(171)), up: None };
        let at = |address: &str, prefix| Network { address: address.parse().expect("an address"), prefix };
        Findings {
            plan: Plan {
                to: Some("http://203.0.113.9/large".parse().expect("a URL")),
                upload: None,
                probes: Vec::new(),
                rate: None,
                bounds: Bounds::default(),
            },
            server: None,
            tried: vec![Tried { probe: "10.99.0.1".parse().expect("a probe"), seen }],
            chosen: Some(0),
            downlink: Some(direction(239_100.0)),
            uplink: Some(direction(61_200.0)),
            machine: Vec::new(),
            networks: vec![at("10.1.0.1", 16), at("2001:db8::1", 64)],
        }
    }

    #[test]
    fn what_is_written_is_what_the_gateway_reads() {
        let text = found().configuration().expect("a configuration");
        let config = Config::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(config.downlink.rate.bps(), 2e6, "{text}");
        assert_eq!(config.uplink.as_ref().map(|uplink| uplink.rate.bps()), Some(512e3));
        assert_eq!(config.downlink.probe, Probe::Icmp("10.99.0.1".parse().expect("an address")));
        assert_eq!(config.proxy.listen.len(), 2);
        assert!(config.access.clients.contains("10.1.255.9".parse().expect("an address")), "{text}");
        assert!(text.contains("2.9 MB in 12.0 s from http://203.0.113.9/large"), "{text}");
        assert!(text.contains("21.0 ms at rest, 150 ms more while the link was full"), "{text}");
        assert_eq!(config.warnings(), Vec::<String>::new());
    }

    #[test]
    fn a_link_of_any_rate_and_addresses_of_one_network_are_accepted() {
        let at = |address: &str, prefix| Network { address: address.parse().expect("an address"), prefix };
        for bytes_per_s in [0.05, 100.0, 124.9, 7e3, 1.24e11, 1e12] {
            let found = found();
            let throughput = Some(Throughput { bytes_per_s, spread: 0.0, full_from: Duration::ZERO, before: None });
            let direction = found.downlink.map(|downlink| Direction { throughput, ..downlink });
            let networks = vec![at("2001:db8::1", 64), at("2001:db8::abcd", 64), at("10.8.0.1", 32)];
            let found = Findings { downlink: direction, uplink: direction, networks, ..found };
            let text = found.configuration().expect("a configuration");
            let config = Config::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(config.warnings(), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_said() {
        let nothing = Findings { chosen: None, downlink: None, uplink: None, networks: Vec::new(), ..found() };
        assert_eq!(nothing.configuration(), None, "there is no rate");
        let rate = dovetail_sched::units::parse_rate("2Mbps").expect("a rate");
        let said = Findings { plan: Plan { rate: Some(rate), ..nothing.plan.clone() }, ..nothing };
        let text = said.configuration().expect("a configuration");
        let config = Config::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!((config.downlink.probe, config.uplink.is_none()), (Probe::Tcp, true));
        assert!(text.contains("As you said") && text.contains("put your users' networks here"), "{text}");
    }

    #[test]
    fn rates_have_three_digits_and_are_read_again() {
        for (bps, text) in
            [(2_000_100.0, "2Mbps"), (9_873_210.0, "9.87Mbps"), (512_345.0, "512kbps"), (1e9, "1Gbps"), (0.4, "1bps")]
        {
            assert_eq!(written(bps), text);
            assert!(dovetail_sched::units::parse_rate(text).is_ok());
        }
    }
}
