//! The user of a request: a client's address, or the name that the client proves where there are passwords.

use std::{cell::RefCell, collections::HashSet, net::IpAddr, rc::Rc};

use dovetail_sched::request::ClassId;
use http::header::{self, HeaderMap, HeaderValue};
use tokio::{task::spawn_blocking, time::sleep};

use super::settings::Settings;
use crate::{
    auth::{self, Check, Passwords},
    class::{class_id, class_of},
    refusal::Refusal,
    who::Who,
};

/// Knows users and their classes.
#[derive(Debug)]
pub(crate) struct Identities {
    settings: Rc<Settings>,
    passwords: RefCell<Option<Rc<Passwords>>>,
    guessing: RefCell<HashSet<IpAddr>>,
}

impl Identities {
    /// With passwords clients have to say who they are.
    pub(crate) fn new(settings: Rc<Settings>, passwords: Option<Passwords>) -> Self {
        Self { settings, passwords: RefCell::new(passwords.map(Rc::new)), guessing: RefCell::default() }
    }

    /// Other passwords, or none.
    pub(crate) fn set_passwords(&self, passwords: Option<Passwords>) {
        *self.passwords.borrow_mut() = passwords.map(Rc::new);
    }

    /// The user, by the client's address.
    pub(crate) fn by_address(&self, address: IpAddr) -> (Who, ClassId) {
        let who = Who::Address(address.to_canonical());
        let class = class_of(&self.settings.config(), &who);
        (who, class)
    }

    /// The user, by name where names are required.
    pub(crate) async fn who(&self, address: IpAddr, headers: &HeaderMap) -> Result<(Who, ClassId), Refusal> {
        self.who_says(address, headers.get(header::PROXY_AUTHORIZATION)).await
    }

    /// The user, by name where names are required, which these credentials prove.
    pub(crate) async fn who_says(
        &self,
        address: IpAddr,
        credentials: Option<&HeaderValue>,
    ) -> Result<(Who, ClassId), Refusal> {
        let Some(passwords) = self.passwords.borrow().clone() else { return Ok(self.by_address(address)) };
        loop {
            // One guess at a time and client: no client keeps others from being known.
            let is_guessing = self.guessing.borrow().contains(&address);
            let known = match passwords.check(credentials) {
                Check::Known(name) => Some(name),
                Check::Missing => return Err(Refusal::WhoAreYou),
                Check::Work(job) if !is_guessing => {
                    let _guess = Guess::new(&self.guessing, address);
                    let known = spawn_blocking(move || job.run()).await.unwrap_or(None);
                    if known.is_none() {
                        sleep(auth::DELAY).await;
                        return Err(Refusal::NotKnown);
                    }
                    known
                }
                Check::Unknown => None,
                Check::Work(_) | Check::Busy => {
                    sleep(auth::RETRY).await;
                    continue;
                }
            };
            let Some(name) = known else {
                sleep(auth::DELAY).await;
                return Err(Refusal::NotKnown);
            };
            let class = class_id(self.settings.config().class_of_user(&name, address));
            return Ok((Who::Name(name), class));
        }
    }
}

/// A client whose password is being examined.
struct Guess<'a> {
    all: &'a RefCell<HashSet<IpAddr>>,
    client: IpAddr,
}

impl<'a> Guess<'a> {
    fn new(all: &'a RefCell<HashSet<IpAddr>>, client: IpAddr) -> Self {
        all.borrow_mut().insert(client);
        Self { all, client }
    }
}

impl Drop for Guess<'_> {
    fn drop(&mut self) {
        self.all.borrow_mut().remove(&self.client);
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine, prelude::BASE64_STANDARD};

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
        let known = identities(passwords());
        let office = address("10.1.2.3");
        assert_eq!(known.who(office, &HeaderMap::new()).await, Err(Refusal::WhoAreYou));
        assert_eq!(known.who(office, &says("ann:a")).await, Ok((Who::Name("ann".into()), ClassId(1))));
        assert_eq!(known.who(office, &says("bob:b")).await, Ok((Who::Name("bob".into()), ClassId(0))), "by address");
        assert!(known.guessing.borrow().is_empty(), "nothing is being examined any more");
        known.set_passwords(None);
        assert_eq!(known.who(office, &says("ann:a")).await, Ok(known.by_address(office)));
    }

    #[tokio::test]
    async fn a_client_has_one_password_examined_at_a_time() {
        let known = identities(passwords());
        let client = address("10.1.2.3");
        let guess = Guess::new(&known.guessing, client);
        let (asked, other) = (says("ann:a"), says("bob:b"));
        let mut waits = std::pin::pin!(known.who(client, &asked));
        let soon = tokio::time::timeout(2 * auth::RETRY, &mut waits).await;
        assert!(soon.is_err(), "another look is in flight");
        assert!(known.who(address("10.1.2.4"), &other).await.is_ok(), "which delays no one else");
        drop(guess);
        assert!(waits.await.is_ok());
    }
}
