//! TCP connections of the kernel from one namespace to another: transfers that begin at given times, and one that never ends.
//!
//! A transfer's first eight bytes are its number. Its duration is from before its SYN until its receiver has the last byte,
//! by one clock; its sender keeps the connection until then, so that the kernel does not drop it as an orphan.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use dovetail_netns::Namespace;
use dovetail_sched::Nanos;
use dovetail_sim::network::{NetworkOutcome, Stream, Transfer};

/// The port of receivers.
const PORT: u16 = 5001;
/// Stack size of connections' threads: they need hardly any, and there may be hundreds.
const STACK_BYTES: usize = 128 << 10;
/// The number of a connection that never ends.
const ENDLESS: u64 = u64::MAX;
const NUMBER_BYTES: usize = 8;

/// The transfers to make.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// When each transfer begins, counted from the beginning of the run, and its bytes, in order of beginning.
    pub transfers: Vec<(Nanos, u64)>,
    /// Whether there is also a connection that never ends.
    pub endless: bool,
    /// How long to wait for the rest after the last has begun.
    pub patience: Duration,
}

/// What receivers observed.
struct Heard {
    began: Instant,
    ended: Vec<Mutex<Option<Instant>>>,
    done: AtomicUsize,
    stream: Mutex<Vec<u64>>,
}

/// Performs the plan, and returns when everything has arrived, or patience ends. `far` is an address of `to`.
pub(super) fn run(plan: &Plan, from: &Namespace, to: &Namespace, far: Ipv4Addr) -> io::Result<NetworkOutcome> {
    let listener = to.within(|| TcpListener::bind((far, PORT)))?;
    let heard = Arc::new(Heard {
        began: Instant::now(),
        ended: plan.transfers.iter().map(|_| Mutex::default()).collect(),
        done: AtomicUsize::new(0),
        stream: Mutex::default(),
    });
    let is_over = Arc::new(AtomicBool::new(false));
    let accepting = thread::spawn({
        let (heard, is_over) = (heard.clone(), is_over.clone());
        move || accept(&listener, &heard, &is_over)
    });
    let begun = from.within(|| send(plan, far, &heard, &is_over));
    is_over.store(true, Relaxed);
    // Wakes the accepting thread, so that it checks whether the run is over.
    let _ = from.within(|| TcpStream::connect((far, PORT)));
    let _ = accepting.join();
    Ok(outcome(plan, &begun?, &heard))
}

fn outcome(plan: &Plan, begun: &[Option<Nanos>], heard: &Heard) -> NetworkOutcome {
    let since = |at: Instant| Nanos::from(at - heard.began);
    let transfer = |(number, &(planned, bytes)): (usize, &(Nanos, u64))| Transfer {
        traffic: 0,
        bytes,
        begun: begun[number].unwrap_or(planned),
        ended: locked(&heard.ended[number]).map(since),
        packets: 0,
        dropped: 0,
    };
    let received_bytes = locked(&heard.stream).clone();
    let stream = Stream { traffic: 1, received_bytes, ..Stream::default() };
    NetworkOutcome {
        transfers: plan.transfers.iter().enumerate().map(transfer).collect(),
        streams: if plan.endless { vec![stream] } else { Vec::new() },
        ended: Nanos::from(heard.began.elapsed()),
        ..NetworkOutcome::default()
    }
}

fn locked<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().stack_size(STACK_BYTES).spawn(work).map(drop)
}

/// Begins transfers in this thread's namespace, and waits; returns when each began.
fn send(plan: &Plan, far: Ipv4Addr, heard: &Arc<Heard>, is_over: &Arc<AtomicBool>) -> io::Result<Vec<Option<Nanos>>> {
    let begun: Arc<Vec<Mutex<Option<Nanos>>>> = Arc::new(plan.transfers.iter().map(|_| Mutex::default()).collect());
    if plan.endless {
        let is_over = is_over.clone();
        spawn(move || drop(connected(far).and_then(|stream| send_on(stream, &is_over))))?;
    }
    for (number, &(at, bytes)) in plan.transfers.iter().enumerate() {
        thread::sleep(Duration::from_nanos(at.0).saturating_sub(heard.began.elapsed()));
        let (begun, heard) = (begun.clone(), heard.clone());
        spawn(move || {
            *locked(&begun[number]) = Some(Nanos::from(heard.began.elapsed()));
            // A transfer that fails does not end, and counts as unfinished.
            drop(connected(far).and_then(|stream| transfer(stream, number as u64, bytes)));
        })?;
    }
    let until = Instant::now() + plan.patience;
    while heard.done.load(Relaxed) < plan.transfers.len() && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
    Ok(begun.iter().map(|begun| *locked(begun)).collect())
}

