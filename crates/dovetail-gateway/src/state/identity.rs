//! Identifies the user of a request: by the client's address, or by an authenticated name if there are passwords.

use std::{cell::RefCell, net::IpAddr, rc::Rc, sync::Arc};

use dovetail_sched::request::ClassId;
use http::header::{self, HeaderMap, HeaderValue};
use tokio::{
    sync::Semaphore,
    task::spawn_blocking,
    time::{sleep, timeout},
};

use super::settings::Settings;
use crate::{
    auth::{self, Check, CheckQueue, Credentials, Helper, Job, Known, Passwords},
    class::{class_id, class_of},
    config,
    refusal::Refusal,
    who::Who,
};

/// Identifies users and their classes.
#[derive(Debug)]
pub(crate) struct Identities {
    settings: Rc<Settings>,
    passwords: RefCell<Option<Rc<Passwords>>>,
    helper: RefCell<Option<Rc<Helper>>>,
    guesses: CheckQueue,
    // Bounds concurrent password checks, for all clients.
    jobs: Arc<Semaphore>,
}

impl Identities {
    /// If there are passwords, clients must authenticate.
    pub(crate) fn new(settings: Rc<Settings>, passwords: Option<Passwords>) -> Self {
        Self {
            settings,
            passwords: RefCell::new(passwords.map(Rc::new)),
            helper: RefCell::default(),
            guesses: CheckQueue::default(),
            jobs: Arc::new(Semaphore::new(auth::MAX_JOBS)),
        }
    }

    /// Replaces the passwords, or removes them.
    pub(crate) fn set_passwords(&self, passwords: Option<Passwords>) {
        *self.passwords.borrow_mut() = passwords.map(Rc::new);
    }

    /// Replaces the program that checks passwords, or removes it. An unchanged one continues.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub(crate) fn set_helper(&self, config: Option<config::Helper>) -> Result<(), getrandom::Error> {
        let mut helper = self.helper.borrow_mut();
        if helper.as_ref().map(|helper| helper.config()) != config.as_ref() {
            *helper = config.map(Helper::new).transpose()?.map(Rc::new);
        }
        Ok(())
    }

    /// The user with the client's address.
    pub(crate) fn by_address(&self, address: IpAddr) -> (Who, ClassId) {
        let config = self.settings.config();
        let who = Who::at(&config, address);
        let class = class_of(&config, &who);
        (who, class)
    }

    /// The user, by name if names are required.
    pub(crate) async fn who(&self, address: IpAddr, headers: &HeaderMap) -> Result<(Who, ClassId), Refusal> {
        self.who_says(address, headers.get(header::PROXY_AUTHORIZATION)).await
    }

    /// The user, by name if names are required, authenticated by these credentials.
    pub(crate) async fn who_says(
        &self,
        address: IpAddr,
        credentials: Option<&HeaderValue>,
    ) -> Result<(Who, ClassId), Refusal> {
        let client = Who::at(&self.settings.config(), address);
        loop {
            let (helper, passwords) = (self.helper.borrow().clone(), self.passwords.borrow().clone());
            let known = match (&helper, &passwords) {
                (Some(helper), _) => self.name_by(helper, &client, credentials).await,
                (None, Some(passwords)) => self.name_in(passwords, &client, credentials).await,
                (None, None) => return Ok(self.by_address(address)),
            };
            // A reload may have removed or added a user meanwhile.
            if !is_same(&helper, &self.helper) || !is_same(&passwords, &self.passwords) {
                continue;
            }
            let Some(name) = known? else {
                sleep(auth::DELAY).await;
                return Err(Refusal::NotKnown);
            };
            return Ok(self.by_name(name, address));
        }
    }

    /// The user with an authenticated name.
    fn by_name(&self, name: Arc<str>, address: IpAddr) -> (Who, ClassId) {
        let config = self.settings.config();
        let who = Who::named(&config, &name);
        let class = match &who {
            Who::Name(name) => class_id(config.class_of_user(name, address)),
            _ => class_of(&config, &who),
        };
        (who, class)
    }

    /// The name that a file of passwords confirms. `None`, as soon as that is known, if the credentials are wrong.
    async fn name_in(&self, passwords: &Rc<Passwords>, client: &Who, said: Option<&HeaderValue>) -> Found {
        let known = || found_in(passwords, said).err();
        if let Some(found) = known() {
            return found;
        }
        let examine = examine(Rc::clone(passwords), Arc::clone(&self.jobs), said.cloned());
        self.guesses.in_turn((client, self.most_waiting()), known, examine).await?
    }

    /// The name that another program confirms. `None`, as soon as that is known, if the credentials are wrong.
    async fn name_by(&self, helper: &Rc<Helper>, client: &Who, said: Option<&HeaderValue>) -> Found {
        let known = || found_by(helper, said).err();
        if let Some(found) = known() {
            return found;
        }
        let examine = ask(Rc::clone(helper), said.cloned());
        // Each earlier request may have waited for an answer that never arrived.
        let patience = 2 * helper.config().timeout;
        timeout(patience, self.guesses.in_turn((client, self.most_waiting()), known, examine))
            .await
            .unwrap_or(Err(Refusal::NoHelper))?
    }

    /// Maximum number of queued requests per client, which may be an address shared by many users.
    fn most_waiting(&self) -> usize {
        self.settings.config().limits.requests_per_user.max(MIN_QUEUED)
    }
}

