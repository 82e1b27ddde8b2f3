//! Runs a gateway from its start to its end.

use std::{io, net::SocketAddr, path::PathBuf, rc::Rc, time::Duration};

use tokio::{
    runtime::{Builder, LocalOptions, LocalRuntime},
    select,
    sync::mpsc,
    task::spawn_local,
    time::{MissedTickBehavior, interval},
};
use tracing::{info, warn};

use super::{
    control::Control,
    drain::{Ending, drain},
    parts::Parts,
    reload::reload,
    signals,
};
use crate::{
    admin,
    config::Config,
    descriptors::Descriptors,
    error::GatewayError,
    listen::{Accepting, Listeners, Sources},
    probe,
};

/// Runs a gateway on this thread until it is stopped. `ready` receives the addresses where it listens.
///
/// # Errors
/// [`GatewayError`] if it cannot start.
pub fn run(
    config: Config,
    control: mpsc::Receiver<Control>,
    ready: impl FnOnce(&[SocketAddr]),
) -> Result<(), GatewayError> {
    runtime()?.block_on(live(config, control, Sources::default(), ready))
}

/// Runs a gateway until SIGTERM or SIGINT, which let it finish open requests; a second one ends it at once. SIGHUP reloads the
/// file.
///
/// Sockets passed by a service manager (sd_listen_fds(3)) are used for the addresses that they are bound to. With `takes_over`,
/// so are those of another process's gateway, which drains once this one serves.
///
/// # Errors
/// [`GatewayError`] if it cannot start.
pub fn run_until_signalled(
    config: Config,
    file: PathBuf,
    takes_over: bool,
    ready: impl FnOnce(&[SocketAddr]),
) -> Result<(), GatewayError> {
    runtime()?.block_on(async {
        let control = signals::listen(file)?;
        live(config, control, Sources::of_process(takes_over), ready).await
    })
}

/// A single thread: a narrow link leaves it mostly idle, and shared state needs no locks.
fn runtime() -> io::Result<LocalRuntime> {
    Builder::new_current_thread().enable_all().build_local(LocalOptions::default())
}

async fn live(
    config: Config,
    mut control: mpsc::Receiver<Control>,
    sources: Sources,
    ready: impl FnOnce(&[SocketAddr]),
) -> Result<(), GatewayError> {
    let descriptors = Descriptors::raise()?;
    if let Some(warning) = descriptors.warning(&config.limits) {
        warn!("{warning}");
    }
    let listeners = Listeners::open(&config, sources)?;
    let parts = Rc::new(Parts::new(config, descriptors)?);
    if let Some(warning) = parts.tls.warning() {
        warn!("{warning}");
    }
    parts.link.drive();
    parts.calendar.look();
    probe::start(&parts.probes)?;
    if let Some(listener) = &listeners.admin {
        admin::start(parts.seen(), &parts.room, parts.stops.subscribe(), listener.try_clone()?)?;
    }
    spawn_local(go_round(Rc::clone(&parts)));
    spawn_local(Rc::clone(&parts.quotas).keep());
    spawn_local(Rc::clone(&parts.quotas).follow());
    let (addresses, mut accepting) = Accepting::start(listeners, &Rc::new(parts.door()))?;
    ready(&addresses);
    accepting.confirm(&parts.taken_over);
    let ending = loop {
        select! {
            asked = control.recv() => match asked {
                Some(Control::Reload(config)) => reload(&parts, *config),
                #[cfg(feature = "test-support")]
                Some(Control::SetClock(ahead)) => parts.settings.set_ahead(ahead),
                // The request may have been cancelled.
                #[cfg(feature = "test-support")]
                Some(Control::Look(sender)) => drop(sender.send(parts.counts())),
                Some(Control::Drain) | None => break Ending::Drain,
                Some(Control::Stop) => break Ending::AtOnce,
            },
            () = parts.taken_over.notified() => {
                info!("another process took over: finishing open requests");
                break Ending::TakenOver;
            }
        }
    };
    accepting.end(&parts.stops).await;
    drain(&parts, &mut control, ending).await;
    parts.quotas.write_last().await;
    Ok(())
}

/// How often this machine's addresses are read, in seconds, since interfaces come and go.
const OWN_EVERY_S: u64 = 30;

/// Performs the periodic tasks, once a second.
async fn go_round(parts: Rc<Parts>) {
    let mut seconds = interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for second in 1_u64.. {
        seconds.tick().await;
        if second.is_multiple_of(OWN_EVERY_S) {
            parts.destinations.refresh();
        }
        let config = parts.settings.config();
        parts.watch.go_round(&config.timeouts);
        parts.pool.sweep(config.timeouts.pool);
        parts.link.uplink().look();
        parts.calendar.look();
        parts.quotas.look();
    }
}
