//! The traffic to run: a scenario, a capture or a table, resolved from the options and opened once per policy.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use dovetail_sched::{
    FlowId, Nanos,
    units::{Rate, parse_rate},
};
use dovetail_sim::{
    PipelineMode,
    workload::{
        Arrival, Capture, CaptureOptions, ClassSet, Csv, CsvOptions, Notice, Scenario, Survey, Workload, WorkloadError,
        scale_for_load, survey,
    },
};

use crate::{
    builtin::{find, text_of},
    digest::{digested, of_text},
    error::{Error, Misuse},
    options::InputOptions,
    progress::{Progress, Task},
    provenance::{InputFile, Origin, Sources, Stated},
    supply::Supply,
    table::megabits,
};

/// The link of the published experiments, for captures whose link is not given.
const DEFAULT_LINK: &str = "400Mbps";

/// Run if none is named.
const DEFAULT_SCENARIO: &str = "middlebox";

/// Default load of the busiest resource: nearly all of its capacity.
const DEFAULT_LOAD: f64 = 0.95;

/// The link of a capture if neither a link nor a scenario is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnnamedLink {
    /// The link of the published experiments.
    Published,
    /// A link with the same load as the CPU, so that neither has capacity to spare.
    Balanced,
}

/// Note about a capture whose middlebox is not described.
const NO_BOX: &str = "no box is described, so what packets cost is assumed, not known: flows are assigned at random to four \
    published kinds of processing; describe yours with a scenario ('dovetail profile' measures network functions)";

/// Note if flows that match no class are assigned to classes.
const DEALT_AT_RANDOM: &str = "flows that match no class are assigned to one at random by the classes' shares, so what their \
    packets cost is assumed, not known; give classes ports or prefixes";

/// A workload that can be opened repeatedly, with identical contents.
pub struct Input {
    name: String,
    source: Source,
    resources: Vec<String>,
    pipeline: Option<PipelineMode>,
    queue_packets: Option<u32>,
    packets: Option<u64>,
    remark: Option<String>,
    /// Totals of a capture or table.
    found: Option<Survey>,
    sources: Sources,
}

enum Source {
    Scenario(Box<Scenario>),
    Capture { supply: Supply, options: CaptureOptions },
    Csv { supply: Supply, options: CsvOptions },
}

impl Input {
    /// Resolves the options, and reads captures and tables once. `text` is the scenario's; `with_digests`: inputs are hashed,
    /// for display.
    pub fn resolve(
        args: &InputOptions,
        with_digests: bool,
        text: Option<&str>,
        unnamed: UnnamedLink,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let mut sources = Sources { with_digests, ..Sources::default() };
        let mut scenario = match args.scenario.as_deref().zip(text) {
            Some((path, text)) => {
                let (scenario, files) = read_scenario(path, text, sources.with_digests)?;
                sources.files = files;
                Some(scenario)
            }
            None => None,
        };
        if let (Some(scenario), Some(rate)) = (&mut scenario, args.link) {
            scenario.classes.set_rate("link", rate).map_err(|error| Misuse::option(&["link"], error.to_string()))?;
        }
        match (&args.trace, &args.workload) {
            (Some(path), _) => Self::capture(path, scenario, args, unnamed, sources, progress),
            (None, Some(path)) => Self::csv(path, args, sources, progress),
            (None, None) => {
                let mut scenario = match scenario {
                    Some(scenario) => scenario,
                    None => {
                        let mut scenario = builtin_scenario(DEFAULT_SCENARIO)?;
                        sources
                            .files
                            .extend(text_of(DEFAULT_SCENARIO).map(|text| scenario_file(DEFAULT_SCENARIO, text)));
                        // No described middlebox: a command may choose its pipeline.
                        scenario.pipeline = None;
                        if let Some(rate) = args.link {
                            scenario.classes.set_rate("link", rate).map_err(Error::from)?;
                        }
                        scenario
                    }
                };
                sources.load = Stated::first(args.load, scenario.load);
                sources.link_bps = stated_link(args, &scenario.classes);
                scenario.load = args.load.or(scenario.load);
                scenario.seed = args.seed.unwrap_or(scenario.seed);
                sources.seed = Some(scenario.seed);
                Self::scenario(scenario, sources)
            }
        }
    }

    fn scenario(scenario: Scenario, sources: Sources) -> Result<Self, Error> {
        let mut workload = scenario.workload().map_err(Error::from)?;
        if workload.next().map_err(Error::from)?.is_none() {
            return Err(Error::NothingArrives { scenario: scenario.name });
        }
        Ok(Self {
            name: scenario.name.clone(),
            resources: workload.resources().to_vec(),
            pipeline: pipeline_of(&scenario)?,
            queue_packets: scenario.queue_packets,
            packets: workload.packets_hint(),
            remark: None,
            found: None,
            sources,
            source: Source::Scenario(Box::new(scenario)),
        })
    }

