//! The parts of a gateway: its state, and the servers, each with the parts that it needs.

use std::rc::Rc;

use tokio::sync::{Notify, watch::Sender};

#[cfg(feature = "test-support")]
use super::control::Counts;
use crate::{
    admin::Seen,
    auth::read_passwords,
    client::Seats,
    config::Config,
    counters::Counters,
    descriptors::Descriptors,
    error::GatewayError,
    exchange::Exchanges,
    listen::Door,
    local_addresses::OwnAddresses,
    log::open_log,
    pages,
    probe::{Probes, Probing},
    quota::{Quotas, Store},
    resolve::Names,
    round_trips::RoundTrips,
    serve::Serving,
    servers::Servers,
    state::{Calendar, ClassByHost, Destinations, Identities, LastServer, Link, Notes, Room, Settings},
    tls::Tls,
    tunnel::Tunnels,
    upstream::Pool,
    watch::Watch,
    ways::Unreached,
};

/// The parts of a gateway.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) settings: Rc<Settings>,
    pub(super) link: Rc<Link>,
    pub(super) calendar: Rc<Calendar>,
    pub(super) identities: Rc<Identities>,
    pub(super) destinations: Rc<Destinations>,
    pub(super) notes: Rc<Notes>,
    pub(super) watch: Rc<Watch>,
    pub(super) quotas: Rc<Quotas>,
    pub(super) seats: Rc<Seats>,
    pub(super) pool: Rc<Pool>,
    pub(super) room: Rc<Room>,
    pub(super) probes: Rc<Probes>,
    pub(super) tls: Rc<Tls>,
    counters: Rc<Counters>,
    round_trips: Rc<RoundTrips>,
    last_server: Rc<LastServer>,
    probing: Rc<Probing>,
    pub(super) unreached: Rc<Unreached>,
    /// Signals that the gateway drains.
    pub(super) stops: Sender<bool>,
    /// Notified when another process has taken over.
    pub(super) taken_over: Rc<Notify>,
}

impl Parts {
    pub(super) fn new(config: Config, descriptors: Descriptors) -> Result<Self, GatewayError> {
        let settings = Rc::new(Settings::new(config));
        let config = settings.config();
        let link = Rc::new(Link::new(Rc::clone(&settings))?);
        let names = Names::new(&config.proxy.nameservers).map_err(GatewayError::Names)?;
        let log = open_log(config.log.as_ref())?;
        let passwords = read_passwords(config.access.passwords.as_deref())?;
        let tls = Rc::new(Tls::read(config.proxy.tls.as_ref())?);
        let identities = Identities::new(Rc::clone(&settings), passwords);
        identities.set_helper(config.access.helper.clone()).map_err(GatewayError::Random)?;
        let own = OwnAddresses::read().map_err(GatewayError::Addresses)?;
        let store = config.store.as_ref().map(|store| Store::open(&store.path)).transpose()?;
        let (watch, seats, pool, counters) = (Rc::default(), Rc::default(), Rc::default(), Rc::default());
        let (round_trips, last_server, probing) = (Rc::default(), Rc::default(), Rc::default());
        Ok(Self {
            identities: Rc::new(identities),
            destinations: Rc::new(Destinations::new(Rc::clone(&settings), names, own)),
            notes: Rc::new(Notes::new(Rc::clone(&settings), log)),
            room: Rc::new(Room::new(descriptors, (&seats, &watch), &pool, &counters)),
            probes: Rc::new(Probes::new(&settings, &link, (&round_trips, &last_server), &probing)),
            quotas: Rc::new(Quotas::new(&settings, &link, store)),
            calendar: Rc::new(Calendar::new(&settings, &link)),
            tls,
            settings,
            link,
            watch,
            seats,
            pool,
            counters,
            round_trips,
            last_server,
            probing,
            unreached: Rc::default(),
            stops: Sender::new(false),
            taken_over: Rc::default(),
        })
    }

    /// The door for clients, with everything that is needed to serve them.
    pub(super) fn door(&self) -> Door {
        let (reach, round_trips) = ((&self.destinations, &self.room), &self.round_trips);
        let noted = (&self.counters, &self.unreached);
        let servers = Rc::new(Servers::new(&self.settings, reach, noted, round_trips));
        let serving = Serving {
            exchanges: Exchanges::new(&self.settings, &servers, &self.link, &self.pool, &self.last_server),
            tunnels: Rc::new(Tunnels::new(&self.settings, &servers, &self.link, &self.watch)),
            towards: Rc::new(ClassByHost::new(&self.settings, &self.destinations)),
            settings: Rc::clone(&self.settings),
            identities: Rc::clone(&self.identities),
            notes: Rc::clone(&self.notes),
            watch: Rc::clone(&self.watch),
            quotas: Rc::clone(&self.quotas),
            seen: pages::Seen::new(&self.link),
            users: Rc::default(),
            stops: self.stops.subscribe(),
        };
        Door::new(Rc::new(serving), &self.tls, &self.seats, (&self.room, &self.counters))
    }

    /// The admin port's view.
    pub(super) fn seen(&self) -> Seen {
        Seen {
            settings: Rc::clone(&self.settings),
            link: Rc::clone(&self.link),
            notes: Rc::clone(&self.notes),
            quotas: Rc::clone(&self.quotas),
            counters: Rc::clone(&self.counters),
            seats: Rc::clone(&self.seats),
            pool: Rc::clone(&self.pool),
            probing: Rc::clone(&self.probing),
            unreached: Rc::clone(&self.unreached),
        }
    }

    #[cfg(feature = "test-support")]
    pub(super) fn counts(&self) -> Counts {
        Counts {
            requests: self.link.dispatcher().live(),
            watched: self.watch.live(),
            connections: self.seats.taken(),
            pooled: self.pool.len(),
            log_lost: self.notes.log_lost(),
        }
    }
}
