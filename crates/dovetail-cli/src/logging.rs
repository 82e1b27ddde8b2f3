//! The log of a long-running command, on standard error.
//!
//! A line is `dovetail: ` and the message, like the command's other messages, with the level in between unless it is
//! informational. There is no timestamp: whatever stores such lines, such as systemd's journal, adds one.

use std::{
    env, fmt,
    io::{IsTerminal, stderr},
};

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    fmt::{
        FmtContext, FormatEvent, FormatFields, Layer,
        format::{DefaultFields, Writer},
    },
    layer::SubscriberExt,
    registry::LookupSpan,
    util::SubscriberInitExt,
};

use crate::failure::Failure;

/// Environment variable that sets the log level.
const LEVEL: &str = "DOVETAIL_LOG";
/// Default filter: only targets that begin with this. Libraries are silent: what they warn of is often repeated
/// misbehaviour of a client.
const USUAL: &str = "dovetail=info";

/// Installs the logger, filtered by `DOVETAIL_LOG`.
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
    let hint = format!("give a level, such as debug, or levels by target, such as {USUAL}");
    // A misspelt level would be taken for a target, and nothing else would be logged.
    if let Some(word) = wanted.split(',').map(str::trim).find(|word| !word.is_empty() && !is_level_or_target(word)) {
        return Err(Failure::misuse(format!(
            "{LEVEL}={wanted}: '{word}' is neither a level nor target=level, as in '{word}=debug': {hint}"
        )));
    }
    wanted.parse().map_err(|why| Failure::misuse(format!("{LEVEL}={wanted}: {why}: {hint}")))
}

/// Whether part of a filter is a level, or is surely meant as a target.
fn is_level_or_target(word: &str) -> bool {
    word.parse::<LevelFilter>().is_ok() || word.starts_with("dovetail") || word.contains("::") || word.contains('=')
}

/// The format of a line.
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

/// The word for a level, and its colour (ECMA-48, section 8.3.117).
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
        for wrong in ["dovetail_gateway=loud", "warning", "info,verbose", "Trace level"] {
            let why = targets(wrong).err().map(|why| format!("{why:?}")).unwrap_or_default();
            assert!(why.contains("DOVETAIL_LOG=") && why.contains("such as debug"), "{wrong}: {why}");
        }
        for right in ["WARN", "off", "3", "info,hyper=warn", "dovetail_gateway", "hyper::proto", ""] {
            assert!(targets(right).is_ok(), "{right}");
        }
    }
}
