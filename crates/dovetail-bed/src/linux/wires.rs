//! Links, addresses and queues between the four namespaces.

use std::{io, net::Ipv4Addr, time::Duration};

use dovetail_netns::{Namespace, run, tool};

use super::{delay::DelayLine, tun};
use crate::{BedError, BedSpec};

/// The gateway's address towards users.
pub(super) const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// The provider's address towards the gateway.
pub(super) const PROVIDER: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
/// The provider's device in front of which the downlink's queue is.
pub(super) const DOWNLINK: &str = "down0";
/// The gateway's device towards the provider.
const UPLINK: &str = "up0";
/// With more users than this, the gateway cannot have a neighbour entry for each.
const CROWD: u32 = 500;

/// A user's address; class and user are counted from 0.
pub(super) fn user_address(class: usize, user: u32) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, class as u8 + 1, user as u8 + 1)
}

/// A server's address; servers are counted from 0.
pub(super) fn server_address(origin: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 200, 0, origin as u8 + 1)
}

/// The four namespaces, in the order of [`crate::Place`].
pub(super) struct Namespaces<'a> {
    pub(super) clients: &'a Namespace,
    pub(super) gateway: &'a Namespace,
    pub(super) provider: &'a Namespace,
    pub(super) servers: &'a Namespace,
}

fn ip(namespace: &Namespace, words: &str) -> Result<(), BedError> {
    Ok(tool("ip", &format!("-n {} {words}", namespace.name())).map(drop)?)
}

/// Sets up all links; the delay line runs until the returned value is dropped.
///
/// # Errors
/// If the kernel or its tools refuse.
pub(super) fn lay(bed: &BedSpec, all: &Namespaces<'_>) -> Result<DelayLine, BedError> {
    let Namespaces { clients, gateway, provider, servers } = *all;
    for namespace in [clients, gateway, provider, servers] {
        settle(namespace)?;
    }
    // With many users, the gateway sees a single neighbour: the kernel allows a thousand, for all namespaces together.
    let is_crowd = bed.users.iter().sum::<u32>() > CROWD;
    let lan = if is_crowd { "10.0.0.1/24" } else { "10.0.0.1/16" };
    veth((clients, "lan0", "10.0.0.254/16"), (gateway, "lan0", lan))?;
    if is_crowd {
        ip(gateway, "route add 10.0.0.0/16 via 10.0.0.254")?;
    }
    veth((gateway, UPLINK, "10.99.0.2/30"), (provider, DOWNLINK, "10.99.0.1/30"))?;
    for (class, &users) in bed.users.iter().enumerate() {
        for user in 0..users {
            ip(clients, &format!("address add {}/16 dev lan0", user_address(class, user)))?;
        }
    }
    for origin in 0..bed.round_trips.len() {
        ip(servers, &format!("address add {}/32 dev lo", server_address(origin)))?;
    }
    let line = delay(bed, provider, servers)?;
    for (namespace, route) in [
        (clients, "default via 10.0.0.1"),
        (gateway, "default via 10.99.0.1"),
        (provider, "10.0.0.0/16 via 10.99.0.2"),
        (provider, "10.200.0.0/24 dev far0"),
        (servers, "default dev near0"),
    ] {
        ip(namespace, &format!("route add {route}"))?;
    }
    bottleneck(provider, DOWNLINK, bed.rate_bps, burst_bytes(bed.rate_bps), bed.buffer_packets)?;
    if let Some(up) = bed.uplink {
        bottleneck(gateway, UPLINK, up.rate_bps, burst_bytes(up.rate_bps), up.buffer_packets)?;
    }
    if bed.gso {
        join(provider, gateway)?;
    }
    if let Some(bps) = bed.lan_bps {
        bottleneck(gateway, "lan0", bps, 10 * 1514, 1000)?;
    }
    deepen(bed, servers)?;
    Ok(line)
}

/// Settings common to all namespaces.
fn settle(namespace: &Namespace) -> Result<(), BedError> {
    ip(namespace, "link set lo up")?;
    for (key, value) in [
        ("ipv4/ip_forward", "1"),
        ("ipv4/conf/all/rp_filter", "0"),
        ("ipv4/conf/default/rp_filter", "0"),
        // Nothing learnt about a path may carry over to the next run.
        ("ipv4/tcp_no_metrics_save", "1"),
        // The only one that every namespace may use by default; servers choose theirs per socket.
        ("ipv4/tcp_congestion_control", "reno"),
        ("ipv4/ip_local_port_range", "10240 65000"),
    ] {
        namespace.set(key, value)?;
    }
    // There may be no IPv6 to disable.
    let _ = namespace.set("ipv6/conf/all/disable_ipv6", "1");
    Ok(())
}

type End<'a> = (&'a Namespace, &'a str, &'a str);

/// Links two namespaces.
fn veth(one: End<'_>, other: End<'_>) -> Result<(), BedError> {
    let peer = other.0.name();
    ip(one.0, &format!("link add {} type veth peer name {} netns {peer}", one.1, other.1))?;
    for (namespace, device, address) in [one, other] {
        // Packets have wire size from the start: the queue counts packets, and would count a train of them as one.
        ip(namespace, &format!("link set dev {device} gso_max_segs 1 up"))?;
        ip(namespace, &format!("address add {address} dev {device}"))?;
    }
    Ok(())
}

