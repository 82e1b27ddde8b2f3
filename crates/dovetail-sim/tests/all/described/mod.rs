//! Networks as text: parsed with one replacement, and the reader's response.

#![allow(clippy::unwrap_used, dead_code)]

use std::io::{Cursor, ErrorKind};

use dovetail_sim::network::{Access, Kind, Network};
use proptest::prelude::*;

pub fn parse(text: &str) -> Result<Network, String> {
    let mut open = |name: &str| match name {
        "sizes.csv" => Ok(Box::new(Cursor::new("1 0\n9 1\n")) as Box<_>),
        _ => Err(ErrorKind::NotFound.into()),
    };
    Network::parse(text, "test.toml", &mut open).map_err(|error| error.to_string())
}

pub fn shipped(name: &str) -> String {
    let path = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// The first TOML example of a page.
pub fn example(page: &str) -> &str {
    page.split("```toml").nth(1).and_then(|rest| rest.split("```").next()).unwrap()
}

/// A network with one piece of text replaced.
pub fn exchanged(network: &str, old: &str, new: &str) -> String {
    assert_eq!(network.matches(old).count(), 1, "'{old}' is there once");
    network.replace(old, new)
}

/// A replacement in a network, the line of the error (0: no line is given) and the message.
pub type Mistake = (&'static str, &'static str, u64, &'static str);

pub fn check_mistakes(network: &str, mistakes: &[Mistake]) {
    let mut wrong = Vec::new();
    for &(old, new, line, said) in mistakes {
        let text = exchanged(network, old, new);
        let error = parse(&text).expect_err(&text);
        let place = if line == 0 { "test.toml: ".to_owned() } else { format!("test.toml, line {line}: ") };
        if !error.starts_with(&place) || !error.contains(said) {
            wrong.push(format!("{new}\n  said: {error}\n  not:  {place}…{said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whatever is accepted is consistent, and everything else is an error of this file.
pub fn answer(text: &str) {
    let _ = Network::is_described_by(text);
    match parse(text) {
        Err(error) => assert!(error.starts_with("test.toml"), "{error}"),
        Ok(network) => {
            let nodes = network.nodes.len();
            assert!(network.watched < network.links.len());
            assert!(network.links.iter().all(|link| link.from < nodes && link.to < nodes && link.from != link.to));
            assert!(network.stop_at.is_some() || network.transfers() > 0);
            let asked = network.traffic.iter().any(|traffic| matches!(traffic.kind, Kind::Requests(_)));
            assert_eq!(network.access.is_some(), asked);
            if let Some(Access { gateway, provider, .. }) = network.access {
                let watched = &network.links[network.watched];
                assert_eq!((watched.from, watched.to), (provider, gateway));
            }
            for (at, traffic) in network.traffic.iter().enumerate() {
                assert!(traffic.from.iter().chain(&traffic.to).all(|&node| node < nodes));
                let sizes = traffic.sizes(at, network.seed).take(10);
                assert!(sizes.into_iter().all(|bytes| (1..=1_000_000_000_000).contains(&bytes)), "{traffic:?}");
            }
        }
    }
}

/// A value that might be written instead of another.
pub fn any_value() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?[0-9]{1,19}",
        "-?[0-9]{1,3}\\.[0-9]{1,3}e-?[0-9]{1,3}",
        "\"[0-9.e+-]{0,8}(ns|us|ms|s|B|kB|GB|Mbps|/s|min)\"",
        "\"\\PC{0,10}\"",
        "nan|inf|-inf|true|\\[\\]|\\{\\}|\\[\\[1,1\\]\\]|\\[\"r1\",\"s1\"\\]",
    ]
}

/// A network whose values are between signs, with one of them replaced.
pub fn with_value(whole: &str, which: prop::sample::Index, value: &str) -> String {
    let parts: Vec<&str> = whole.split('@').collect();
    let which = which.index(parts.len() / 2);
    parts.iter().enumerate().map(|(at, part)| if at == 2 * which + 1 { value } else { part }).collect()
}

/// A network with a piece of `cut` bytes replaced.
pub fn with_piece(whole: &str, at: prop::sample::Index, cut: usize, put: &str) -> String {
    let whole = whole.replace('@', "");
    let at = at.index(whole.len());
    format!("{}{put}{}", &whole[..at], &whole[(at + cut).min(whole.len())..])
}
