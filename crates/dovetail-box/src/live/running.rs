//! The loop.

use std::{collections::VecDeque, sync::Arc};

use dovetail_sched::{Admission, Demand, FlowId, Nanos, Packet, Scheduler, cost::ProgramTable, units::Rate};
use dovetail_stats::Histogram;

use super::{
    LiveError,
    busiest::Busiest,
    classes::Classes,
    clock,
    control::{Answer, Asked, Command, Control, pair},
    counters::{ClassCounters, Oddities},
    flows::Flows,
    frames::{Frame, Frames},
    marks::marks,
    port::Port,
    privileges,
    programs::Programs,
    start::{self, ALIVE_FOR},
    status::Status,
    switch::Switch,
    sys::Received,
    waiting::Waiting,
    watch::{Arrived, Watch},
};
use crate::{
    config::{self, Config, Segments},
    functions::frame::Version,
    node::{Action, Link, Node, Outcome, Pace, Passage, Room, Work},
    wire::{self, Refused, offload::Offload, tag},
};

/// Frames of an interface, and actions of the node, that one round takes: few enough that no interface waits long, many
/// enough that a system call is shared.
const ROUND: usize = 64;
/// Frames that may be ready to leave before the node is asked for more.
const MOST_OUTGOING: usize = 4 * ROUND;
/// How often the box tells of itself.
const TELL_EVERY: Nanos = Nanos::from_millis(200);
/// How often it looks whether programs are compiled, while it waits for some.
const LOOK_EVERY: Nanos = Nanos::from_millis(2);
/// How long a box that is told to stop goes on sending what is queued.
const MOST_DRAIN: Nanos = Nanos::from_secs(1);

/// How often a sender is told that its packet is too long (a limit that RFC 4443, 2.4 (f) demands): senders need one answer a
/// path.
const ANSWER_EVERY: Nanos = Nanos::from_millis(1);

/// The longest time in the box that is told from longer ones, in nanoseconds.
const MOST_LATENCY: u64 = 100_000_000_000;

/// A box between two interfaces. Its thread is in their namespace.
pub struct Live {
    config: Config,
    switch: Switch,
    inner: Inner,
    waiting: Waiting,
    asked: Asked,
    tell_at: Nanos,
    programs: Option<Programs>,
    /// Configurations that wait for their programs, and who waits for them. The folder is being loaded for the first.
    pending: VecDeque<(Box<Config>, Answer)>,
    look_at: Nanos,
}

/// What a frame passes through.
struct Inner {
    ports: [Port; 2],
    node: Node,
    flows: Flows,
    classes: Classes,
    frames: Frames,
    counters: Vec<ClassCounters>,
    latencies: Vec<Histogram>,
    busiest: Arc<Busiest>,
    names: Vec<Arc<str>>,
    started: Nanos,
    oddities: Oddities,
    toward: usize,
    segments: Segments,
    /// By how much functions may make a packet longer.
    growth_bytes: u32,
    watchers: Vec<Box<dyn Watch>>,
    /// Packets that were offered to the policy so far.
    offered: u64,
    /// The answer to a packet that is too long, while it is made.
    answer: Vec<u8>,
    /// When the last one was sent.
    answered_at: Nanos,
}

impl Live {
    /// A box that is ready to [`run`](Self::run), and what steers it. Moves the calling thread into the namespace of the
    /// interfaces; frames are the bridge's until it runs.
    ///
    /// # Errors
    /// What lacks, and what to do.
    pub fn open(config: Config) -> Result<(Self, Control), LiveError> {
        // Compiled while the bridge carries traffic, and on a thread that stays behind when this one goes before others.
        let programs = Programs::open(&config)?;
        start::enter_namespace(&config)?;
        let (switch, ports) = start::open_ports(&config)?;
        let mut classes = Classes::new(&config, programs.as_ref());
        classes.fill(programs.as_ref(), None);
        let inner = Inner {
            ports,
            node: start::node(&config, &classes)?,
            flows: Flows::new(&config.queues, clock::now())?,
            frames: Frames::default(),
            counters: vec![ClassCounters::default(); config.classes.len()],
            latencies: vec![Histogram::fixed(MOST_LATENCY); config.classes.len()],
            busiest: Arc::default(),
            started: clock::now(),
            names: names(&config),
            oddities: Oddities::default(),
            toward: config.toward.index(),
            segments: config.segments,
            growth_bytes: classes.growth_bytes(),
            watchers: Vec::new(),
            offered: 0,
            answer: Vec::new(),
            answered_at: Nanos::ZERO,
            classes,
        };
        let (control, asked) = pair();
        let waiting = Waiting::new(config.wait);
        let (tell_at, look_at) = (Nanos::ZERO, Nanos::ZERO);
        let pending = VecDeque::new();
        Ok((Self { config, switch, inner, waiting, asked, tell_at, programs, pending, look_at }, control))
    }