/// At least this many requests of a client may queue, even if users may have fewer.
const MIN_QUEUED: usize = 256;

/// The user of the credentials; `None` if they are wrong, which the client is told after a delay.
type Found = Result<Option<Arc<str>>, Refusal>;

/// Whether it has not been replaced by a reload.
fn is_same<T>(then: &Option<Rc<T>>, now: &RefCell<Option<Rc<T>>>) -> bool {
    then.as_ref().map(Rc::as_ptr) == now.borrow().as_ref().map(Rc::as_ptr)
}

/// The cached result for a file, or the job that determines it; `None` while other jobs must finish first.
fn found_in(passwords: &Passwords, said: Option<&HeaderValue>) -> Result<Option<Job>, Found> {
    match passwords.check(said) {
        Check::Known(name) => Err(Ok(Some(name))),
        Check::Missing => Err(Err(Refusal::WhoAreYou)),
        Check::Unknown => Err(Ok(None)),
        Check::Work(job) => Ok(Some(job)),
        Check::Busy => Ok(None),
    }
}

/// Checks a client's credentials, unless the result becomes known.
async fn examine(passwords: Rc<Passwords>, jobs: Arc<Semaphore>, said: Option<HeaderValue>) -> Found {
    let found = || found_in(&passwords, said.as_ref());
    loop {
        if let Some(found) = found().err() {
            return found;
        }
        let place = Arc::clone(&jobs).acquire_owned().await;
        match found() {
            Err(found) => return found,
            Ok(Some(job)) => {
                let run = move || {
                    let known = job.run();
                    drop(place);
                    known
                };
                return told(spawn_blocking(run).await.unwrap_or(None)).await;
            }
            // Another client has the same credentials.
            Ok(None) => drop(place),
        }
        sleep(auth::RETRY).await;
    }
}

/// The cached result for a helper, or what to ask it.
fn found_by(helper: &Helper, said: Option<&HeaderValue>) -> Result<Credentials, Found> {
    match helper.known(said) {
        Known::User(name) => Err(Ok(Some(name))),
        Known::Missing => Err(Err(Refusal::WhoAreYou)),
        Known::Wrong => Err(Ok(None)),
        Known::Nothing(credentials) => Ok(credentials),
    }
}

/// Asks a helper, unless the result is known.
async fn ask(helper: Rc<Helper>, said: Option<HeaderValue>) -> Found {
    match found_by(&helper, said.as_ref()) {
        Ok(credentials) => told(helper.ask(credentials).await.map_err(|()| Refusal::NoHelper)?).await,
        Err(found) => found,
    }
}

