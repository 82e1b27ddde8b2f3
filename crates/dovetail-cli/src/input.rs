//! What to run: a scenario, a capture or a table, resolved from the command line and opened once a policy.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use dovetail_sched::units::{Rate, parse_rate};
use dovetail_sim::{
    PipelineMode,
    workload::{
        Capture, CaptureOptions, ClassSet, Csv, CsvOptions, Scenario, Survey, Workload, scale_for_load, survey,
    },
};

use crate::{args::CompareArgs, failure::Failure, run::progress_bar};

/// Scenarios that come with the command, by name.
const BUILTIN: &[(&str, &str)] = &[
    ("middlebox", include_str!("../../../scenarios/middlebox.toml")),
    ("atfq-fig1", include_str!("../../../scenarios/atfq-fig1.toml")),
    ("atfq-fig5", include_str!("../../../scenarios/atfq-fig5.toml")),
    ("atfq-fig9", include_str!("../../../scenarios/atfq-fig9.toml")),
    ("tradeoff-fig1", include_str!("../../../scenarios/tradeoff-fig1.toml")),
    ("tradeoff-table2", include_str!("../../../scenarios/tradeoff-table2.toml")),
    ("tradeoff-fig6", include_str!("../../../scenarios/tradeoff-fig6.toml")),
    ("tradeoff-trace", include_str!("../../../scenarios/tradeoff-trace.toml")),
];

/// The link of the published experiments, for captures whose link nobody named.
const DEFAULT_LINK: &str = "400Mbps";

/// How hard the busiest resource is asked for when nobody says: nearly all that it can do.
const DEFAULT_LOAD: f64 = 0.95;

/// A workload that can be opened again and again, always the same.
pub(crate) struct Input {
    name: String,
    source: Source,
    resources: Vec<String>,
    pipeline: PipelineMode,
    queue_packets: Option<u32>,
    packets: Option<u64>,
}

enum Source {
    Scenario(Box<Scenario>),
    Capture { path: PathBuf, options: CaptureOptions },
    Csv { path: PathBuf, options: CsvOptions },
}

impl Input {
    /// Finds out what the command line asks for, and looks through captures and tables once.
    pub(crate) fn resolve(args: &CompareArgs) -> Result<Self, Failure> {
        let mut scenario = match &args.scenario {
            Some(path) => Some(read_scenario(path)?),
            None => None,
        };
        if let (Some(scenario), Some(rate)) = (&mut scenario, args.link) {
            scenario.classes.set_rate("link", rate).map_err(|error| Failure::usage(format!("--link: {error}")))?;
        }
        match (&args.trace, &args.workload) {
            (Some(path), _) => Self::capture(path, scenario, args),
            (None, Some(path)) => Self::csv(path, args),
            (None, None) => {
                let mut scenario = match scenario {
                    Some(scenario) => scenario,
                    None => {
                        let mut scenario = builtin_scenario("middlebox")?;
                        if let Some(rate) = args.link {
                            scenario.classes.set_rate("link", rate).map_err(Failure::new)?;
                        }
                        scenario
                    }
                };
                scenario.load = args.load.or(scenario.load);
                scenario.seed = args.seed.unwrap_or(scenario.seed);
                Self::scenario(scenario)
            }
        }
    }

    fn scenario(scenario: Scenario) -> Result<Self, Failure> {
        let workload = scenario.workload().map_err(Failure::new)?;
        Ok(Self {
            name: scenario.name.clone(),
            resources: workload.resources().to_vec(),
            pipeline: pipeline_of(&scenario)?,
            queue_packets: scenario.queue_packets,
            packets: workload.packets_hint(),
            source: Source::Scenario(Box::new(scenario)),
        })
    }

    fn capture(path: &Path, scenario: Option<Scenario>, args: &CompareArgs) -> Result<Self, Failure> {
        let (classes, pipeline, queue_packets) = match &scenario {
            Some(scenario) => (scenario.classes.clone(), pipeline_of(scenario)?, scenario.queue_packets),
            None => (ClassSet::table_ii(default_link(args.link)?), PipelineMode::NoWait, None),
        };
        let mut options = CaptureOptions::new(classes);
        options.seed = args.seed.or(scenario.as_ref().map(|scenario| scenario.seed)).unwrap_or(1);
        options.packets = scenario.as_ref().and_then(|scenario| scenario.packets);
        // Who names the link or the box wants the traffic at its own pace; who names neither wants to see queues.
        let load = args.load.or(if scenario.is_some() || args.link.is_some() { None } else { Some(DEFAULT_LOAD) });
        let found = look_through(&mut *open_capture(path, &options)?, path)?;
        if let Some(load) = load {
            options.time_scale = scale_for_load(&found, load);
        }
        Ok(Self {
            name: file_name(path),
            resources: options.classes.resource_names().to_vec(),
            pipeline,
            queue_packets,
            packets: Some(found.packets),
            source: Source::Capture { path: path.to_owned(), options },
        })
    }