    /// Has every packet shown to `watch` as well, on the box's own thread.
    pub fn watch(&mut self, watch: Box<dyn Watch>) {
        self.inner.watchers.push(watch);
    }

    /// Runs until it is told to stop.
    ///
    /// # Errors
    /// What makes it impossible to go on. The bridge carries traffic on.
    pub fn run(mut self) -> Result<(), LiveError> {
        start::settle_in(&self.config)?;
        self.switch.take_over(clock::now(), ALIVE_FOR);
        for port in &self.inner.ports {
            port.bind()?;
        }
        privileges::drop_capabilities();
        loop {
            let mut now = clock::now();
            if !self.switch.renew(now, ALIVE_FOR) {
                self.start_over()?;
                now = clock::now();
                self.switch.take_over(now, ALIVE_FOR);
            }
            let is_busy = self.inner.round(now);
            while let Some(command) = self.asked.next() {
                match command {
                    Command::Stop => return self.stop(),
                    Command::Reload(config, answer) => self.reload(config, answer),
                    Command::Retune(policy, answer) => drop(answer.send(self.retune(&policy))),
                }
            }
            if !self.pending.is_empty() && now >= self.look_at {
                self.look_at = now + LOOK_EVERY;
                self.go_on_reloading();
            }
            if now >= self.tell_at {
                self.tell_at = now + TELL_EVERY;
                self.asked.tell(self.inner.status(now, &self.config));
            }
            if is_busy {
                self.waiting.busy(now);
            } else {
                // Frames that wait for room keep the node from going on.
                let due = if self.inner.is_blocked() { None } else { self.inner.node.poll_at() };
                self.waiting.wait(&self.inner.ports, due, now)?;
            }
        }
    }

    /// The bridge has taken over meanwhile: what is here is older than what it has forwarded.
    fn start_over(&mut self) -> Result<(), LiveError> {
        let inner = &mut self.inner;
        for port in &mut inner.ports {
            port.empty();
        }
        inner.oddities.lapses += 1;
        let Inner { frames, counters, watchers, .. } = inner;
        frames.clear(|class, number| {
            counters[usize::from(class)].lapsed += 1;
            watchers.iter_mut().for_each(|watch| watch.dropped(number));
        });
        inner.flows = Flows::new(&self.config.queues, clock::now())?;
        let mut node = start::node(&self.config, &inner.classes)?;
        node.carry_on(&mut inner.node);
        inner.node = node;
        tracing::warn!("the box was kept from running for over {ALIVE_FOR}, and the bridge took over meanwhile");
        Ok(())
    }

    /// Sends what is queued as fast as it can, and hands over.
    fn stop(mut self) -> Result<(), LiveError> {
        let inner = &mut self.inner;
        inner.hurry();
        let until = clock::now() + MOST_DRAIN;
        loop {
            let now = clock::now();
            if !self.switch.renew(now, ALIVE_FOR) {
                return self.start_over();
            }
            let is_busy = inner.round(now);
            if (!is_busy && inner.is_empty()) || now >= until {
                break;
            }
        }
        self.switch.hand_over();
        // What the sockets took before that is the box's to send.
        while inner.round(clock::now()) && clock::now() < until + MOST_DRAIN {}
        let now = clock::now();
        self.asked.tell(inner.status(now, &self.config));
        Ok(())
    }

