//! From names to addresses that may be reached.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use hickory_resolver::{
    TokioResolver,
    config::{NameServerConfig, ResolverConfig},
    net::runtime::TokioRuntimeProvider,
};
use tokio::time::timeout;

use crate::refusal::Refusal;

/// The most addresses of a name that are tried.
pub(crate) const MOST_ADDRESSES: usize = 4;

/// Asks name servers, and remembers what they said for as long as they allow.
pub(crate) struct Names {
    resolver: TokioResolver,
}

impl Names {
    /// Of these name servers, or of the system's.
    pub(crate) fn new(servers: &[SocketAddr]) -> Result<Self, String> {
        let builder = if servers.is_empty() {
            TokioResolver::builder_tokio().map_err(|error| format!("the system's name servers: {error}"))?
        } else {
            let servers = servers.iter().map(|server| {
                let mut config = NameServerConfig::udp_and_tcp(server.ip());
                for connection in &mut config.connections {
                    connection.port = server.port();
                }
                config
            });
            let config = ResolverConfig::from_parts(None, Vec::new(), servers.collect());
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        };
        let resolver = builder.build().map_err(|error| error.to_string())?;
        Ok(Self { resolver })
    }

    /// Addresses of a host, IPv4 first.
    pub(crate) async fn find(&self, host: &Arc<str>, within: Duration) -> Result<Vec<IpAddr>, Refusal> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![address.to_canonical()]);
        }
        let found = timeout(within, self.resolver.lookup_ip(format!("{host}.")))
            .await
            .map_err(|_| Refusal::NameTimeout(Arc::clone(host)))?;
        let found = found.map_err(|error| Refusal::NoName { host: Arc::clone(host), why: error.to_string() })?;
        let mut addresses: Vec<_> = found.iter().map(|address| address.to_canonical()).collect();
        addresses.sort_by_key(IpAddr::is_ipv6);
        if addresses.is_empty() {
            return Err(Refusal::NoName { host: Arc::clone(host), why: "it has none".into() });
        }
        Ok(addresses)
    }
}