    fn csv(path: &Path, args: &CompareArgs) -> Result<Self, Failure> {
        if args.link.is_some() {
            return Err(Failure::usage("--link: a table says what each packet costs; it has no link to set"));
        }
        let mut options = CsvOptions::default();
        let mut workload = open_csv(path, &options)?;
        let resources = workload.resources().to_vec();
        let found = look_through(&mut *workload, path)?;
        if let Some(load) = args.load {
            options.time_scale = scale_for_load(&found, load);
        }
        Ok(Self {
            name: file_name(path),
            resources,
            pipeline: PipelineMode::NoWait,
            queue_packets: None,
            packets: Some(found.packets),
            source: Source::Csv { path: path.to_owned(), options },
        })
    }

    /// The workload from its start.
    pub(crate) fn open(&self) -> Result<Box<dyn Workload>, Failure> {
        match &self.source {
            Source::Scenario(scenario) => Ok(Box::new(scenario.workload().map_err(Failure::new)?)),
            Source::Capture { path, options } => open_capture(path, options),
            Source::Csv { path, options } => open_csv(path, options),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn resources(&self) -> &[String] {
        &self.resources
    }

    pub(crate) fn pipeline(&self) -> PipelineMode {
        self.pipeline
    }

    pub(crate) fn queue_packets(&self) -> Option<u32> {
        self.queue_packets
    }

    /// How many packets there will be, where that is known.
    pub(crate) fn packets_hint(&self) -> Option<u64> {
        self.packets
    }
}

/// A scenario that comes with the command.
pub(crate) fn builtin_scenario(name: &str) -> Result<Scenario, Failure> {
    let (_, text) = BUILTIN
        .iter()
        .find(|(known, _)| *known == name)
        .ok_or_else(|| Failure::new(format!("there is no built-in scenario '{name}'")))?;
    let none = |file: &str| Err(io::Error::new(io::ErrorKind::NotFound, format!("a built-in scenario names {file}")));
    Scenario::parse(text, name, &mut { none }).map_err(Failure::new)
}

fn read_scenario(path: &Path) -> Result<Scenario, Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::file("read", path, error))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut open = |name: &str| -> io::Result<Box<dyn Read + Send>> { Ok(Box::new(File::open(folder.join(name))?)) };
    Scenario::parse(&text, &path.display().to_string(), &mut open).map_err(Failure::new)
}

fn pipeline_of(scenario: &Scenario) -> Result<PipelineMode, Failure> {
    scenario.pipeline.as_deref().map_or(Ok(PipelineMode::NoWait), str::parse).map_err(Failure::new)
}

fn default_link(given: Option<Rate>) -> Result<Rate, Failure> {
    given.map_or_else(|| parse_rate(DEFAULT_LINK).map_err(Failure::new), Ok)
}

fn open_file(path: &Path) -> Result<Box<dyn Read + Send>, Failure> {
    let file = File::open(path).map_err(|error| Failure::file("read", path, error))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(Failure::file("read", path, "it is a folder"));
    }
    Ok(Box::new(file))
}

/// A capture at its own pace, with these classes.
pub(crate) fn open_trace(path: &Path, classes: &ClassSet) -> Result<Box<dyn Workload>, Failure> {
    open_capture(path, &CaptureOptions::new(classes.clone()))
}

fn open_capture(path: &Path, options: &CaptureOptions) -> Result<Box<dyn Workload>, Failure> {
    let capture = Capture::open(open_file(path)?, &path.display().to_string(), options.clone());
    Ok(Box::new(capture.map_err(Failure::new)?))
}

fn open_csv(path: &Path, options: &CsvOptions) -> Result<Box<dyn Workload>, Failure> {
    let csv = Csv::open(open_file(path)?, &path.display().to_string(), options.clone());
    Ok(Box::new(csv.map_err(Failure::new)?))
}

/// Reads a workload once, to know how much there is. Refuses one without packets: there is nothing to compare.
fn look_through(workload: &mut dyn Workload, path: &Path) -> Result<Survey, Failure> {
    let bar = progress_bar("reading", 0, None);
    bar.tick();
    let found = survey(workload).map_err(Failure::new)?;
    bar.finish_and_clear();
    if found.packets == 0 {
        return Err(Failure::new(format!("{} holds no packets", path.display())));
    }
    Ok(found)
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