    /// Goes by another configuration, once its programs are there.
    fn reload(&mut self, config: Box<Config>, answer: Answer) {
        if let Err(wrong) = self.can_become(&config) {
            drop(answer.send(Err(wrong)));
        } else if let Some(programs) = &mut self.programs {
            if self.pending.is_empty() {
                programs.reload();
            }
            self.pending.push_back((config, answer));
        } else {
            drop(answer.send(self.become_like(*config)));
        }
    }

    /// Looks whether the programs of the first pending configuration are there.
    fn go_on_reloading(&mut self) {
        let Some(programs) = &mut self.programs else { return };
        if !programs.poll() {
            return;
        }
        if let Some((config, answer)) = self.pending.pop_front() {
            if !self.pending.is_empty() {
                programs.reload();
            }
            drop(answer.send(self.become_like(*config)));
        }
    }

    fn can_become(&self, config: &Config) -> Result<(), String> {
        let fixed = [
            ("box.inside and box.outside", config.interfaces != self.config.interfaces),
            ("box.on_failure", config.on_failure != self.config.on_failure),
            ("box.toward", config.toward != self.config.toward),
            ("cpu.core", config.cpu.core != self.config.cpu.core),
            ("link.pace", config.link.pace != self.config.link.pace),
            ("queues.flows and queues.timeout", {
                let (new, old) = (&config.queues, &self.config.queues);
                (new.flows, new.timeout) != (old.flows, old.timeout)
            }),
            ("[programs]", config.programs != self.config.programs),
            ("[admin]", config.admin != self.config.admin),
        ];
        match fixed.iter().find(|(_, is_changed)| *is_changed) {
            Some((what, _)) => Err(format!("{what} cannot be changed while the box runs: start it anew")),
            None => Ok(()),
        }
    }

    fn become_like(&mut self, config: Config) -> Result<(), String> {
        let mut classes = Classes::new(&config, self.programs.as_ref());
        let mut programs = classes.programs();
        if let Some(learning) = self.inner.node.scheduler().learning() {
            // What was learnt of a program holds for its other versions no more.
            let learnt = learning.learnt();
            let known = learnt.programs().iter();
            let known = known.filter(|program| classes.does_the_same(&self.inner.classes, &program.name));
            programs.take_over(&ProgramTable::new(known.cloned().collect()));
        }
        let is_same = config.policy == self.config.policy
            && config.queues == self.config.queues
            && names(&config) == self.inner.names
            && classes.all_do_the_same(&self.inner.classes);
        let next =
            if is_same { None } else { Some(start::scheduler(&config, programs).map_err(|wrong| wrong.to_string())?) };
        classes.fill(self.programs.as_ref(), Some(&mut self.inner.classes));
        self.inner.change(&config, classes, next);
        self.waiting.set(config.wait);
        self.config = config;
        Ok(())
    }

    fn retune(&mut self, policy: &str) -> Result<(), String> {
        let spec = Config::policy(policy)?;
        let now = clock::now();
        self.inner.node.scheduler().retune(&spec.knobs(), now).map_err(|wrong| wrong.to_string())?;
        self.config.policy = spec;
        Ok(())
    }
}

fn names(config: &Config) -> Vec<Arc<str>> {
    config.classes.iter().map(|class| class.name.clone()).collect()
}

impl Inner {
    /// Settles, receives, sends; whether there was anything to do.
    fn round(&mut self, now: Nanos) -> bool {
        let settled = self.settle(now);
        let received = self.receive(1 - self.toward, clock::now()) + self.pass_on(self.toward);
        let settled = self.settle(clock::now()) || settled;
        let had_outgoing = self.ports.iter().any(Port::has_outgoing);
        for port in &mut self.ports {
            port.flush(&mut self.frames);
        }
        if self.node.link().pace == Pace::Device && !self.ports[self.toward].has_outgoing() {
            self.node.link_freed(clock::now());
        }
        let has_sent = had_outgoing && !self.ports.iter().any(Port::has_outgoing);
        settled || received > 0 || has_sent
    }

    fn is_blocked(&self) -> bool {
        self.ports[self.toward].outgoing() >= MOST_OUTGOING
    }

    fn is_empty(&self) -> bool {
        self.node.is_empty() && !self.ports.iter().any(Port::has_outgoing)
    }

