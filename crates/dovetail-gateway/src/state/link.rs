//! The scheduled link: tickets for requests, initial windows of connections, and uploads.

use std::{rc::Rc, sync::Arc, time::Duration};

use dovetail_sched::{
    Nanos, PolicyError, Weight,
    request::{ClassId, RequestSetup},
};
use dovetail_tower::Dispatcher;
use tokio::task::spawn_local;

use super::settings::Settings;
use crate::{
    class::{class_id, class_of},
    config::Config,
    interactive::InteractiveBudget,
    place::Place,
    refusal::Refusal,
    segment::SEGMENT,
    uplink::Uplink,
    upstream::Window,
    who::Who,
};

/// A turn is what the link carries in this time, but at least three segments: each costs a wake-up.
const TURN: Duration = Duration::from_millis(6);

/// In a class with a rate, a connection's initial window is what the rate yields in this time, as for its responses.
const FIRST: Duration = Duration::from_millis(340);

/// Both directions of the link.
#[derive(Debug)]
pub(crate) struct Link {
    settings: Rc<Settings>,
    dispatcher: Dispatcher<Who>,
    window: Option<Window>,
    uplink: Rc<Uplink>,
    free: InteractiveBudget,
}

impl Link {
    /// # Errors
    /// [`PolicyError`] if the policy does not suit the link.
    pub(crate) fn new(settings: Rc<Settings>) -> Result<Self, PolicyError> {
        let config = settings.config();
        let setup = setup(config.downlink.goodput_bytes_per_s());
        let weights: Vec<_> = config.classes.iter().map(|class| class.weight).collect();
        let dispatcher = Dispatcher::new(&config.downlink.policy, &setup, &weights)?;
        set_caps(&dispatcher, &config);
        let window = first_window(&config, &setup)?;
        let uplink = Rc::new(Uplink::new(config.uplink.as_ref(), &weights, (&dispatcher, setup.rate))?);
        Ok(Self { settings, dispatcher, window, uplink, free: InteractiveBudget::new(setup.rate) })
    }

    /// Starts to hand out turns.
    pub(crate) fn drive(&self) {
        self.dispatchers().for_each(|dispatcher| drop(spawn_local(dispatcher.drive())));
        spawn_local(Rc::clone(&self.uplink).learn());
    }

    /// The downlink's scheduler.
    pub(crate) const fn dispatcher(&self) -> &Dispatcher<Who> {
        &self.dispatcher
    }

    /// The schedulers of both directions, or of the only scheduled one.
    pub(crate) fn dispatchers(&self) -> impl Iterator<Item = &Dispatcher<Who>> {
        [Some(&self.dispatcher), self.uplink.dispatcher()].into_iter().flatten()
    }

    pub(crate) const fn uplink(&self) -> &Rc<Uplink> {
        &self.uplink
    }

    /// The initial window of connections, if the policy holds responses back.
    pub(crate) const fn window(&self) -> Option<Window> {
        self.window
    }

    /// The initial window of a connection for this class, before its ticket determines it.
    pub(crate) fn window_of(&self, class: ClassId) -> Option<Window> {
        let config = self.settings.config();
        let cap = config.classes.get(class.0 as usize).and_then(|class| config.downlink.cap_bytes_per_s(class));
        let known = self.window?;
        let begins = cap.map_or(known.first, |rate| known.first.min((rate * FIRST.as_secs_f64()) as u64));
        Some(Window { begins: known.beginning(begins), ..known })
    }

    /// The allowance of interactive tunnels without turns.
    pub(crate) const fn free(&self) -> &InteractiveBudget {
        &self.free
    }

    /// A ticket for a request, unless its user has too many. `party` is the user as known to schedulers, which may be distinct,
    /// and `distance` how long after the release the response begins to arrive, if known.
    pub(crate) fn arrive(
        &self,
        (who, party): (&Who, &Who),
        class: ClassId,
        label: &Arc<str>,
        distance: Option<Duration>,
    ) -> Result<Place, Refusal> {
        let most = self.settings.config().limits.requests_per_user;
        if self.requests(who) >= most {
            return Err(Refusal::TooManyRequests(most));
        }
        let distance = distance.map_or(Nanos::ZERO, Nanos::from);
        Ok(self.dispatcher.arrive_from(distance, party, class, None, Arc::clone(label)))
    }

    /// The number of a user's tickets, whatever the destinations of the requests.
    fn requests(&self, who: &Who) -> usize {
        let config = self.settings.config();
        let apart = (0..).zip(&config.classes).filter(|(_, class)| !class.hosts.is_empty());
        let apart = apart.map(|(at, _)| self.dispatcher.requests(&who.towards(class_id(at))));
        self.dispatcher.requests(who) + apart.sum::<usize>()
    }

    /// Whether a class has a rate limit.
    pub(crate) fn is_capped(&self, class: ClassId) -> bool {
        self.settings.config().classes.get(class.0 as usize).is_some_and(|class| class.rate.is_some())
    }

    /// How long a request was queued for release.
    pub(crate) fn waited(place: &Place) -> Duration {
        let (arrived, released) = place.times();
        Duration::from_nanos((released.unwrap_or(arrived) - arrived).0)
    }

