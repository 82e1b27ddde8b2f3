//! `dovetail gateway doctor`: measures a link, reports the findings, and writes a first configuration.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write},
    path::Path,
    time::Duration,
};

use dovetail_compare::{Meter, Progress as _, Task, output::print};
use dovetail_gateway::doctor::{Bounds, Plan, Progress, Target, examine};

use crate::{args::DoctorArgs, bars::Bars, failure::Failure, output::tell};

/// Minimum and maximum time for filling a direction.
const TIMES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(300));
/// Smaller transfers end before a window has grown.
const MIN_TRANSFER_BYTES: u64 = 100_000;

pub(crate) fn run(args: &DoctorArgs, bars: &Bars, out: &mut dyn Write) -> Result<(), Failure> {
    let plan = plan(args)?;
    if let Some(output) = &args.output {
        if plan.rate.is_none() && plan.to.as_ref().is_none_or(|to| to.fetch.is_none()) {
            let what = "--output: a configuration needs the downlink's rate: give --to a URL to measure it, or --rate";
            return Err(Failure::misuse(what));
        }
        if output.exists() && !args.force {
            return Err(exists(output));
        }
    }
    announce(&plan);
    let mut bar = Bar { bars, shown: None };
    let found = examine(plan, |progress| bar.show(progress)).map_err(Failure::new)?;
    drop(bar);
    print(out, found.describe().to_string().trim_end())?;
    let Some(output) = &args.output else { return Ok(()) };
    let text = found.configuration().ok_or_else(|| {
        Failure::new("nothing is written: the downlink's rate is not known: let it take longer (--time, --bytes), or give --rate")
    })?;
    let mut open = OpenOptions::new();
    open.write(true);
    if args.force {
        open.create(true).truncate(true)
    } else {
        open.create_new(true)
    };
    open.open(output).and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists(output),
        _ => Failure::new(format!("cannot write {}: {error}", output.display())),
    })?;
    let file = output.display();
    print(out, &format!("\nWritten: {file}. What it means: dovetail gateway --check --config {file}"))?;
    Ok(())
}

/// What to measure, if the arguments are consistent.
fn plan(args: &DoctorArgs) -> Result<Plan, Failure> {
    let target = |option: &str, text: &Option<String>| -> Result<Option<Target>, Failure> {
        let read = |text: &String| text.parse().map_err(|why| Failure::misuse(format!("{option} {text}: {why}")));
        text.as_ref().map(read).transpose()
    };
    let (to, upload) = (target("--to", &args.to)?, target("--upload", &args.upload)?);
    if upload.as_ref().is_some_and(|upload| upload.fetch.is_none()) {
        return Err(Failure::misuse("--upload: give a URL such as http://203.0.113.9/take"));
    }
    let probe = |text: &String| text.parse().map_err(|why| Failure::misuse(format!("--probe: {why}")));
    let probes: Vec<_> = args.probes.iter().map(probe).collect::<Result<_, _>>()?;
    if args
        .probes
        .iter()
        .any(|probe| probe == "off" || probe == "tcp" || probe.starts_with("hop:") && !probe.contains('@'))
    {
        return Err(Failure::misuse(
            "--probe: give an address, udp://ADDRESS:PORT or hop:N@ADDRESS: others have no address to go to",
        ));
    }
    let time = Duration::from_nanos(args.time.0);
    if time < TIMES.0 || time > TIMES.1 {
        return Err(Failure::misuse("--time: give 2s to 5min"));
    }
    if args.bytes < MIN_TRANSFER_BYTES {
        return Err(Failure::misuse("--bytes: give 100kB or more"));
    }
    let bounds = Bounds { time, bytes: args.bytes, ..Bounds::default() };
    Ok(Plan { to, upload, probes, rate: args.rate, bounds })
}

/// Announces the cost of a measurement on standard error.
fn announce(plan: &Plan) {
    let Bounds { time, bytes, connections } = plan.bounds;
    let most = format!("at most {} s or {:.1} MB, whichever is first", time.as_secs_f64(), bytes as f64 / 1e6);
    if let Some(to) = plan.to.as_ref().filter(|to| to.fetch.is_some()) {
        tell(format_args!("dovetail: downloads {to} over {connections} connections, again and again, for {most}\n"));
    }
    if let Some(upload) = &plan.upload {
        tell(format_args!("dovetail: uploads to {upload} over {connections} connections, for {most}\n"));
    }
}

fn exists(output: &Path) -> Failure {
    let file = output.display();
    Failure::new(format!("{file} exists: give --output another name, or --force to overwrite it"))
}

/// Shows one bar after the other.
struct Bar<'b> {
    bars: &'b Bars,
    shown: Option<(&'static str, u64, Box<dyn Meter>)>,
}

impl Bar<'_> {
    fn show(&mut self, Progress { what, for_, of, .. }: Progress) {
        if self.shown.as_ref().is_none_or(|(shown, ..)| *shown != what) {
            self.shown = None;
            let task = Task { name: what, width: what.len(), counts: "ms", total: Some(of.as_millis() as u64) };
            self.shown = Some((what, 0, self.bars.begin(task)));
        }
        if let Some((_, shown, meter)) = &mut self.shown {
            let now = for_.as_millis() as u64;
            meter.inc(now.saturating_sub(*shown));
            *shown = now;
        }
    }
}