    /// Does what is due at the node.
    fn settle(&mut self, mut now: Nanos) -> bool {
        for done in 0..ROUND {
            if self.is_blocked() {
                return done > 0;
            }
            match self.node.poll(now) {
                None => return done > 0,
                Some(Action::Work(work)) => {
                    let (took, outcome) = self.work(&work);
                    self.node.worked(took, outcome);
                    now = clock::now();
                }
                Some(Action::Send(passage)) => self.send(&passage),
            }
        }
        true
    }

    fn work(&mut self, work: &Work) -> (Nanos, Outcome) {
        let handle = work.handle;
        let Some(frame) = self.frames.get_mut(handle) else { return (Nanos::ZERO, Outcome::Drop) };
        let counters = &mut self.counters[usize::from(frame.class)];
        let worked = self.classes.work(frame.class, &mut frame.bytes, counters);
        let had = self.flows.had(work.flow);
        had.cpu += worked.took;
        counters.cpu += worked.took;
        counters.preempted += u64::from(worked.is_preempted);
        if !worked.goes_on {
            counters.refused += 1;
            let number = frame.number;
            had.dropped += 1;
            self.frames.drop(handle);
            self.watchers.iter_mut().for_each(|watch| watch.dropped(number));
            return (worked.took, Outcome::Drop);
        }
        let bytes = frame.bytes.len() as u32;
        let mtu = self.ports[self.toward].mtu_bytes;
        if frame.offload.segmented.is_none() && !wire::fits::socket_takes(&frame.bytes, mtu) {
            counters.too_long += 1;
            let number = frame.number;
            self.watchers.iter_mut().for_each(|watch| watch.dropped(number));
            had.dropped += 1;
            if let Some(grown) = self.frames.take(handle) {
                self.tell_too_long(grown, mtu);
            }
            return (worked.took, Outcome::Drop);
        }
        (worked.took, Outcome::Forward { bytes })
    }

    /// Tells the sender of a packet that is too long for the interface behind.
    fn tell_too_long(&mut self, frame: Frame, mtu: u32) {
        let fits = mtu.saturating_sub(self.growth_bytes);
        let now = clock::now();
        if now >= self.answered_at + ANSWER_EVERY && wire::too_big::answer(&frame.bytes, fits, &mut self.answer).is_ok()
        {
            let mut answer = self.frames.buffer(self.answer.len());
            answer.extend_from_slice(&self.answer);
            self.answered_at = now;
            self.ports[1 - self.toward].push(Offload::NONE, answer);
        }
        self.frames.give_back(frame.bytes);
    }

    fn send(&mut self, passage: &Passage) {
        let Some(frame) = self.frames.take(passage.handle) else { return };
        let counters = &mut self.counters[usize::from(frame.class)];
        counters.sent += 1;
        counters.sent_bytes += frame.bytes.len() as u64;
        counters.waited += passage.link_start - passage.arrival;
        let latency = passage.link_end - passage.arrival;
        counters.latency_nanos += u128::from(latency.0);
        self.latencies[usize::from(frame.class)].record(latency.0);
        let had = self.flows.had(passage.flow);
        had.sent += 1;
        had.sent_bytes += frame.bytes.len() as u64;
        had.link += passage.link_end - passage.link_start;
        for watch in &mut self.watchers {
            watch.left(frame.number, passage, &frame.bytes);
        }
        self.ports[self.toward].push(frame.offload, frame.bytes);
    }

    /// Takes in what arrived on the side from which packets are scheduled.
    fn receive(&mut self, from: usize, now: Nanos) -> usize {
        let Self { ports, node, flows, classes, frames, counters, oddities, segments, growth_bytes, .. } = self;
        let mtu = ports[1 - from].mtu_bytes;
        let (names, watchers, offered) = (&self.names, &mut self.watchers, &mut self.offered);
        let mut entrance = Entrance {
            node,
            flows,
            classes,
            frames,
            counters,
            oddities,
            names,
            watchers,
            offered,
            segments: *segments,
            clamp: clamp(mtu, *growth_bytes),
            now,
        };
        (0..ROUND).take_while(|_| ports[from].receive(|received| entrance.take(&received)).is_some()).count()
    }

