//! An explanation as a page: bars that divide a mean packet's time, and a grid of colours for which group waited for which.

use dovetail_sim::blame::Explanation;

use super::{
    charts,
    noun::Noun,
    show::{Explained, matrix, waited, worst},
    who::Who,
};
use crate::report::{Block, Page};

impl Explained<'_> {
    pub(super) fn page(&self) -> Page {
        let mut page = Page { title: format!("Dovetail: {}, explained", self.name), blocks: Vec::new() };
        page.blocks.push(Block::Text(self.setting.clone() + "."));
        page.blocks.push(Block::Text(self.sentence()));
        if let Some(against) = &self.against {
            page.blocks
                .extend(against.sentences(self.noun, &self.run.policy, &self.explanation).into_iter().map(Block::Text));
        }
        let runs = [Some((&self.run, &self.explanation)), self.against.as_ref().map(|a| (&a.run, &a.explanation))];
        for (run, explanation) in runs.into_iter().flatten() {
            page.blocks.extend(divided(self.noun, &run.policy, explanation, self.resources));
            page.blocks.extend(grid(self.noun, &run.policy, explanation));
        }
        if let Some(against) = &self.against {
            page.blocks.push(Block::Heading(format!("The same {} under {}", self.noun.many(), against.run.policy)));
            let classes = against.classes();
            if !classes.is_empty() {
                page.blocks.push(Block::Table(self.changes("class", &classes)));
            }
            if self.noun.have_flows() {
                page.blocks.push(Block::Table(self.changes(self.noun.flow(), &worst(against.flows()))));
            }
        }
        if !self.explanation.slowest.is_empty() {
            page.blocks.push(Block::Heading(self.slowest_are()));
            page.blocks.push(Block::Table(self.slowest()));
        }
        page.blocks.extend(self.notes.iter().cloned().map(Block::Text));
        page.blocks.extend(self.provenance.as_ref().map(|provenance| Block::Table(provenance.table())));
        page
    }
}

/// What packets waited for under a policy, for pages that may show several policies.
pub(crate) fn blocks(policy: &str, of: &Explanation, resources: &[String]) -> Vec<Block> {
    divided(Noun::Packet, policy, of, resources)
}

fn divided(noun: Noun, policy: &str, of: &Explanation, resources: &[String]) -> Vec<Block> {
    let who = Who::coarse(of);
    let bars = Block::chart(
        format!("Where the time goes: {policy}"),
        format!("Of a mean {} of each {}: processed, and waiting for whom.", noun.one(), who.kind),
        charts::time_divided(&who, resources),
    );
    vec![bars, Block::More { title: waited(noun, policy), table: matrix(noun, &who, None, resources) }]
}

/// Waiting times for all pairs of groups.
fn grid(noun: Noun, policy: &str, of: &Explanation) -> Option<Block> {
    let who = Who::by_flow(of);
    (who.names.len() > 1).then(|| {
        let note = format!("Milliseconds that a mean {} of the row waits while the column's is served.", noun.one());
        Block::chart(format!("Who waits for whom: {policy}"), note, charts::who_waits(&who))
    })
}
