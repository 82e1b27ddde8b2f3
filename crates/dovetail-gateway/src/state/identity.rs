//! The user of a request: a client's address, or the name that the client proves where there are passwords.

use std::{cell::RefCell, collections::HashSet, net::IpAddr, rc::Rc, sync::Arc};

use dovetail_sched::request::ClassId;
use http::header::{self, HeaderMap, HeaderValue};
use tokio::{task::spawn_blocking, time::sleep};

use super::settings::Settings;
use crate::{
    auth::{self, Check, Helper, Known, Passwords},
    class::{class_id, class_of},
    config,
    refusal::Refusal,
    who::Who,
};

/// Knows users and their classes.
#[derive(Debug)]
pub(crate) struct Identities {
    settings: Rc<Settings>,
    passwords: RefCell<Option<Rc<Passwords>>>,
    helper: RefCell<Option<Rc<Helper>>>,
    guessing: RefCell<HashSet<Who>>,
}

impl Identities {
    /// With passwords clients have to say who they are.
    pub(crate) fn new(settings: Rc<Settings>, passwords: Option<Passwords>) -> Self {
        Self {
            settings,
            passwords: RefCell::new(passwords.map(Rc::new)),
            helper: RefCell::default(),
            guessing: RefCell::default(),
        }
    }

    /// Other passwords, or none.
    pub(crate) fn set_passwords(&self, passwords: Option<Passwords>) {
        *self.passwords.borrow_mut() = passwords.map(Rc::new);
    }

    /// Another program that examines passwords, or none. One that is the same goes on.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub(crate) fn set_helper(&self, config: Option<config::Helper>) -> Result<(), getrandom::Error> {
        let mut helper = self.helper.borrow_mut();
        if helper.as_ref().map(|helper| helper.config()) != config.as_ref() {
            *helper = config.map(Helper::new).transpose()?.map(Rc::new);
        }
        Ok(())
    }

    /// The user, by the client's address.
    pub(crate) fn by_address(&self, address: IpAddr) -> (Who, ClassId) {
        let config = self.settings.config();
        let who = Who::at(&config, address);
        let class = class_of(&config, &who);
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
        let helper = self.helper.borrow().clone();
        if let Some(helper) = helper {
            let name = self.name_by(&helper, address, credentials).await?;
            return Ok(self.by_name(name, address));
        }
        let Some(passwords) = self.passwords.borrow().clone() else { return Ok(self.by_address(address)) };
        let client = Who::at(&self.settings.config(), address);
        loop {
            // One guess at a time and client: no client keeps others from being known.
            let is_guessing = self.guessing.borrow().contains(&client);
            let known = match passwords.check(credentials) {
                Check::Known(name) => Some(name),
                Check::Missing => return Err(Refusal::WhoAreYou),
                Check::Work(job) if !is_guessing => {
                    let _guess = Guess::new(&self.guessing, client.clone());
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
            return Ok(self.by_name(name, address));
        }
    }

    /// The user, by a name that was proved.
    fn by_name(&self, name: Arc<str>, address: IpAddr) -> (Who, ClassId) {
        let config = self.settings.config();
        let who = Who::named(&config, &name);
        let class = match &who {
            Who::Name(name) => class_id(config.class_of_user(name, address)),
            _ => class_of(&config, &who),
        };
        (who, class)
    }

    /// The name that another program says is the client's.
    async fn name_by(&self, helper: &Helper, address: IpAddr, said: Option<&HeaderValue>) -> Result<Arc<str>, Refusal> {
        let client = Who::at(&self.settings.config(), address);
        loop {
            match helper.known(said) {
                Known::User(name) => return Ok(name),
                Known::Missing => return Err(Refusal::WhoAreYou),
                Known::Wrong => {
                    sleep(auth::DELAY).await;
                    return Err(Refusal::NotKnown);
                }
                // One at a time and client, as for a file.
                Known::Nothing(_) if self.guessing.borrow().contains(&client) => sleep(auth::RETRY).await,
                Known::Nothing(credentials) => {
                    let _guess = Guess::new(&self.guessing, client.clone());
                    return match helper.ask(credentials).await {
                        Ok(Some(name)) => Ok(name),
                        Ok(None) => {
                            sleep(auth::DELAY).await;
                            Err(Refusal::NotKnown)
                        }
                        Err(()) => Err(Refusal::NoHelper),
                    };
                }
            }
        }
    }
}

/// A client whose password is being examined.
struct Guess<'a> {
    all: &'a RefCell<HashSet<Who>>,
    client: Who,
}

impl<'a> Guess<'a> {
    fn new(all: &'a RefCell<HashSet<Who>>, client: Who) -> Self {
        all.borrow_mut().insert(client.clone());
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
        let guess = Guess::new(&known.guessing, Who::Address(client));
        let (asked, other) = (says("ann:a"), says("bob:b"));
        let mut waits = std::pin::pin!(known.who(client, &asked));
        let soon = tokio::time::timeout(2 * auth::RETRY, &mut waits).await;
        assert!(soon.is_err(), "another look is in flight");
        assert!(known.who(address("10.1.2.4"), &other).await.is_ok(), "which delays no one else");
        drop(guess);
        assert!(waits.await.is_ok());
    }
}