    /// Passes on at once what arrived on the other side.
    fn pass_on(&mut self, from: usize) -> usize {
        let Self { ports, frames, oddities, growth_bytes, .. } = self;
        let clamp = clamp(ports[from].mtu_bytes, *growth_bytes);
        let [inside, outside] = ports;
        let (from, to) = if from == 0 { (inside, outside) } else { (outside, inside) };
        let room = MOST_OUTGOING.saturating_sub(to.outgoing()).min(ROUND);
        let mut pass = |received: Received<'_>| {
            let mut bytes = frames.buffer(received.bytes.len());
            match whole(&received, &mut bytes) {
                Ok(offload) => {
                    if let Some((v4, v6)) = clamp {
                        wire::clamp::clamp_mss_to(&mut bytes, v4, v6);
                    }
                    to.push(offload, bytes);
                }
                Err(_) => {
                    oddities.malformed += 1;
                    frames.give_back(bytes);
                }
            }
        };
        (0..room).take_while(|_| from.receive(&mut pass).is_some()).count()
    }

    /// From now on packets take no time but that of their work.
    fn hurry(&mut self) {
        self.classes.hurry();
        let link = self.node.link();
        let rate = Rate::from_bps(1e15).unwrap_or(link.rate);
        self.node.set_link(Link { rate, pace: Pace::Own, ..link }, Room::Packets(u32::MAX));
    }

    fn change(&mut self, config: &Config, classes: Classes, next: Option<Box<dyn Scheduler>>) {
        let last = config.classes.len() - 1;
        let new_class = |name: &Arc<str>| config.classes.iter().position(|class| class.name == *name).unwrap_or(last);
        let moved: Vec<_> = self.names.iter().map(|name| new_class(name) as u16).collect();
        self.frames.change_classes(&moved);
        self.flows.change_classes(&moved);
        let kept = |class: &config::Class| self.names.iter().position(|name| *name == class.name);
        let kept: Vec<_> = config.classes.iter().map(kept).collect();
        self.counters = kept.iter().map(|at| at.map_or_else(Default::default, |at| self.counters[at])).collect();
        let none = Histogram::fixed(MOST_LATENCY);
        self.latencies =
            kept.iter().map(|at| at.map_or_else(|| none.clone(), |at| self.latencies[at].clone())).collect();
        let kept: Vec<_> = kept.iter().map(|at| at.map(|at| at as u16)).collect();
        self.node.change_classes(&moved, &kept);
        self.names = names(config);
        self.growth_bytes = classes.growth_bytes();
        self.classes = classes;
        self.segments = config.segments;
        self.node.set_link(config.link, config.room);
        if let Some(next) = next {
            self.node.replace(next);
        }
        self.flows.introduce_all(&mut self.node, &self.classes);
    }

    fn status(&mut self, at: Nanos, config: &Config) -> Status {
        for port in &mut self.ports {
            port.count_missed();
        }
        if let Some(busiest) = self.flows.busiest(at, &self.names) {
            self.busiest = Arc::new(busiest);
        }
        Status {
            at,
            started: self.started,
            policy: config.policy.to_string(),
            interfaces: config.interfaces.each_ref().map(|interface| interface.to_string().into()),
            toward: Some(config.toward),
            cpu_share: config.cpu.share,
            link_rate: Some(config.link.rate),
            figures: self.node.figures(),
            waited: self.node.waited(),
            backlog: self.node.backlog(),
            flows: self.flows.len(),
            ports: self.ports.each_ref().map(|port| port.counters),
            classes: self.names.iter().cloned().zip(self.counters.iter().copied()).collect(),
            weights: config.classes.iter().map(|class| class.weight).collect(),
            latencies: self.latencies.clone(),
            busiest: self.busiest.clone(),
            oddities: self.oddities,
        }
    }
}

/// The MSS for IPv4 and IPv6, where functions make packets longer.
fn clamp(mtu: u32, growth_bytes: u32) -> Option<(u16, u16)> {
    let fits = |version| wire::clamp::mss_that_fits(version, mtu, growth_bytes);
    if growth_bytes == 0 { None } else { fits(Version::V4).zip(fits(Version::V6)) }
}

