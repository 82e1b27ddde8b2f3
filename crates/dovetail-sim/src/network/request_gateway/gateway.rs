//! A gateway that schedules requests, as a model of users' access: its packets and its events.

use dovetail_sched::{
    Nanos,
    request::{ClassId, FarQueue, RequestScheduler, RequestSetup, RequestSpec, UserId},
};

use super::{
    relay::Relay,
    told::{GatewayNet, Part, Told},
    uplink::Uplink,
    user::User,
    users::Users,
};
use crate::network::{
    access_model::AccessModel,
    addresses::port,
    agenda::Event,
    error::NetworkError,
    net::Turned,
    outcome::AccessOutcome,
    packets::{EndId, Of},
    spec::{Access, AccessUplink, Network},
};

/// Length of a probe: an ICMP echo with 8 bytes of data has 36, a UDP packet with a number and a time 44; rounded up.
const PROBE_BYTES: u32 = 64;
/// The port of the echo service (RFC 862).
const ECHO: u16 = 7;
/// Interval at which the scheduler's figures are recorded.
const NOTE_EVERY: Nanos = Nanos::from_secs(1);
/// Interval at which the bytes sent up are checked.
const LOOK_EVERY: Nanos = Nanos::from_secs(1);
const LEARN_EVERY: Nanos = Nanos::from_millis(100);
/// Limit of records: a little more than a day's.
const MAX_NOTES: usize = 100_000;

/// What the scheduler of a gateway is built from.
pub(super) fn setup(access: &Access, network: &Network) -> RequestSetup {
    let rate = access.capacity_bytes_per_s.unwrap_or(network.goodput_bytes_per_s());
    // Response lengths passed to the scheduler include the header.
    RequestSetup { overhead: 0, ..RequestSetup::for_bytes(rate) }
}