    fn capture(
        path: &Path,
        scenario: Option<Scenario>,
        args: &InputOptions,
        unnamed: UnnamedLink,
        mut sources: Sources,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let (classes, pipeline, queue_packets) = match &scenario {
            Some(scenario) => (scenario.classes.clone(), pipeline_of(scenario)?, scenario.queue_packets),
            None => (ClassSet::table_ii(default_link(args.link)?), None, None),
        };
        let mut options = CaptureOptions::new(classes);
        options.seed = args.seed.or(scenario.as_ref().map(|scenario| scenario.seed)).unwrap_or(1);
        options.packets = scenario.as_ref().and_then(|scenario| scenario.packets);
        // If the link or the middlebox is given, traffic keeps its own pace; otherwise the load is set so that there are
        // queues.
        let assumed =
            if scenario.is_some() || args.link.is_some() { None } else { Some(Stated::assumed(DEFAULT_LOAD)) };
        sources.load = Stated::first(args.load, None).or(assumed);
        sources.seed = Some(options.seed);
        let supply = Supply::open(path)?;
        let (bytes, digest) = digested(supply.read()?, sources.with_digests);
        let mut found = look_through(&mut *capture_of(bytes, &supply, &options)?, path, progress)?;
        sources.files.push(supply.digested("trace", digest)?);
        let mut remark = match &scenario {
            None => Some(NO_BOX.to_owned()),
            Some(scenario) => scenario.classes.is_dealt_at_random().then(|| DEALT_AT_RANDOM.to_owned()),
        };
        if scenario.is_none() && args.link.is_none() && unnamed == UnnamedLink::Balanced {
            remark = balance(&mut options.classes, &mut found).or(remark);
        }
        sources.link_bps = match &scenario {
            Some(scenario) => stated_link(args, &scenario.classes),
            None => Stated::first(args.link.map(Rate::bps), None)
                .or(options.classes.rate("link").map(|rate| Stated::assumed(rate.bps()))),
        };
        if let Some(load) = &sources.load {
            options.time_scale = scale(&found, load, path)?;
        }
        Ok(Self {
            name: supply.name(),
            remark,
            sources,
            resources: options.classes.resource_names().to_vec(),
            pipeline,
            queue_packets,
            packets: Some(found.packets),
            found: Some(found),
            source: Source::Capture { supply, options },
        })
    }

    fn csv(path: &Path, args: &InputOptions, mut sources: Sources, progress: &dyn Progress) -> Result<Self, Error> {
        if args.link.is_some() {
            return Err(Misuse::option(&["link"], "a table says what each packet costs; it has no link to set").into());
        }
        let mut options = CsvOptions::default();
        let supply = Supply::open(path)?;
        let (bytes, digest) = digested(supply.read()?, sources.with_digests);
        let mut workload = csv_of(bytes, &supply, &options)?;
        let resources = workload.resources().to_vec();
        let found = look_through(&mut *workload, path, progress)?;
        sources.files.push(supply.digested("workload", digest)?);
        sources.load = Stated::first(args.load, None);
        if let Some(load) = &sources.load {
            options.time_scale = scale(&found, load, path)?;
        }
        Ok(Self {
            name: supply.name(),
            resources,
            pipeline: None,
            queue_packets: None,
            remark: None,
            packets: Some(found.packets),
            found: Some(found),
            sources,
            source: Source::Csv { supply, options },
        })
    }

    /// The workload from its start.
    pub fn open(&self) -> Result<Box<dyn Workload>, Error> {
        match &self.source {
            Source::Scenario(scenario) => Ok(Box::new(scenario.workload().map_err(Error::from)?)),
            Source::Capture { supply, options } => open_capture(supply, options),
            Source::Csv { supply, options } => open_csv(supply, options),
        }
    }

    /// The same traffic at another load: time is scaled so that the busiest resource has it. `None` if time cannot be scaled
    /// like this. A scenario, whose packets become more, ends after `packets`.
    ///
    /// # Errors
    /// If a scenario cannot have this load.
    pub(crate) fn at_load(&self, load: f64, packets: u64) -> Result<Option<Self>, Error> {
        let time_scale = |found: &Survey| {
            let scale = scale_for_load(found, load);
            (found.duration.as_f64() * scale <= LATEST_NANOS).then_some(scale)
        };
        let source = match (&self.source, &self.found) {
            (Source::Scenario(scenario), _) => {
                let mut scenario = (**scenario).clone();
                scenario.load = Some(load);
                scenario.packets = Some(scenario.packets.map_or(packets, |given| given.min(packets)));
                return Self::scenario(scenario, self.sources.clone()).map(Some);
            }
            (Source::Capture { supply, options }, Some(found)) => time_scale(found).map(|time_scale| Source::Capture {
                supply: supply.clone(),
                options: CaptureOptions { time_scale, ..options.clone() },
            }),
            (Source::Csv { supply, options }, Some(found)) => time_scale(found).map(|time_scale| Source::Csv {
                supply: supply.clone(),
                options: CsvOptions { time_scale, ..options.clone() },
            }),
            _ => None,
        };
        Ok(source.map(|source| Self {
            source,
            name: self.name.clone(),
            resources: self.resources.clone(),
            remark: self.remark.clone(),
            found: self.found.clone(),
            sources: self.sources.clone(),
            ..*self
        }))
    }

