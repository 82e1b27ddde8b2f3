//! A snapshot of a dispatcher, for monitoring.

use std::{hash::Hash, sync::Arc};

use dovetail_sched::{
    Nanos, Weight,
    request::{ClassId, FarDelay, RequestId, RequestScheduler},
};

use super::{
    Dispatcher,
    spent::Spent,
    state::{Account, State},
    users::Requests,
};

/// A snapshot of a dispatcher.
#[derive(Debug, Clone)]
pub struct View<K> {
    /// Counts by class and in total.
    pub totals: Totals,
    /// Users who have requests, or had one within the last minute.
    pub users: Vec<UserView<K>>,
    /// Requests, queued and in flight, in no order.
    pub live: Vec<LiveView<K>>,
}

/// A snapshot of the counts by class and in total, and of the policy's own figures.
#[derive(Debug, Clone)]
pub struct Totals {
    /// The dispatcher's time.
    pub now: Nanos,
    /// Classes, by their numbers.
    pub classes: Vec<ClassView>,
    /// The policy's own figures by name.
    pub figures: Vec<(&'static str, f64)>,
    /// The far queue, as measured by probes.
    pub far: Option<FarDelay>,
    /// Probes that went unanswered.
    pub lost_probes: u64,
    /// Units received in total.
    pub units: u64,
}

/// A snapshot of a class.
#[derive(Debug, Clone, Copy)]
pub struct ClassView {
    /// Its weight.
    pub weight: Weight,
    /// Requests that are queued for release.
    pub waiting: u32,
    /// Requests in flight: released and not finished.
    pub outstanding: u32,
    /// Units received since the start.
    pub units: u64,
    /// Requests that arrived since the start.
    pub requests: u64,
    /// Requests cancelled since the start.
    pub cancelled: u64,
    /// What its finished requests spent their time on.
    pub spent: Spent,
}

/// A snapshot of a user.
#[derive(Debug, Clone)]
pub struct UserView<K> {
    /// The user.
    pub who: K,
    /// Their class.
    pub class: ClassId,
    /// Their requests that are queued or in flight.
    pub live: u32,
    /// Units received for them since they first became known.
    pub units: u64,
    /// Their requests in the same period.
    pub requests: u64,
}

/// A snapshot of a request.
#[derive(Debug, Clone)]
pub struct LiveView<K> {
    /// Its user.
    pub who: K,
    /// Its user's class.
    pub class: ClassId,
    /// The label it arrived with.
    pub label: Arc<str>,
    /// What it is waiting for.
    pub stage: Stage,
    /// Whether it is held back because its class has reached its [rate](Dispatcher::set_cap).
    pub is_at_cap: bool,
    /// How long ago it arrived.
    pub age: Nanos,
    /// How long it was queued, or has been so far.
    pub waited: Nanos,
    /// Units received.
    pub received: u64,
    /// How long ago the last of them was received.
    pub still: Option<Nanos>,
    /// The response's length in units, if it is known.
    pub length: Option<u64>,
    /// What its time has been spent on so far.
    pub spent: Spent,
}

/// The state of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Not released yet.
    Queued,
    /// Released; nothing of its response has been received.
    Requested,
    /// Its response is being received.
    Receiving,
    /// Its response is waiting for a turn.
    Throttled,
}

impl<K: Clone + Eq + Hash> Dispatcher<K> {
    /// A snapshot. O(requests and users): for monitoring, not for each event.
    #[must_use]
    pub fn view(&self) -> View<K> {
        let (mut state, now) = self.0.enter();
        state.settle(now);
        state.forget(now);
        let users = state.users.iter().map(|user| UserView {
            who: user.who.clone(),
            class: user.class,
            live: user.requests.in_all(),
            units: user.units,
            requests: user.requested,
        });
        let live = state.live.iter().map(|(id, live)| {
            let stage = match live.released {
                None => Stage::Queued,
                Some(_) if live.ready => Stage::Throttled,
                Some(_) if live.received == 0 => Stage::Requested,
                Some(_) => Stage::Receiving,
            };
            let user = state.users.at(live.user);
            LiveView {
                who: user.who.clone(),
                class: user.class,
                label: Arc::clone(&live.label),
                stage,
                is_at_cap: state.scheduler.holds(RequestId(id as u32)),
                age: now - live.arrived,
                waited: live.released.unwrap_or(now) - live.arrived,
                received: live.received,
                still: live.moved.map(|moved| now - moved),
                length: live.length,
                spent: state.spent(live, now),
            }
        });
        let (users, live) = (users.collect(), live.collect());
        View { totals: state.totals(now), users, live }
    }
}

impl<K> Dispatcher<K> {
    /// A snapshot of the counts by class and in total. O(classes).
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
        let Account { weight, requests, units, requested, cancelled, spent, .. } = *account;
        let Requests { waiting, outstanding } = requests;
        Self { weight, waiting, outstanding, units, requests: requested, cancelled, spent }
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
