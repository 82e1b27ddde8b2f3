//! Traffic from one side of a lab to the other.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

use dovetail_box::live::lab::{Lab, Place, datagram};

use crate::live::FAR;
pub use crate::numbered::{PATIENCE, Record, Stream, go_on, report};

/// Numbered frames of this length, of this many flows in turn, from the inside or the outside.
pub fn frames(lab: &Lab, from: Place, flows: u16, bytes: usize) -> Stream {
    let to = if from == Place::Inside { Place::Outside } else { Place::Inside };
    let (source, mut target) = (lab.raw(from).unwrap(), lab.raw(to).unwrap());
    let send = move |number| {
        let frame = datagram::frame(from, (number % u64::from(flows)) as u16, number, bytes);
        source.send(std::iter::once(&*frame)).unwrap() == 1
    };
    let hear = move || {
        while let Some(frame) = target.receive() {
            if let Some(number) = datagram::number(frame) {
                return Some(number);
            }
        }
        thread::sleep(Duration::from_millis(1));
        None
    };
    Stream::start(flows, send, hear)
}

/// Both ways.
pub fn both_ways(lab: &Lab) -> [Stream; 2] {
    [Place::Inside, Place::Outside].map(|from| frames(lab, from, 7, 200))
}

/// Sends this many bytes from the inside to the outside by TCP, and expects them back unchanged.
pub fn echo(lab: &Lab, bytes: usize) {
    let listener = lab.namespace(Place::Outside).within(|| TcpListener::bind((FAR, 80))).unwrap();
    let answers = thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        let mut got = vec![0; bytes];
        stream.read_exact(&mut got)?;
        stream.write_all(&got)
    });
    let connect = || TcpStream::connect_timeout(&(FAR, 80).into(), PATIENCE);
    let mut stream = lab.namespace(Place::Inside).within(connect).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let sent: Vec<u8> = (0..bytes as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    stream.write_all(&sent).unwrap();
    let mut back = vec![0; bytes];
    stream.read_exact(&mut back).unwrap();
    answers.join().unwrap().unwrap();
    assert!(back == sent);
}
