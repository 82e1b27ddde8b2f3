//! Starts the configured measurement of the far queue.

use std::{io, rc::Rc, time::Instant};

use tokio::task::spawn_local;

use super::{
    health::Health,
    packet::Echo,
    probes::Probes,
    sending::{listen, send},
    tcp,
};
use crate::{config::Probe, error::GatewayError};

/// Starts the configured probe.
pub(crate) fn start(probes: &Rc<Probes>) -> Result<(), GatewayError> {
    change(probes, &probes.configured())?;
    spawn_local(tcp::tell(Rc::clone(probes)));
    Ok(())
}

/// Replaces the probe; the old one stays if the new one cannot be started.
pub(crate) fn change(probes: &Rc<Probes>, probe: &Probe) -> Result<(), GatewayError> {
    let is_sent = !matches!(probe, Probe::Off | Probe::Tcp);
    let echo = is_sent.then(|| Echo::start(probe)).transpose().map_err(|error| cannot(probe, &error))?;
    probes.probing().stop();
    // Earlier measurements are of another path.
    probes.dispatcher().forget_probes();
    if let Some(echo) = echo {
        let health = Rc::new(Health::new(probe.to_string(), Instant::now()));
        let echo = Rc::new(echo);
        let listens = spawn_local(listen(probes.dispatcher().clone(), Rc::clone(&echo), Rc::clone(&health)));
        let sends = spawn_local(send(Rc::clone(probes), echo, Rc::clone(&health)));
        probes.probing().set(health, vec![listens, sends]);
    }
    Ok(())
}

fn cannot(probe: &Probe, error: &io::Error) -> GatewayError {
    let why = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "sending ICMP needs root or CAP_NET_RAW, or a group in net.ipv4.ping_group_range; or set probe = \"tcp\""
                .to_owned()
        }
        _ => error.to_string(),
    };
    GatewayError::Probe(probe.to_string(), why)
}