/// The result for credentials. A client whose guess was wrong waits here while it holds its turn, so that it cannot have
/// another check meanwhile.
async fn told(known: Option<Arc<str>>) -> Found {
    if known.is_none() {
        sleep(auth::DELAY).await;
        return Err(Refusal::NotKnown);
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use base64::{Engine, prelude::BASE64_STANDARD};
    use tokio::task::LocalSet;

    use super::*;
    use crate::config::Config;

    const TEXT: &str = "[downlink]\nrate = \"2Mbps\"\n[access]\nclients = \"10.0.0.0/8\"\npasswords = \"users\"\n\
                        [[class]]\nname = \"office\"\nclients = \"10.1.0.0/16\"\n\
                        [[class]]\nname = \"staff\"\nusers = \"ann\"\n";

    fn identities(passwords: Option<Passwords>) -> Identities {
        Identities::new(Rc::new(Settings::new(Config::parse(TEXT).expect("a configuration"))), passwords)
    }

    fn passwords() -> Option<Passwords> {
        let hash = |password: &str| bcrypt::hash(password, 4).expect("a hash");
        Some(Passwords::parse(&format!("ann:{}\nbob:{}\n", hash("a"), hash("b"))).expect("passwords"))
    }

    fn says(credentials: &str) -> HeaderMap {
        let value = format!("Basic {}", BASE64_STANDARD.encode(credentials));
        HeaderMap::from_iter([(header::PROXY_AUTHORIZATION, value.parse().expect("a value"))])
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[tokio::test]
    async fn without_passwords_users_are_addresses_in_their_classes() {
        let known = identities(None);
        let who = |text| known.by_address(address(text));
        assert_eq!(who("10.1.2.3"), (Who::Address(address("10.1.2.3")), ClassId(0)));
        assert_eq!(who("::ffff:10.1.2.3"), who("10.1.2.3"), "one address, however it is written");
        assert_eq!(who("10.2.0.1").1, ClassId(2), "the default class comes last");
        let said = known.who(address("10.1.2.3"), &says("ann:a")).await;
        assert_eq!(said, Ok(who("10.1.2.3")), "no name is required");
    }

    #[tokio::test]
    async fn with_passwords_users_are_names_wherever_they_ask_from() {
        LocalSet::new().run_until(names_wherever_they_ask_from()).await;
    }

    async fn names_wherever_they_ask_from() {
        let known = identities(passwords());
        let office = address("10.1.2.3");
        assert_eq!(known.who(office, &HeaderMap::new()).await, Err(Refusal::WhoAreYou));
        assert_eq!(known.who(office, &says("ann:a")).await, Ok((Who::Name("ann".into()), ClassId(1))));
        assert_eq!(known.who(office, &says("bob:b")).await, Ok((Who::Name("bob".into()), ClassId(0))), "by address");
        assert!(known.guesses.is_empty(), "nothing is being examined any more");
        known.set_passwords(None);
        assert_eq!(known.who(office, &says("ann:a")).await, Ok(known.by_address(office)));
    }

    #[tokio::test]
    async fn a_client_has_one_password_examined_at_a_time() {
        LocalSet::new().run_until(one_at_a_time()).await;
    }

    async fn one_at_a_time() {
        let known = identities(passwords());
        let client = address("10.1.2.3");
        let (asked, other) = (says("ann:a"), says("bob:b"));
        let (ends, end) = tokio::sync::oneshot::channel::<()>();
        let who = Who::Address(client);
        let look = known.guesses.in_turn((&who, 9), || None, end);
        let mut look = std::pin::pin!(look);
        let mut waits = std::pin::pin!(known.who(client, &asked));
        tokio::select! {
            biased;
            _ = &mut look => panic!("it has not ended"),
            _ = &mut waits => panic!("another look is in flight"),
            found = known.who(address("10.1.2.4"), &other) => assert!(found.is_ok(), "which delays no other client"),
        }
        ends.send(()).expect("it waits");
        assert!(look.await.is_ok());
        assert!(waits.await.is_ok());
    }
}
