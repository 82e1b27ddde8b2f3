//! Runtime changes requested through the admin port.
//!
//! The box answers within milliseconds, and reading a configuration may take a little longer. Both block a separate thread,
//! so that no other request is delayed. One change is made at a time, so there is one such thread.

use std::{sync::Arc, time::Duration};

use dovetail_admin::Fault;
use http::StatusCode;
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};

use crate::{config::Config, live::Control};

/// Makes a box read and apply its configuration again.
pub type Reload = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// The program's name in error messages.
pub(super) const NAME: &str = "middlebox";

/// Timeout for a change.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct Changes {
    control: Control,
    reload: Option<Arc<Reload>>,
    turn: Arc<Semaphore>,
}

impl Changes {
    pub(super) fn new(control: Control, reload: Option<Reload>) -> Self {
        Self { control, reload: reload.map(Arc::new), turn: Arc::new(Semaphore::new(1)) }
    }

    pub(super) const fn can_reload(&self) -> bool {
        self.reload.is_some()
    }

    /// Sets the policy's parameters from a policy string; returns the resulting policy.
    pub(super) async fn retune(&self, body: &[u8]) -> Result<String, Fault> {
        let wrong = |what: String| Fault::new(StatusCode::BAD_REQUEST, what);
        let text = std::str::from_utf8(body).map(str::trim).unwrap_or_default();
        if text.is_empty() {
            return Err(wrong("Send a policy as text, such as tradeoff:alpha=0.9.".into()));
        }
        let policy = Config::policy(text).map_err(wrong)?.to_string();
        let (control, text) = (self.control.clone(), text.to_owned());
        self.make(move || control.retune(&text)).await?;
        Ok(policy)
    }

    /// Reads the configuration again.
    pub(super) async fn reload(&self) -> Result<(), Fault> {
        let Some(reload) = self.reload.clone() else {
            return Err(Fault::new(StatusCode::NOT_FOUND, "This box was started without a file to read again."));
        };
        self.make(move || reload()).await
    }

    async fn make(&self, change: impl FnOnce() -> Result<(), String> + Send + 'static) -> Result<(), Fault> {
        let unavailable = |what| Fault::new(StatusCode::SERVICE_UNAVAILABLE, what);
        let Ok(turn) = Arc::clone(&self.turn).try_acquire_owned() else {
            return Err(unavailable("Another change is being made: try again."));
        };
        let made = spawn_blocking(move || {
            let made = change();
            drop(turn);
            made
        });
        match timeout(TIMEOUT, made).await {
            Ok(Ok(made)) => made.map_err(|what| Fault::new(StatusCode::CONFLICT, what)),
            Ok(Err(error)) => Err(Fault::failed(NAME, &error)),
            Err(_) => Err(unavailable("The box has not answered. It may still make the change.")),
        }
    }
}