/// A gateway.
pub(in crate::network) struct RequestGateway<'a> {
    relay: Relay<'a>,
    far: FarQueue,
    notes: Vec<(Nanos, Vec<(&'static str, f64)>)>,
}

impl<'a> RequestGateway<'a> {
    /// A gateway under this request policy; schedules its and its users' first events.
    pub(in crate::network) fn begin(
        access: &'a Access,
        policy: &RequestSpec,
        net: &mut GatewayNet<'a>,
    ) -> Result<Self, NetworkError> {
        let setup = setup(access, net.spec);
        Self::under(access, (policy.build(&setup)?, setup), net)
    }

    /// A gateway under this scheduler, which was built from that setup.
    pub(super) fn under(
        access: &'a Access,
        (mut scheduler, setup): (Box<dyn RequestScheduler>, RequestSetup),
        net: &mut GatewayNet<'a>,
    ) -> Result<Self, NetworkError> {
        let spec = net.spec;
        let given = access.uplink.map(|AccessUplink { rate, learns }| (spec.payload_bytes_per_s(rate), learns));
        let mut uplink = Uplink::new(given, setup.rate)?;
        let mut users = Vec::new();
        let classes = || (0..spec.traffic.len()).filter(|&at| spec.requests(at).is_some() && spec.class_of(at) == at);
        // All classes before any user: a user may belong to a class that is declared later.
        for scheduler in [Some(&mut scheduler), uplink.pacer.as_mut()].into_iter().flatten() {
            for at in classes() {
                scheduler.set_class(ClassId(at as u32), spec.traffic[at].weight, Nanos::ZERO);
            }
        }
        for (at, node) in spec.users() {
            let (user, class) = (UserId(users.len() as u32), ClassId(spec.class_of(at) as u32));
            for scheduler in [Some(&mut scheduler), uplink.pacer.as_mut()].into_iter().flatten() {
                scheduler.set_user(user, class, Nanos::ZERO);
            }
            users.push(User::new(spec, at, node, net.addresses.dynamic(node), users.len()));
        }
        let mut users = Users::new(spec, users);
        users.begin(net);
        if let Some(period) = access.probe {
            net.agenda.add(period, Event::Access(Told::Probe));
        }
        net.agenda.add(NOTE_EVERY, Event::Access(Told::Note));
        if spec.has_uploads() {
            net.agenda.add(LOOK_EVERY, Event::Access(Told::Look));
            if uplink.learns() {
                net.agenda.add(LEARN_EVERY, Event::Access(Told::Learn));
            }
        }
        let relay = Relay::new(access, scheduler, setup, uplink, users);
        Ok(Self { relay, far: FarQueue::default(), notes: Vec::new() })
    }

    /// Sends a probe, and reports what is known of the far queue without its answer.
    fn probe(&mut self, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        let access = self.relay.access;
        let number = self.far.probe(net.now);
        self.tell_far_queue(net.now);
        if let Some(period) = access.probe {
            net.agenda.add(net.now + period, Event::Access(Told::Probe));
        }
        self.send_probe([access.gateway, access.provider], number, net)
    }

    fn send_probe(
        &mut self,
        [from, to]: [usize; 2],
        number: u64,
        net: &mut GatewayNet<'_>,
    ) -> Result<(), NetworkError> {
        net.send_alone(
            [from, to],
            [from, to].map(|node| port(node, ECHO)),
            PROBE_BYTES,
            Of::Access(Part::Probe(number)),
            net.spec.probes(),
        )
    }

    /// A probe is at one end of the link.
    fn probed(&mut self, number: u64, at: usize, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        let gateway = self.relay.access.gateway;
        if at != gateway {
            return self.send_probe([at, gateway], number, net);
        }
        self.far.back(number, net.now);
        self.tell_far_queue(net.now);
        Ok(())
    }

    fn tell_far_queue(&mut self, now: Nanos) {
        self.relay.scheduler.far_queue(self.far.delay(now), now);
        self.relay.is_asked = true;
    }

    fn note(&mut self, net: &mut GatewayNet<'_>) {
        let mut figures = Vec::new();
        self.relay.scheduler.figures(&mut |name, value| figures.push((name, value)));
        self.notes.push((net.now, figures));
        if self.notes.len() < MAX_NOTES {
            net.agenda.add(net.now + NOTE_EVERY, Event::Access(Told::Note));
        }
    }
}

impl AccessModel for RequestGateway<'_> {
    type Event = Told;
    type Part = Part;

    fn happen(&mut self, event: Told, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        match event {
            Told::User(user) => {
                if let Some(exchange) = self.relay.users.wants(user, net)? {
                    self.relay.ask(exchange, net)?;
                }
            }
            Told::Cancels(exchange) => self.relay.cancels(exchange, net)?,
            Told::Poll => self.relay.is_asked = true,
            Told::UserIdle(user) => self.relay.closes_idle_users(user, net)?,
            Told::ServerIdle(server) => self.relay.closes_idle_servers(server, net)?,
            Told::Look => {
                self.relay.look_up(net.now);
                net.agenda.add(net.now + LOOK_EVERY, Event::Access(Told::Look));
            }
            Told::Learn => {
                self.relay.learn_uplink(self.far.delay(net.now).map(|far| far.delay), net);
                net.agenda.add(net.now + LEARN_EVERY, Event::Access(Told::Learn));
            }
            Told::Probe => self.probe(net)?,
            Told::Note => self.note(net),
        }
        Ok(())
    }

    fn is_asked(&self) -> bool {
        self.relay.is_asked
    }

    fn serve(&mut self, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        self.relay.serve(net)
    }

    fn turned(&mut self, id: EndId, turned: &Turned<Part>, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        self.relay.turned(id, turned, net)
    }

    fn arrived(&mut self, part: Part, at: usize, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        match part {
            Part::Asks(exchange) => self.relay.asked(exchange, net),
            Part::Answers { exchange, payload } => self.relay.answered(exchange, payload.into(), net),
            Part::Probe(number) => self.probed(number, at, net)?,
            // These are sent over TCP.
            Part::Exchange | Part::OverTcp => {}
        }
        Ok(())
    }

    fn strayed(&mut self, at: usize, bytes: u64, net: &GatewayNet<'_>) {
        if at == self.relay.access.gateway {
            self.relay.scheduler.stray(None::<ClassId>, bytes, net.now);
            self.relay.is_asked = true;
        }
    }

    fn lost(&mut self, part: Part) {
        if let Part::Asks(exchange) | Part::Answers { exchange, .. } = part {
            self.relay.users.loses(exchange);
        }
    }

    fn is_waited_for(&self, net: &GatewayNet<'_>) -> bool {
        self.relay.users.is_waited_for(net.now)
    }

    fn is_satisfied(&self, net: &GatewayNet<'_>) -> bool {
        self.relay.users.is_satisfied(net.now)
    }

    fn finish(self) -> Option<AccessOutcome> {
        Some(AccessOutcome {
            notes: self.notes,
            lost_probes: self.far.lost(),
            dialled: self.relay.dialled(),
            users_dialled: self.relay.users_dialled(),
            most_held_bytes: self.relay.most_held(),
            ..self.relay.users.outcome
        })
    }
}
