//! Emulates round trips: a delay line between two TUN devices, one on the provider's side and one on the servers'.
//!
//! Each packet waits half of its server's round-trip time, and packets of a server keep their order. In each direction, one
//! thread takes packets and another releases them.

use std::{
    cmp::Ordering as By,
    collections::BinaryHeap,
    fs::File,
    io::{self, Read, Write},
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

/// How often a thread without packets checks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// Offsets of the addresses in an IPv4 header.
const SOURCE_AT: usize = 12;
const DESTINATION_AT: usize = 16;
const HEADER_BYTES: usize = 20;

/// A delay line that runs until dropped.
#[derive(Debug)]
pub(super) struct DelayLine {
    stop: Arc<AtomicBool>,
    // The longest delay of a packet beyond its due time, in nanoseconds.
    latest: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl DelayLine {
    /// Starts a line between the devices behind these files. `one_way` has each server's address and delay.
    ///
    /// # Errors
    /// Those of the system, if files cannot be shared or threads not started.
    pub(super) fn new(provider: File, servers: File, one_way: &[(Ipv4Addr, Duration)]) -> io::Result<Self> {
        let mut line = Self { stop: Arc::default(), latest: Arc::default(), threads: Vec::new() };
        let ways = [(provider.try_clone()?, servers.try_clone()?, DESTINATION_AT), (servers, provider, SOURCE_AT)];
        for (from, to, address_at) in ways {
            let (arrives, leaves) = channel();
            let (stop, one_way) = (Arc::clone(&line.stop), one_way.to_vec());
            let taker = move || {
                let delay = |packet: &[u8]| delay_of(packet, address_at, &one_way);
                take(&from, &stop, &arrives, delay);
            };
            let latest = Arc::clone(&line.latest);
            line.threads.push(thread::Builder::new().spawn(taker)?);
            line.threads.push(thread::Builder::new().spawn(move || let_go(to, &leaves, &latest))?);
        }
        Ok(line)
    }

    /// The longest delay of a packet beyond its due time since the last call.
    pub(super) fn latest(&self) -> Duration {
        Duration::from_nanos(self.latest.swap(0, Ordering::Relaxed))
    }
}

impl Drop for DelayLine {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that panicked has already reported it.
            let _ = thread.join();
        }
    }
}

/// How long a packet waits; `None` drops anything but IPv4 to or from a server.
fn delay_of(packet: &[u8], address_at: usize, one_way: &[(Ipv4Addr, Duration)]) -> Option<Duration> {
    let header = packet.get(..HEADER_BYTES).filter(|header| header[0] >> 4 == 4)?;
    let address: [u8; 4] = header.get(address_at..address_at + 4)?.try_into().ok()?;
    one_way.iter().find(|(server, _)| server.octets() == address).map(|&(_, delay)| delay)
}

/// A packet on its way. The greatest is the one that is due first, and of two due at once the one that arrived first.
struct Waiting {
    due: Instant,
    number: u64,
    packet: Vec<u8>,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> By {
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<By> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == By::Equal
    }
}

impl Eq for Waiting {}

fn take(mut from: &File, stop: &AtomicBool, arrives: &Sender<Waiting>, delay: impl Fn(&[u8]) -> Option<Duration>) {
    let mut buffer = vec![0; 1 << 16];
    let look = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
    for number in 0.. {
        loop {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            match poll(&mut [PollFd::new(from, PollFlags::IN)], Some(&look)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => break,
                Err(_) => return,
            }
        }
        // A device that is down returns an error; it will be up soon.
        let Ok(length) = from.read(&mut buffer) else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        let packet = &buffer[..length];
        let Some(delay) = delay(packet) else { continue };
        if arrives.send(Waiting { due: Instant::now() + delay, number, packet: packet.to_vec() }).is_err() {
            return;
        }
    }
}

/// Releases packets; ends when no more can arrive and all have left.
fn let_go(mut to: File, leaves: &Receiver<Waiting>, latest: &AtomicU64) {
    let mut waiting = BinaryHeap::<Waiting>::new();
    loop {
        let next = match waiting.peek() {
            Some(first) => leaves.recv_timeout(first.due.saturating_duration_since(Instant::now())),
            None => leaves.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match next {
            Ok(packet) => waiting.push(packet),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = Instant::now();
        while waiting.peek().is_some_and(|first| first.due <= now) {
            let Some(first) = waiting.pop() else { break };
            let late = first.due.elapsed().as_nanos().try_into().unwrap_or(u64::MAX);
            latest.fetch_max(late, Ordering::Relaxed);
            // A device that is being removed takes no packets.
            let _ = to.write_all(&first.packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_wait_by_their_server() {
        let servers = [(Ipv4Addr::new(10, 200, 0, 1), 5), (Ipv4Addr::new(10, 200, 0, 2), 50)];
        let one_way = servers.map(|(server, millis)| (server, Duration::from_millis(millis)));
        let mut packet = vec![0; 40];
        packet[0] = 0x45;
        packet[SOURCE_AT..][..4].copy_from_slice(&[10, 200, 0, 2]);
        packet[DESTINATION_AT..][..4].copy_from_slice(&[10, 200, 0, 1]);
        assert_eq!(delay_of(&packet, DESTINATION_AT, &one_way), Some(Duration::from_millis(5)));
        assert_eq!(delay_of(&packet, SOURCE_AT, &one_way), Some(Duration::from_millis(50)));
        assert_eq!(delay_of(&packet[..19], SOURCE_AT, &one_way), None);
        packet[SOURCE_AT] = 11;
        assert_eq!(delay_of(&packet, SOURCE_AT, &one_way), None);
        packet[0] = 0x60;
        assert_eq!(delay_of(&packet, DESTINATION_AT, &one_way), None);
    }

    #[test]
    fn the_first_due_is_first_and_ties_keep_their_order() {
        let now = Instant::now();
        let at = |millis, number| Waiting { due: now + Duration::from_millis(millis), number, packet: Vec::new() };
        let mut heap = BinaryHeap::from([at(3, 0), at(1, 2), at(1, 1), at(2, 3)]);
        let order: Vec<_> = std::iter::from_fn(|| heap.pop()).map(|one| one.number).collect();
        assert_eq!(order, [1, 2, 3, 0]);
    }
}