/// A lost SYN is retransmitted by the kernel, like any other packet.
fn connected(far: Ipv4Addr) -> io::Result<TcpStream> {
    TcpStream::connect((far, PORT))
}

/// Sends this many bytes and waits until the receiver has them.
fn transfer(mut stream: TcpStream, number: u64, bytes: u64) -> io::Result<()> {
    let chunk = vec![0; 16 << 10];
    let mut first = chunk.clone();
    first[..NUMBER_BYTES].copy_from_slice(&number.to_be_bytes());
    let mut left = bytes as usize;
    let mut next = &first;
    while left > 0 {
        let sent = stream.write(&next[..left.min(next.len())])?;
        left -= sent;
        next = &chunk;
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.read_to_end(&mut Vec::new()).map(drop)
}

fn send_on(mut stream: TcpStream, is_over: &AtomicBool) -> io::Result<()> {
    stream.write_all(&ENDLESS.to_be_bytes())?;
    let chunk = vec![0; 16 << 10];
    while !is_over.load(Relaxed) {
        stream.write_all(&chunk)?;
    }
    Ok(())
}

fn accept(listener: &TcpListener, heard: &Arc<Heard>, is_over: &AtomicBool) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept()?;
        if is_over.load(Relaxed) {
            return Ok(());
        }
        let heard = heard.clone();
        // An aborted connection is an unfinished transfer.
        spawn(move || drop(receive(stream, &heard)))?;
    }
}

fn receive(mut stream: TcpStream, heard: &Heard) -> io::Result<()> {
    let mut number = [0; NUMBER_BYTES];
    stream.read_exact(&mut number)?;
    let number = u64::from_be_bytes(number);
    let mut last = Instant::now();
    let mut chunk = vec![0; 64 << 10];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(got) => {
                last = Instant::now();
                if number == ENDLESS {
                    let second = (last - heard.began).as_secs() as usize;
                    let mut seconds = locked(&heard.stream);
                    let least = seconds.len().max(second + 1);
                    seconds.resize(least, 0);
                    seconds[second] += got as u64;
                }
            }
            Err(wrong) if wrong.kind() == ErrorKind::Interrupted => {}
            Err(wrong) => return Err(wrong),
        }
    }
    if let Some(ended) = heard.ended.get(number as usize) {
        *locked(ended) = Some(last);
        heard.done.fetch_add(1, Relaxed);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planned_arrives_and_what_does_not_end_is_counted() {
        let name = format!("dvx{}conn", std::process::id());
        let namespace = match Namespace::new(name) {
            Ok(namespace) => namespace,
            Err(why) => return dovetail_skip::skipped(why),
        };
        dovetail_netns::tool("ip", &format!("-n {} link set lo up", namespace.name())).unwrap();
        let transfers: Vec<_> = (0..20).map(|at| (Nanos::from_millis(at), 1000 * (at + 1))).collect();
        let plan = Plan { transfers, endless: true, patience: Duration::from_secs(60) };
        let outcome = run(&plan, &namespace, &namespace, Ipv4Addr::LOCALHOST).unwrap();
        assert_eq!(outcome.transfers.len(), 20);
        for (at, transfer) in outcome.transfers.iter().enumerate() {
            assert_eq!(transfer.bytes, 1000 * (at as u64 + 1));
            assert!(transfer.begun >= Nanos::from_millis(at as u64), "{transfer:?}");
            assert!(
                transfer.ended.is_some_and(|ended| ended > transfer.begun && ended <= outcome.ended),
                "{transfer:?}"
            );
        }
        assert_eq!(outcome.streams.len(), 1);
    }
}