    /// Whether it is a capture.
    pub fn is_capture(&self) -> bool {
        matches!(self.source, Source::Capture { .. })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The resources in order.
    pub fn resources(&self) -> &[String] {
        &self.resources
    }

    /// The pipeline mode, if the scenario sets it.
    pub fn pipeline(&self) -> Option<PipelineMode> {
        self.pipeline
    }

    /// Limit of queued packets per flow, if the scenario sets it.
    pub fn queue_packets(&self) -> Option<u32> {
        self.queue_packets
    }

    /// Assumptions made for lack of a specification.
    pub fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    /// Where its traffic comes from.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The number of packets, if known.
    pub fn packets_hint(&self) -> Option<u64> {
        self.packets
    }
}

/// A built-in scenario.
pub fn builtin_scenario(name: &str) -> Result<Scenario, Error> {
    builtin_scenario_with(name, str::to_owned)
}

/// The same with a change to its text.
pub fn builtin_scenario_with(name: &str, change: impl FnOnce(&str) -> String) -> Result<Scenario, Error> {
    let text = text_of(name).ok_or_else(|| Error::NoBuiltin { kind: "scenario", name: name.to_owned() })?;
    let none = |file: &str| Err(io::Error::new(io::ErrorKind::NotFound, format!("a built-in scenario names {file}")));
    Scenario::parse(&change(text), name, &mut { none }).map_err(Error::from)
}

/// The text of the named scenario or network, by its path or as a built-in one. Read once: it may be a pipe.
pub fn scenario_text(args: &InputOptions) -> Result<Option<String>, Error> {
    match &args.text {
        Some(text) => Ok(Some(text.clone())),
        None => args.scenario.as_deref().map(find).transpose(),
    }
}

/// Opens files in the folder of the one at `path`.
pub fn beside(path: &Path) -> impl FnMut(&str) -> io::Result<Box<dyn Read + Send>> + use<> {
    let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
    move |name| Ok(Box::new(File::open(folder.join(name))?))
}

fn pipeline_of(scenario: &Scenario) -> Result<Option<PipelineMode>, Error> {
    scenario.pipeline.as_deref().map(str::parse).transpose().map_err(Error::from)
}

/// For the published costs, sets the link to the same load as the CPU; returns a note. Does nothing if the capture puts no
/// load on one of them.
fn balance(classes: &mut ClassSet, found: &mut Survey) -> Option<String> {
    let [cpu, link] = found.demand.first_chunk_mut()?;
    let mbps = found.bytes as f64 * 8e-6 / cpu.as_secs_f64();
    // A rate of three digits.
    let digit = 10f64.powf((mbps.log10() - 2.0).floor());
    let mbps = (mbps / digit).round() * digit;
    let rate = parse_rate(&format!("{mbps}Mbps")).ok()?;
    classes.set_rate("link", rate).ok()?;
    *link = Nanos::from_f64(rate.nanos_for(found.bytes as f64));
    Some(format!(
        "no box is described: flows are assigned to four kinds of processing at random, and the link of {} Mbit/s has \
         the same load as the CPU; describe yours with --link or a scenario",
        megabits(mbps)
    ))
}

fn default_link(given: Option<Rate>) -> Result<Rate, Error> {
    given.map_or_else(|| parse_rate(DEFAULT_LINK).map_err(Error::from), Ok)
}

/// A capture at its own pace, with these classes.
pub fn open_trace(trace: &Supply, classes: &ClassSet) -> Result<Box<dyn Workload>, Error> {
    open_capture(trace, &CaptureOptions::new(classes.clone()))
}

fn open_capture(supply: &Supply, options: &CaptureOptions) -> Result<Box<dyn Workload>, Error> {
    capture_of(supply.read()?, supply, options)
}

fn capture_of(
    bytes: impl Read + Send + 'static,
    supply: &Supply,
    options: &CaptureOptions,
) -> Result<Box<dyn Workload>, Error> {
    let capture = Capture::open(Box::new(bytes), &supply.path().display().to_string(), options.clone());
    Ok(Box::new(capture.map_err(Error::from)?))
}

fn open_csv(supply: &Supply, options: &CsvOptions) -> Result<Box<dyn Workload>, Error> {
    csv_of(supply.read()?, supply, options)
}

fn csv_of(
    bytes: impl Read + Send + 'static,
    supply: &Supply,
    options: &CsvOptions,
) -> Result<Box<dyn Workload>, Error> {
    let csv = Csv::open(Box::new(bytes), &supply.path().display().to_string(), options.clone());
    Ok(Box::new(csv.map_err(Error::from)?))
}

/// A scenario, and the files read for it.
fn read_scenario(path: &Path, text: &str, with_digests: bool) -> Result<(Scenario, Vec<InputFile>), Error> {
    parsed(path, text, with_digests, |text, name, open| Scenario::parse(text, name, open).map_err(Error::from))
}

/// Opens files that a scenario or network refers to.
pub(crate) type Opener<'a> = &'a mut dyn FnMut(&str) -> io::Result<Box<dyn Read + Send>>;

/// The result of `parse` for the text at `path`, and the files read for it, hashed if `with_digests`.
pub(crate) fn parsed<T>(
    path: &Path,
    text: &str,
    with_digests: bool,
    parse: impl FnOnce(&str, &str, Opener<'_>) -> Result<T, Error>,
) -> Result<(T, Vec<InputFile>), Error> {
    let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    let (mut open, mut opened) = (beside(path), Vec::new());
    let parsed = parse(text, &path.display().to_string(), &mut |file: &str| {
        let (bytes, digest) = digested(open(file)?, with_digests);
        opened.push((file.to_owned(), digest));
        Ok(Box::new(bytes) as Box<dyn Read + Send>)
    })?;
    let mut files = vec![scenario_file(&name, text)];
    for (file, digest) in opened {
        let failed = |error| Error::file("read", &path.with_file_name(&file), error);
        let sha256 = digest.finish(false).map_err(failed)?;
        files.push(InputFile { kind: "scenario's file", sha256, name: file });
    }
    Ok((parsed, files))
}

fn scenario_file(name: &str, text: &str) -> InputFile {
    InputFile { kind: "scenario", name: name.to_owned(), sha256: Some(of_text(text)) }
}

/// The link's rate, if an option or the scenario states it.
fn stated_link(args: &InputOptions, classes: &ClassSet) -> Option<Stated<f64>> {
    Stated::first(args.link.map(Rate::bps), classes.rate("link").map(Rate::bps))
}

/// No packet arrives later than this: 146 years.
const LATEST_NANOS: f64 = (1u64 << 62) as f64;

/// The factor for times that gives this load. Rejects a load at which packets would exceed the range of the clock and be
/// lost, and one that is required of packets that all arrive at once.
fn scale(found: &Survey, load: &Stated<f64>, path: &Path) -> Result<f64, Error> {
    if load.origin == Origin::Given && found.duration == Nanos::ZERO {
        let why = "all packets arrive at the same time: there is no load to change";
        return Err(Misuse::option(&["load"], why).into());
    }
    let scale = scale_for_load(found, load.value);
    if found.duration.as_f64() * scale > LATEST_NANOS {
        return Err(Misuse::TooSlow { path: path.to_owned(), load: load.value }.into());
    }
    Ok(scale)
}

/// Reads a workload once to compute totals. Rejects one without packets: there is nothing to compare.
fn look_through(workload: &mut dyn Workload, path: &Path, progress: &dyn Progress) -> Result<Survey, Error> {
    let reading = progress.begin(Task { name: "reading", width: 0, counts: "packets", total: None });
    let found = match reading.stop() {
        None => survey(workload)?,
        Some(stop) => survey(&mut Stoppable { workload, stop, path, turns: 0 })?,
    };
    drop(reading);
    if found.packets == 0 {
        return Err(Error::NoPackets { path: path.to_owned(), notices: workload.notices() });
    }
    Ok(found)
}

/// A workload whose reading can be stopped.
struct Stoppable<'a> {
    workload: &'a mut dyn Workload,
    stop: &'a AtomicBool,
    path: &'a Path,
    turns: u32,
}

impl Workload for Stoppable<'_> {
    fn resources(&self) -> &[String] {
        self.workload.resources()
    }

    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError> {
        self.turns = self.turns.wrapping_add(1);
        if self.turns.is_multiple_of(1 << 12) && self.stop.load(Ordering::Relaxed) {
            let (file, source) = (self.path.display().to_string(), io::Error::other("stopped"));
            return Err(WorkloadError::Read { file, source });
        }
        self.workload.next()
    }

    fn label(&self, flow: FlowId) -> String {
        self.workload.label(flow)
    }

    fn notices(&self) -> Vec<Notice> {
        self.workload.notices()
    }
}