/// Puts the delays of their round trips between provider and servers.
fn delay(bed: &BedSpec, provider: &Namespace, servers: &Namespace) -> Result<DelayLine, BedError> {
    let open = |namespace: &Namespace, device: &'static str| {
        namespace.within(move || tun::open(device)).map_err(BedError::NoTun)
    };
    let (far, near) = (open(provider, "far0")?, open(servers, "near0")?);
    for (namespace, device) in [(provider, "far0"), (servers, "near0")] {
        ip(namespace, &format!("link set dev {device} txqueuelen 10000 gso_max_segs 1 up"))?;
    }
    let half = |(origin, &trip): (usize, &Duration)| (server_address(origin), trip / 2);
    let one_way: Vec<_> = bed.round_trips.iter().enumerate().map(half).collect();
    DelayLine::new(far, near, &one_way).map_err(BedError::system("the delay line"))
}

/// The bucket's burst: two full frames, or what a fast link sends in a millisecond, so that it can keep its rate between two
/// kernel ticks.
fn burst_bytes(bps: u64) -> u64 {
    (2 * 1514).max(bps / 8000)
}

/// Puts a token bucket in front of a device, and a queue that drops packets that do not fit.
fn bottleneck(namespace: &Namespace, device: &str, bps: u64, burst: u64, packets: u32) -> Result<(), BedError> {
    tc(namespace, &format!("add dev {device} {}", bucket(bps, burst)))?;
    tc(namespace, &format!("add dev {device} {}", queue(packets)))
}

/// Changes the downlink's rate; queued packets stay queued.
///
/// # Errors
/// Those of `tc`.
pub(super) fn change_downlink(provider: &Namespace, bps: u64, packets: u32) -> Result<(), BedError> {
    tc(provider, &format!("change dev {DOWNLINK} {}", bucket(bps, burst_bytes(bps))))?;
    // A change of rate makes the kernel apply the bucket's limit in bytes to the queue, which counts packets.
    tc(provider, &format!("change dev {DOWNLINK} {}", queue(packets)))
}

fn tc(namespace: &Namespace, words: &str) -> Result<(), BedError> {
    Ok(tool("tc", &format!("-n {} qdisc {words}", namespace.name())).map(drop)?)
}

/// The bucket's own limit, in bytes, is never reached: the queue's is.
fn bucket(bps: u64, burst: u64) -> String {
    format!("root handle 1: tbf rate {bps}bit burst {burst} limit 1000000000")
}

fn queue(packets: u32) -> String {
    format!("parent 1:1 handle 10: pfifo limit {packets}")
}

/// Makes the gateway's device merge packets that arrive within two milliseconds, like interrupt coalescing in a network card. A
/// veth device merges only packets from a sender that could not have sent them as one.
fn join(provider: &Namespace, gateway: &Namespace) -> Result<(), BedError> {
    const FLUSH: &str = "2000000";
    for (namespace, command) in [
        (provider, format!("ethtool -K {DOWNLINK} tso off")),
        (gateway, format!("ethtool -K {UPLINK} gro on")),
        (gateway, format!("echo {FLUSH} > /sys/class/net/{UPLINK}/gro_flush_timeout")),
        (gateway, format!("echo 1 > /sys/class/net/{UPLINK}/napi_defer_hard_irqs")),
    ] {
        // /sys shows a namespace's devices only to processes that `ip` starts there.
        run("ip", &["netns", "exec", namespace.name(), "sh", "-c", &command])?;
    }
    Ok(())
}

/// Lets servers keep as much unacknowledged data as is in flight to the farthest of them and back, and the same again for
/// losses; the kernel counts twice the bytes.
fn deepen(bed: &BedSpec, servers: &Namespace) -> Result<(), BedError> {
    const KEY: &str = "ipv4/tcp_wmem";
    let farthest = bed.round_trips.iter().max().copied().unwrap_or_default();
    let needed = (4.0 * bed.rate_bps as f64 / 8.0 * farthest.as_secs_f64()).min(f64::from(1 << 30)) as u64;
    let set = servers.read(KEY)?;
    let words: Vec<&str> = set.split_whitespace().collect();
    match words[..] {
        [least, first, most] if most.parse().is_ok_and(|most: u64| most < needed) => {
            Ok(servers.set(KEY, &format!("{least} {first} {needed}"))?)
        }
        _ => Ok(()),
    }
}

/// Opens a socket for each server in their namespace.
///
/// # Errors
/// Those of `listen`.
pub(super) fn each_server<T: Send>(
    bed: &BedSpec,
    servers: &Namespace,
    listen: impl Fn(Ipv4Addr) -> io::Result<T> + Sync,
) -> io::Result<Vec<T>> {
    servers.within(|| (0..bed.round_trips.len()).map(|origin| listen(server_address(origin))).collect())
}
