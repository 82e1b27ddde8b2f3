//! Resolves names to addresses that may be reached.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use hickory_resolver::{
    TokioResolver,
    config::{NameServerConfig, ResolverConfig},
    net::{DnsError, NetError, runtime::TokioRuntimeProvider},
    proto::{op::ResponseCode, rr::Name},
};
use tokio::time::timeout;

use crate::{refusal::Refusal, upstream::alternating};

/// Maximum number of a name's addresses that are tried.
pub(crate) const MAX_ADDRESSES: usize = 4;

/// Queries name servers and caches their answers for as long as they permit.
pub(crate) struct Names {
    resolver: TokioResolver,
}

impl Names {
    /// Uses these name servers, or the system's if empty.
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

    /// Addresses of a host, alternating between families: if there are many, the few that are tried are of both.
    pub(crate) async fn find(&self, host: &Arc<str>, within: Duration) -> Result<Vec<IpAddr>, Refusal> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![address.to_canonical()]);
        }
        let name = name(host).ok_or_else(|| Refusal::NoName { host: Arc::clone(host), why: NO_DNS_NAME.into() })?;
        let found =
            timeout(within, self.resolver.lookup_ip(name)).await.map_err(|_| Refusal::NameTimeout(Arc::clone(host)))?;
        let found = found.map_err(|error| match error {
            NetError::Timeout => Refusal::NameTimeout(Arc::clone(host)),
            error => Refusal::NoName { host: Arc::clone(host), why: in_words(&error) },
        })?;
        let addresses: Vec<_> = found.iter().map(|address| address.to_canonical()).collect();
        if addresses.is_empty() {
            return Err(Refusal::NoName { host: Arc::clone(host), why: NO_ADDRESS.into() });
        }
        Ok(alternating(&addresses))
    }
}

const NO_ADDRESS: &str = "the name exists but has no address";
const NO_DNS_NAME: &str =
    "the DNS cannot have such a name: each part between dots has 1 to 63 characters, and all have 253";

/// The name to query. As text, hickory would refuse what only internationalised names must not have, such as `a_b`.
fn name(host: &str) -> Option<Name> {
    Name::from_labels(host.split('.').map(str::as_bytes)).ok()
}

/// Describes the failure, as the end of a sentence.
fn in_words(error: &NetError) -> String {
    let answered = |code: ResponseCode| match code {
        ResponseCode::NXDomain => "there is no such name".to_owned(),
        ResponseCode::NoError => NO_ADDRESS.to_owned(),
        ResponseCode::Refused => "the name servers refused to answer".to_owned(),
        ResponseCode::ServFail => "the name servers failed (SERVFAIL)".to_owned(),
        other => format!("the name servers answered with error {}", u16::from(other)),
    };
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => answered(none.response_code),
        NetError::Dns(DnsError::ResponseCode(code)) => answered(*code),
        NetError::Io(error) => format!("the name servers cannot be reached: {error}"),
        NetError::NoConnections => "the name servers cannot be reached".into(),
        NetError::Busy => "too many names are being resolved".into(),
        NetError::Proto(_) => "the name servers' response is malformed".into(),
        // There are more kinds than are worth describing; none occurs for a plain query and answer.
        _ => "the query to the name servers failed".into(),
    }
}

#[cfg(test)]
mod tests {
    use hickory_resolver::{
        net::NoRecords,
        proto::{op::Query, rr::RecordType},
    };

    use super::*;

    #[test]
    fn a_name_is_queried_as_it_is_written_if_the_dns_can_have_it() {
        let longest = "a".repeat(63);
        for host in ["example", "a_b.test", "my_bucket.s3.amazonaws.test", "-a.test", "a-.test", "xn--.test", &longest]
        {
            let name = name(host).expect("a name");
            let labels: Vec<_> = name.iter().collect();
            assert_eq!((labels.join(&b'.'), name.is_fqdn()), (host.as_bytes().to_vec(), true));
        }
        let long = vec!["a".repeat(62); 5].join(".");
        for host in ["", ".test", "a..test", &*format!("{longest}a.test"), &long] {
            assert_eq!(name(host), None, "{host}");
        }
    }

    #[tokio::test]
    async fn no_name_server_is_blamed_for_what_is_no_name() {
        // Nothing listens there.
        let names = Names::new(&[([127, 9, 9, 9], 9).into()]).expect("name servers");
        let refusal = names.find(&"a..test".into(), Duration::from_secs(1)).await.expect_err("no name");
        assert!(refusal.to_string().contains("the DNS cannot have such a name"), "{refusal}");
    }

    #[test]
    fn what_happened_is_said_in_words() {
        let name = "a.example.".parse().expect("a name");
        let none = |code| {
            let query = Query::query(Clone::clone(&name), RecordType::A);
            NetError::Dns(DnsError::NoRecordsFound(NoRecords::new(query, code)))
        };
        let io = NetError::Io(Arc::new(std::io::ErrorKind::NetworkUnreachable.into()));
        for (error, words) in [
            (none(ResponseCode::NXDomain), "there is no such name"),
            (none(ResponseCode::NoError), NO_ADDRESS),
            (NetError::Dns(DnsError::ResponseCode(ResponseCode::Refused)), "the name servers refused to answer"),
            (NetError::Dns(DnsError::ResponseCode(ResponseCode::ServFail)), "the name servers failed (SERVFAIL)"),
            (NetError::Dns(DnsError::ResponseCode(ResponseCode::NotImp)), "the name servers answered with error 4"),
            (io, "the name servers cannot be reached: network unreachable"),
            (NetError::Message("Query { name }"), "the query to the name servers failed"),
        ] {
            assert_eq!(in_words(&error), words);
        }
    }
}