/// A frame as it is to be handed on without being split, and what the kernel is to do to it.
fn whole(received: &Received<'_>, into: &mut Vec<u8>) -> Result<Offload, Refused> {
    let offload = Offload::parse(&received.offload)?;
    tag::put_back(received.bytes, received.tag, into)?;
    match received.tag {
        Some(_) => offload.behind(tag::TAG as u16),
        None => Ok(offload),
    }
}

/// Where frames come in.
struct Entrance<'b> {
    node: &'b mut Node,
    flows: &'b mut Flows,
    classes: &'b Classes,
    frames: &'b mut Frames,
    counters: &'b mut [ClassCounters],
    oddities: &'b mut Oddities,
    names: &'b [Arc<str>],
    watchers: &'b mut [Box<dyn Watch>],
    offered: &'b mut u64,
    segments: Segments,
    clamp: Option<(u16, u16)>,
    now: Nanos,
}

impl Entrance<'_> {
    fn take(&mut self, received: &Received<'_>) {
        if self.take_in(received).is_err() {
            self.oddities.malformed += 1;
        }
    }

    fn take_in(&mut self, received: &Received<'_>) -> Result<(), Refused> {
        let marks = marks(received.bytes, received.tag);
        let class = self.classes.of(&marks);
        let Some(flow) = self.flows.of(&marks, class, self.now, self.node, self.classes) else {
            self.oddities.no_flow += 1;
            return Ok(());
        };
        let offload = Offload::parse(&received.offload)?;
        let frames = match wire::received::Received::new(received.bytes, offload, received.tag) {
            Ok(frames) if self.segments == Segments::Split || offload.segmented.is_none() => frames,
            Err(wrong) if offload.segmented.is_none() => return Err(wrong),
            // One that stays whole, or that cannot be split here, such as a stream within a tunnel.
            _ => {
                let bytes = received.bytes.len() + tag::bytes(received.tag);
                self.admit(flow, class, bytes, |into| whole(received, into).ok());
                return Ok(());
            }
        };
        for index in 0..frames.count() {
            let bytes = frames.length(index).unwrap_or_default();
            self.admit(flow, class, bytes, |into| frames.write(index, into).then_some(Offload::NONE));
        }
        Ok(())
    }

    /// Offers a packet, and copies it if it is queued.
    fn admit(&mut self, flow: FlowId, class: u16, bytes: usize, write: impl FnOnce(&mut Vec<u8>) -> Option<Offload>) {
        let counters = &mut self.counters[usize::from(class)];
        counters.arrived += 1;
        counters.arrived_bytes += bytes as u64;
        let bytes = bytes as u32;
        // What it costs on the CPU is learnt.
        let link = self.node.link().time(bytes);
        let Ok(demand) = Demand::new(&[Nanos::ZERO, link]) else { return };
        let number = *self.offered;
        *self.offered += 1;
        for watch in &mut *self.watchers {
            let class = &self.names[usize::from(class)];
            watch.arrived(&Arrived { number, flow, class, bytes, arrival: self.now, link });
        }
        let handle = self.frames.next_handle();
        let packet = Packet { flow, bytes, arrival: self.now, handle, demand };
        let Admission { refused, evicted } = self.node.enqueue(&packet, class, self.now);
        if refused.is_some() {
            self.counters[usize::from(class)].queue_full += 1;
            self.watchers.iter_mut().for_each(|watch| watch.dropped(number));
            self.flows.had(flow).dropped += 1;
        } else {
            let mut buffer = self.frames.buffer(bytes as usize);
            let offload = write(&mut buffer).unwrap_or(Offload::NONE);
            if let Some((v4, v6)) = self.clamp {
                wire::clamp::clamp_mss_to(&mut buffer, v4, v6);
            }
            self.frames.hold(Frame { bytes: buffer, class, offload, number });
        }
        if evicted {
            while let Some(packet) = self.node.poll_evicted() {
                self.flows.had(packet.flow).dropped += 1;
                if let Some(frame) = self.frames.take(packet.handle) {
                    self.counters[usize::from(frame.class)].queue_full += 1;
                    self.watchers.iter_mut().for_each(|watch| watch.dropped(frame.number));
                    self.frames.give_back(frame.bytes);
                }
            }
        }
    }
}
