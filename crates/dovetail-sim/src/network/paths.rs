//! Whether there is a way for everything that traffic sends: found before a run, which may meet the gap late or never.

use super::{
    check::{Contradiction, Part},
    routes::Routes,
    spec::{Access, Kind, Network},
};
use crate::workload::clip;

/// A way that is missing.
struct Missing {
    from: usize,
    to: usize,
}

impl Network {
    /// Whether every sender reaches every receiver, and is reached where answers are due. All nodes are known to exist.
    /// O(nodes · links + pairs of senders and receivers).
    pub(super) fn check_paths(&self) -> Result<(), Contradiction> {
        let routes = Routes::new(self.nodes.len(), &self.links);
        let way = |from: usize, to: usize| match routes.next(from, to) {
            Some(_) => Ok(()),
            None => Err(Missing { from, to }),
        };
        let both_ways = |one: usize, other: usize| way(one, other).and_then(|()| way(other, one));
        if let Some(Access { gateway, provider, .. }) = self.access {
            both_ways(gateway, provider).or_else(|missing| Part::Access.wrong(self.no_path(&missing)))?;
        }
        for (at, traffic) in self.traffic.iter().enumerate() {
            let pairs = || traffic.from.iter().flat_map(|&from| traffic.to.iter().map(move |&to| (from, to)));
            let found = match (&traffic.kind, &self.access) {
                (Kind::Requests(_), Some(access)) => {
                    traffic.from.iter().chain(&traffic.to).try_for_each(|&node| both_ways(access.gateway, node))
                }
                (Kind::Datagrams(_), _) => pairs().try_for_each(|(from, to)| way(from, to)),
                _ => pairs().try_for_each(|(from, to)| both_ways(from, to)),
            };
            found.or_else(|missing| self.wrong_traffic(at, &self.no_path(&missing)))?;
        }
        Ok(())
    }

    fn no_path(&self, &Missing { from, to }: &Missing) -> String {
        let name = |node: usize| clip(&self.nodes[node].name);
        format!("there is no path from '{}' to '{}': add a link", name(from), name(to))
    }
}