    /// Applies changed rates, and classes with these weights, which include all earlier ones or others with their numbers.
    pub(crate) fn reload(&self, old: &Config, new: &Config, renewed: &[usize], weights: &[Weight]) {
        let rate = new.downlink.goodput_bytes_per_s();
        if (rate - old.downlink.goodput_bytes_per_s()).abs() > 0.0 {
            self.dispatcher.set_rate(rate);
            self.free.set_rate(rate);
            self.uplink.set_downlink(rate);
        }
        if let Some(uplink) = &new.uplink
            && new.uplink != old.uplink
        {
            self.uplink.reload(uplink);
        }
        for dispatcher in self.dispatchers() {
            for (at, &weight) in weights.iter().enumerate() {
                if renewed.contains(&at) {
                    dispatcher.renew_class(class_id(at), weight);
                } else if at < old.classes.len() {
                    dispatcher.set_weight(class_id(at), weight);
                } else {
                    let _ = dispatcher.add_class(weight);
                }
            }
            dispatcher.reclassify(|who| class_of(new, who));
        }
        set_caps(&self.dispatcher, new);
    }

    /// Moves a known user to another class.
    pub(crate) fn place(&self, who: &Who, class: ClassId) {
        self.dispatchers().for_each(|dispatcher| dispatcher.place(who, class));
    }

    /// Sets a class's weight, until a reload or until its hours change.
    pub(crate) fn set_weight(&self, class: usize, weight: Weight) {
        self.dispatchers().for_each(|dispatcher| dispatcher.set_weight(class_id(class), weight));
    }
}

/// Sets the rate limits of classes.
fn set_caps(dispatcher: &Dispatcher<Who>, config: &Config) {
    for (at, class) in config.classes.iter().enumerate() {
        dispatcher.set_cap(class_id(at), config.downlink.cap_bytes_per_s(class));
    }
}

/// The scheduler's setup for a link of this many bytes per second: a response counts completely, including its header.
fn setup(goodput: f64) -> RequestSetup {
    let setup = RequestSetup { overhead: 0, ..RequestSetup::for_bytes(goodput) };
    let quantum = (goodput * TURN.as_secs_f64()) as u64;
    let quantum = quantum.next_multiple_of(SEGMENT).max(3 * SEGMENT);
    RequestSetup { quantum, ..setup }
}

/// The policy's window for the first response, if it holds responses back at all.
fn first_window(config: &Config, setup: &RequestSetup) -> Result<Option<Window>, PolicyError> {
    let window = config.downlink.policy.build(setup)?.first_window();
    Ok(window.map(|first| Window { first, begins: first, longest: setup.longest_window }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(more: &str) -> Link {
        let text = format!("[downlink]\nrate = \"2Mbps\"\n{more}[access]\nclients = \"10.0.0.0/8\"\n");
        let config = Config::parse(&format!("{text}[limits]\nrequests_per_user = 2\n")).expect("a configuration");
        Link::new(Rc::new(Settings::new(config))).expect("a link")
    }

    #[tokio::test]
    async fn a_user_has_as_many_places_as_one_may() {
        let link = link("");
        let (ann, bob) = (Who::Name("ann".into()), Who::Name("bob".into()));
        let arrive = |who: &Who| link.arrive((who, who), ClassId(0), &"a".into(), None);
        let places = [arrive(&ann).expect("a place"), arrive(&ann).expect("a place")];
        assert!(matches!(arrive(&ann), Err(Refusal::TooManyRequests(2))));
        assert!(arrive(&bob).is_ok(), "others are not in the way");
        drop(places);
        assert!(arrive(&ann).is_ok());
    }

    #[tokio::test]
    async fn connections_have_a_window_where_the_policy_holds_responses_back() {
        let window = link("").window().expect("grants do");
        assert!(window.first > 0 && window.begins == window.first && window.longest > window.first, "{window:?}");
        assert_eq!(link("policy = \"none\"\n").window(), None);
    }

    #[tokio::test]
    async fn a_reloaded_rate_of_the_uplink_is_paced_as_a_new_one() {
        let [slow, fast] = ["512kbps", "1Mbps"].map(|rate| {
            let text = format!("[downlink]\nrate = \"2Mbps\"\n[uplink]\nrate = \"{rate}\"\n");
            Config::parse(&format!("{text}[access]\nclients = \"10.0.0.0/8\"\n")).expect("a configuration")
        });
        let link = |config: &Config| Link::new(Rc::new(Settings::new(config.clone()))).expect("a link");
        let paced = |link: &Link| {
            let figures = link.uplink().dispatcher().map(|dispatcher| dispatcher.totals().figures).unwrap_or_default();
            figures.into_iter().find(|(name, _)| *name == "capacity").map(|(_, rate)| rate)
        };
        let (reloaded, new) = (link(&slow), link(&fast));
        assert!(paced(&reloaded) < paced(&new));
        reloaded.reload(&slow, &fast, &[], &[]);
        assert_eq!((paced(&reloaded), reloaded.uplink().capacity()), (paced(&new), new.uplink().capacity()));
    }

    #[test]
    fn a_turn_is_of_whole_segments() {
        assert_eq!(setup(1e4).quantum, 3 * SEGMENT);
        assert_eq!(setup(1e7).quantum, 42 * SEGMENT, "60 kB in 6 ms");
    }
}
