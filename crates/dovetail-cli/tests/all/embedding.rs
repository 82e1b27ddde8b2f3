//! The gateway of docs/embed.md: the page shows the code between the marks below, and it does what the page says.

use std::collections::BTreeMap;

use dovetail_sched::request::FarQueue;

// On the page from here.
use dovetail_sched::{
    Nanos, PolicyError, Weight,
    request::{ClassId, Request, RequestId, RequestScheduler, RequestSetup, RequestSpec, UserId},
};

trait Sockets {
    /// Sends the request to its server, over a connection whose receive buffer is `window` units long at first.
    fn release(&mut self, request: RequestId, window: u64);
    /// `units` more of the response may be read than so far, and `window` more may be in flight.
    fn may_read(&mut self, request: RequestId, units: u64, window: u64);
}

/// A scheduler for a link with a goodput of 239,000 bytes a second, and for as many users, all in one class.
fn gateway(policy: &str, users: u32) -> Result<Box<dyn RequestScheduler>, PolicyError> {
    let mut scheduler = policy.parse::<RequestSpec>()?.build(&RequestSetup::for_bytes(239_000.0))?;
    scheduler.set_class(ClassId(0), Weight::ONE, Nanos::ZERO);
    for user in 0..users {
        scheduler.set_user(UserId(user), ClassId(0), Nanos::ZERO);
    }
    Ok(scheduler)
}

/// Does everything that can be done now. Returns when to call it again if nothing happens sooner.
fn serve(scheduler: &mut dyn RequestScheduler, sockets: &mut impl Sockets, now: Nanos) -> Option<Nanos> {
    while let Some(turn) = scheduler.dequeue(now) {
        if turn.releases {
            sockets.release(turn.request, turn.window);
        }
        sockets.may_read(turn.request, turn.units, turn.window);
    }
    scheduler.poll_at()
}

/// A user's request arrived, with this id.
fn arrived(
    scheduler: &mut dyn RequestScheduler,
    sockets: &mut impl Sockets,
    id: u32,
    user: u32,
    now: Nanos,
) -> Option<Nanos> {
    scheduler.enqueue(&Request { id: RequestId(id), user: UserId(user), length: None }, now);
    serve(scheduler, sockets, now)
}
// On the page up to here.

/// Servers that send as much as permitted at once, and arrive together.
#[derive(Default)]
struct Toy {
    may: BTreeMap<RequestId, u64>,
    released: Vec<RequestId>,
}

impl Sockets for Toy {
    fn release(&mut self, request: RequestId, _: u64) {
        assert!(self.may.insert(request, 0).is_none(), "{request:?} is released once");
        self.released.push(request);
    }

    fn may_read(&mut self, request: RequestId, units: u64, _: u64) {
        let may = self.may.get_mut(&request).expect("released before");
        *may = may.saturating_add(units);
    }
}

const LENGTH: u64 = 50_000;

/// Runs every request policy through the page's gateway: all requests are released and read completely.
#[test]
fn the_page_s_gateway_answers_everybody() {
    for policy in ["none", "msf-rs", "grants:delay=30ms", "delay-pools"] {
        let mut scheduler = gateway(policy, 3).expect("it is built");
        let (scheduler, mut far, mut toy) = (scheduler.as_mut(), FarQueue::default(), Toy::default());
        let mut now = Nanos::ZERO;
        let mut again = None;
        for id in 0..6 {
            again = arrived(scheduler, &mut toy, id, id % 3, now);
        }
        let mut read: BTreeMap<RequestId, u64> = BTreeMap::new();
        while read.len() < 6 || read.values().any(|&bytes| bytes < LENGTH) {
            now = again.filter(|at| *at > now).unwrap_or(now + Nanos::from_millis(10));
            assert!(now < Nanos::from_secs(60), "{policy}: {read:?}");
            let probe = far.probe(now);
            far.back(probe, now);
            scheduler.far_queue(far.delay(now), now);
            for (&request, &may) in &toy.may {
                let had = read.entry(request).or_default();
                let news = may.min(LENGTH) - *had;
                if *had < LENGTH && news > 0 {
                    *had += news;
                    if *had == news {
                        scheduler.length(request, LENGTH, now);
                    }
                    scheduler.received(request, news, now);
                    if *had == LENGTH {
                        scheduler.ended(request, now);
                        continue;
                    }
                }
                if *had < LENGTH {
                    scheduler.ready(request, now);
                }
            }
            again = serve(scheduler, &mut toy, now);
        }
        assert_eq!(toy.released.len(), 6, "{policy}");
        assert_eq!((scheduler.dequeue(now), read.len()), (None, 6), "{policy}");
    }
}

#[test]
fn the_page_shows_this_code() {
    let code =
        include_str!("embedding.rs").split("here.\n").nth(1).and_then(|code| code.split("// On the page").next());
    let page = include_str!("../../../../docs/embed.md");
    assert!(
        page.contains(code.expect("marks").trim()),
        "docs/embed.md shows other code than crates/dovetail-cli/tests/all/embedding.rs"
    );
}
