//! What somebody who looks on sees of a dispatcher.

use std::{hash::Hash, sync::Arc};

use dovetail_sched::{
    Nanos, Weight,
    request::{ClassId, FarDelay},
};

use super::{
    Dispatcher,
    state::{Account, State},
    users::Requests,
};

/// A dispatcher at a moment.
#[derive(Debug, Clone)]
pub struct View<K> {
    /// What there is by class and in all.
    pub totals: Totals,
    /// Users who have requests, or had one within the last minute.
    pub users: Vec<UserView<K>>,
    /// Requests, waiting and released, in no order.
    pub live: Vec<LiveView<K>>,
}

/// What there is at a moment by class and in all, and what the policy says of itself.
#[derive(Debug, Clone)]
pub struct Totals {
    /// The dispatcher's time.
    pub now: Nanos,
    /// Classes, by their numbers.
    pub classes: Vec<ClassView>,
    /// The policy's own figures by name.
    pub figures: Vec<(&'static str, f64)>,
    /// The far queue, as probes see it.
    pub far: Option<FarDelay>,
    /// Probes that did not come back.
    pub lost_probes: u64,
    /// Units that came, all in all.
    pub units: u64,
}

/// A class at a moment.
#[derive(Debug, Clone, Copy)]
pub struct ClassView {
    /// Its weight.
    pub weight: Weight,
    /// Requests that wait for their release.
    pub waiting: u32,
    /// Requests that are released.
    pub outstanding: u32,
    /// Units that came, from the start.
    pub units: u64,
    /// Requests that arrived, from the start.
    pub requests: u64,
    /// Requests that gave up, from the start.
    pub gave_up: u64,
}

/// A user at a moment.
#[derive(Debug, Clone)]
pub struct UserView<K> {
    /// Who.
    pub who: K,
    /// His class.
    pub class: ClassId,
    /// His requests now.
    pub live: u32,
    /// Units that came for him since he was first known.
    pub units: u64,
    /// Requests of his since then.
    pub requests: u64,
}

/// A request at a moment.
#[derive(Debug, Clone)]
pub struct LiveView<K> {
    /// Whose.
    pub who: K,
    /// His class.
    pub class: ClassId,
    /// What it was arrived with.
    pub label: Arc<str>,
    /// How far it is.
    pub stage: Stage,
    /// How long ago it arrived.
    pub age: Nanos,
    /// How long it waited, or has waited, for its release.
    pub waited: Nanos,
    /// Units that came.
    pub received: u64,
    /// How long ago the last of them came.
    pub still: Option<Nanos>,
    /// Units there will be, if that is known.
    pub length: Option<u64>,
}

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Not released.
    Waits,
    /// Released; nothing came yet.
    Asked,
    /// Its response comes.
    Comes,
    /// Its response waits for a turn.
    Held,
}

impl<K: Clone + Eq + Hash> Dispatcher<K> {
    /// What there is now. O(requests and users): for those who look on, not for each event.
    #[must_use]
    pub fn view(&self) -> View<K> {
        let (mut state, now) = self.0.enter();
        state.forget(now);
        let users = state.users.iter().map(|user| UserView {
            who: user.who.clone(),
            class: user.class,
            live: user.requests.in_all(),
            units: user.units,
            requests: user.asked,
        });
        let live = state.live.iter().map(|(_, live)| {
            let stage = match live.released {
                None => Stage::Waits,
                Some(_) if live.ready => Stage::Held,
                Some(_) if live.received == 0 => Stage::Asked,
                Some(_) => Stage::Comes,
            };
            let user = state.users.at(live.user);
            LiveView {
                who: user.who.clone(),
                class: user.class,
                label: Arc::clone(&live.label),
                stage,
                age: now - live.arrived,
                waited: live.released.unwrap_or(now) - live.arrived,
                received: live.received,
                still: live.moved.map(|moved| now - moved),
                length: live.length,
            }
        });
        let (users, live) = (users.collect(), live.collect());
        View { totals: state.totals(now), users, live }
    }
}

impl<K> Dispatcher<K> {
    /// What there is now by class and in all. O(classes).
    #[must_use]
    pub fn totals(&self) -> Totals {
        let now = self.0.now();
        self.0.lock().totals(now)
    }
}

impl<K> View<K> {
    /// Users with requests, by class. O(users).
    #[must_use]
    pub fn active_users(&self) -> Vec<u32> {
        let mut active = vec![0; self.totals.classes.len()];
        for user in self.users.iter().filter(|user| user.live > 0) {
            active[user.class.0 as usize] += 1;
        }
        active
    }
}

impl<K> State<K> {
    fn totals(&self, now: Nanos) -> Totals {
        let mut figures = Vec::new();
        self.scheduler.figures(&mut |name, value| figures.push((name, value)));
        Totals {
            now,
            classes: self.classes.iter().map(ClassView::of).collect(),
            figures,
            far: self.far.delay(now),
            lost_probes: self.far.lost(),
            units: self.units,
        }
    }
}

impl ClassView {
    fn of(account: &Account) -> Self {
        let Account { weight, requests, units, asked, gave_up } = *account;
        let Requests { waiting, outstanding } = requests;
        Self { weight, waiting, outstanding, units, requests: asked, gave_up }
    }
}

#[cfg(test)]
mod tests {
    use dovetail_sched::request::{RequestSetup, RequestSpec};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn totals_are_the_view_s_and_count_what_no_ticket_asked_for() {
        let policy = "grants".parse::<RequestSpec>().expect("a policy");
        let dispatcher =
            Dispatcher::new(&policy, &RequestSetup::for_bytes(100_000.0), &[Weight::ONE; 2]).expect("a dispatcher");
        let tickets = ["ann", "bob", "ann"]
            .map(|who| dispatcher.arrive(&who, ClassId(u32::from(who == "bob")), None, "a".into()));
        tickets[0].received(700);
        tokio::time::sleep(std::time::Duration::from_millis(250)).await;
        dispatcher.stray(Some(ClassId(1)), 40);
        dispatcher.stray(None, 2);
        let (view, totals) = (dispatcher.view(), dispatcher.totals());
        assert_eq!(view.active_users(), [1, 1]);
        let units = |totals: &Totals| totals.classes.iter().map(|class| class.units).collect::<Vec<_>>();
        assert_eq!((units(&totals), totals.units), (vec![700, 40], 742));
        assert_eq!((units(&view.totals), view.totals.units), (vec![700, 40], 742));
        assert_eq!(totals.figures, view.totals.figures);
        let mut still: Vec<_> = view.live.iter().map(|live| live.still).collect();
        still.sort();
        assert_eq!(still, [None, None, Some(Nanos::from_millis(250))]);
        drop(tickets);
        assert_eq!(dispatcher.view().active_users(), [0, 0]);
    }
}
