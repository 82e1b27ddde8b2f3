//! The log of a long-running command, on standard error.
//!
//! A line is `dovetail: ` and what happened, as the command's other messages are, and a word where that is no mere news. There
//! is no time in it: who keeps such lines, systemd's journal for one, notes that anyway.

use std::{
    env, fmt,
    io::{IsTerminal, stderr},
};

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    filter::Targets,
    fmt::{
        FmtContext, FormatEvent, FormatFields, Layer,
        format::{DefaultFields, Writer},
    },
    layer::SubscriberExt,
    registry::LookupSpan,
    util::SubscriberInitExt,
};

use crate::failure::Failure;

/// What says how much is said.
const LEVEL: &str = "DOVETAIL_LOG";
/// What is said unless that is set: all whose target begins so. Libraries are silent: what they warn of is often a client's doing, again and again.
const USUAL: &str = "dovetail=info";

/// Has everything said from now on, as far as `DOVETAIL_LOG` wants it.
pub(crate) fn install() -> Result<(), Failure> {
    let wanted = env::var(LEVEL).ok().filter(|wanted| !wanted.is_empty());
    let targets = targets(wanted.as_deref().unwrap_or(USUAL))?;
    let is_plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let layer = Layer::new()
        .with_writer(stderr)
        .with_ansi(!is_plain && stderr().is_terminal())
        .fmt_fields(DefaultFields::new())
        .event_format(Line);
    tracing_subscriber::registry().with(targets).with(layer).try_init().map_err(Failure::new)
}

fn targets(wanted: &str) -> Result<Targets, Failure> {
    wanted.parse().map_err(|why| {
        Failure::misuse(format!(
            "{LEVEL}={wanted}: {why}: give a level, such as debug, or levels by target, such as {USUAL}"
        ))
    })
}

/// A line as the command writes them.
struct Line;

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, ctx: &FmtContext<'_, S, N>, mut to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let metadata = event.metadata();
        to.write_str("dovetail: ")?;
        if let Some((word, colour)) = word(metadata.level()) {
            if to.has_ansi_escapes() { write!(to, "\x1b[{colour}m{word}\x1b[0m: ")? } else { write!(to, "{word}: ")? }
        }
        if *metadata.level() > Level::INFO {
            write!(to, "{}: ", metadata.target())?;
        }
        ctx.format_fields(to.by_ref(), event)?;
        writeln!(to)
    }
}

/// What stands before a line, and its colour (ECMA-48, section 8.3.117).
fn word(level: &Level) -> Option<(&'static str, u8)> {
    match *level {
        Level::ERROR => Some(("error", 31)),
        Level::WARN => Some(("warning", 33)),
        Level::INFO => None,
        Level::DEBUG => Some(("debug", 2)),
        Level::TRACE => Some(("trace", 2)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::fmt::MakeWriter;

    use super::*;

    #[derive(Clone, Default)]
    struct Said(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Said {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("no panic").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Said {
        type Writer = Self;

        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    fn said(wanted: &str, is_coloured: bool) -> String {
        let said = Said::default();
        let layer = Layer::new().with_writer(said.clone()).with_ansi(is_coloured).event_format(Line);
        let subscriber = tracing_subscriber::registry().with(targets(wanted).expect("targets")).with(layer);
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(target: "dovetail_gateway::life", "listening");
            tracing::warn!(target: "dovetail_gateway::own", "no {}", "room");
            tracing::debug!(target: "dovetail_gateway::own", client = 7, "it came");
            tracing::error!(target: "a_library", "a client's doing");
        });
        let bytes = said.0.lock().expect("no panic").clone();
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn a_line_is_what_happened_and_how_bad_it_is() {
        assert_eq!(said(USUAL, false), "dovetail: listening\ndovetail: warning: no room\n");
        assert_eq!(said("warn", false), "dovetail: warning: no room\ndovetail: error: a client's doing\n");
        let all = said("dovetail_gateway=debug", false);
        assert!(all.ends_with("dovetail: debug: dovetail_gateway::own: it came client=7\n"), "{all}");
        assert_eq!(said("off", false), "");
        assert_eq!(said("dovetail_gateway=warn", true), "dovetail: \x1b[33mwarning\x1b[0m: no room\n");
    }

    #[test]
    fn a_level_that_is_none_is_a_wrong_usage() {
        assert!(targets("dovetail_gateway=loud").is_err_and(|why| format!("{why:?}").contains("DOVETAIL_LOG=")));
    }
}
