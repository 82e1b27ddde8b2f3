//! What explanations of transfers and of requests over a network have in common.

use std::{fs, io::Write, mem, path::Path};

use dovetail_sched::{FlowId, Nanos};
use dovetail_sim::{
    blame::{Explanation, RequestBlame, TransferBlame},
    network::{Network, NetworkOutcome},
};

use super::{against::Against, noun::Noun, pairing::paired_by_rank, show::Explained};
use crate::{
    error::Error,
    files::Files,
    network::{Asked, Blame, Keep, LINK, NetworkRun, Under, bar, provenance, run_blamed},
    options::{ExplainOptions, OutputOptions},
    output::deliver,
    progress::Progress,
    side_by_side::{cores, side_by_side_on},
};

/// The observer that attributes waiting time.
pub(super) enum Watching {
    Transfers(TransferBlame),
    Requests(RequestBlame),
}

impl Watching {
    fn lend(&mut self) -> Blame<'_> {
        match self {
            Self::Transfers(blame) => Blame::Transfers(blame),
            Self::Requests(blame) => Blame::Requests(blame),
        }
    }

    fn finish(self) -> Explanation {
        match self {
            Self::Transfers(blame) => blame.finish(),
            Self::Requests(blame) => blame.finish(),
        }
    }
}

/// Those that ended, in order: the flow of each, and its duration if it completed.
pub(super) type Took = Vec<(FlowId, Option<Nanos>)>;

/// What is explained in a network.
pub(super) struct Subject<'a> {
    pub(super) noun: Noun,
    pub(super) asked: &'a Asked,
    /// The file's text.
    pub(super) scenario: Option<&'a str>,
    /// The policy or gateway, and the one it is compared with.
    pub(super) under: Vec<Under<'a>>,
    pub(super) watching: fn(&ExplainOptions) -> Watching,
    pub(super) took: fn(&NetworkOutcome) -> Took,
    pub(super) setting: fn(&Network, &NetworkRun) -> String,
    /// Rejects a selection that does not occur in the traffic.
    pub(super) found: fn(&Network, &ExplainOptions, &Explanation) -> Result<(), Error>,
}

impl Subject<'_> {
    pub(super) fn explain(
        &self,
        options: &ExplainOptions,
        progress: &dyn Progress,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        let (network, under) = (&self.asked.network, &self.under);
        let OutputOptions { report, records, format, jobs, json } = &options.output;
        let mut files = Files::of(&options.input, self.scenario);
        let report = files.writes("report", report.as_deref())?;
        files.writes_records(&options.output, under)?;
        if let Some(folder) = records {
            fs::create_dir_all(folder).map_err(|error| Error::file("make the folder", folder, error))?;
        }
        let keep = Keep { records: records.as_deref().map(|folder| (folder, *format)), pcap: None };
        let bar = bar(network, under.len(), progress);
        let mut runs = side_by_side_on(jobs.map_or_else(cores, usize::from), under, |under| {
            let mut watching = (self.watching)(options);
            let run = run_blamed(network, *under, keep, bar.as_ref(), watching.lend())?;
            Ok::<_, Error>((run, watching.finish()))
        })?;
        let mut failures: Vec<Error> = runs.iter_mut().flat_map(|(run, _)| mem::take(&mut run.run.unwritten)).collect();
        let second = if under.len() > 1 { runs.pop() } else { None };
        let (first, explanation) = runs.pop().ok_or(Error::Missing)?;
        (self.found)(network, options, &explanation)?;
        let against = second.map(|(run, explanation)| Against {
            flows: paired_by_rank([&first.outcome, &run.outcome].map(self.took)),
            run: run.run,
            explanation,
        });
        let resources = [LINK.to_owned()];
        let explained = Explained {
            noun: self.noun,
            name: &network.name,
            setting: (self.setting)(network, &first),
            resources: &resources,
            pipeline: None,
            selection: &options.selection,
            run: first.run,
            explanation,
            against,
            notes: Vec::new(),
            provenance: Some(provenance(self.asked, under)),
        };
        let text = |report: Option<&Path>| explained.text(report, records.as_deref());
        failures.extend(deliver(out, report, *json, || explained.page(), || explained.json(), text).err());
        Error::unless_none(failures)
    }
}
