//! Parses the OpenMetrics 1.0 text format, as far as a scrape may use it: each sample belongs to the family before it, with
//! that type's suffixes; no sample occurs twice; buckets are cumulative and end with +Inf, which equals the count.

use std::collections::{BTreeMap, HashSet};

/// A scrape's samples by name and labels, as written.
pub struct Scrape {
    samples: BTreeMap<String, f64>,
    counters: Vec<String>,
    families: Vec<String>,
}

struct Family {
    name: String,
    kind: String,
}

impl Scrape {
    pub fn parse(text: &str) -> Result<Self, String> {
        let lines = text.strip_suffix("# EOF\n").ok_or("it does not end with # EOF")?;
        let mut scrape = Self { samples: BTreeMap::new(), counters: Vec::new(), families: Vec::new() };
        let mut names = HashSet::new();
        let mut family: Option<Family> = None;
        let mut help = None;
        let mut buckets: Option<(String, f64)> = None;
        for line in lines.lines() {
            let wrong = |what: &str| Err(format!("{what}: {line:?}"));
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, text) = rest.split_once(' ').ok_or("no help")?;
                if !is_name(name) || text.trim().is_empty() || !names.insert(name.to_owned()) {
                    return wrong("a family's help");
                }
                help = Some(name.to_owned());
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').ok_or("no type")?;
                if help.as_deref() != Some(name) || !["gauge", "counter", "histogram"].contains(&kind) {
                    return wrong("a family's type");
                }
                let suffix = if kind == "counter" { "_total" } else { "" };
                scrape.families.push(format!("{name}{suffix}"));
                family = Some(Family { name: name.to_owned(), kind: kind.to_owned() });
            } else if let Some(rest) = line.strip_prefix("# UNIT ") {
                let (name, unit) = rest.split_once(' ').ok_or("no unit")?;
                if !name.ends_with(&format!("_{unit}")) || family.as_ref().is_none_or(|family| family.name != name) {
                    return wrong("a family's unit");
                }
            } else {
                let Some(Family { name, kind }) = &family else { return wrong("a sample of no family") };
                let (key, value) = line.rsplit_once(' ').ok_or("no value")?;
                let value: f64 = value.parse().map_err(|_| format!("not a number: {line:?}"))?;
                let (metric, labels) = labels(key).ok_or_else(|| format!("its labels: {line:?}"))?;
                let suffix = metric.strip_prefix(name.as_str()).ok_or_else(|| format!("not of {name}: {line:?}"))?;
                let allowed: &[&str] = match &**kind {
                    "counter" => &["_total"],
                    "histogram" => &["_sum", "_count", "_bucket"],
                    _ => &[""],
                };
                if !allowed.contains(&suffix) || value.is_nan() || (kind != "gauge" && value < 0.0) {
                    return wrong("not what this type has");
                }
                if suffix == "_bucket" {
                    let (bounds, others): (Vec<_>, Vec<_>) = labels.into_iter().partition(|(name, _)| name == "le");
                    let others = format!("{metric}{others:?}");
                    let before = buckets.take().filter(|(of, _)| *of == others).map_or(0.0, |(_, count)| count);
                    if bounds.len() != 1 || value < before {
                        return wrong("a bucket");
                    }
                    let is_last = bounds[0].1 == "+Inf";
                    let count =
                        key.replace("_bucket", "_count").replace("le=\"+Inf\",", "").replace("{le=\"+Inf\"}", "");
                    if is_last && scrape.samples.get(&count) != Some(&value) {
                        return wrong("the last bucket is not the count");
                    }
                    buckets = (!is_last).then_some((others, value));
                } else if buckets.is_some() {
                    return wrong("buckets without a last one before");
                }
                if kind != "gauge" {
                    scrape.counters.push(key.to_owned());
                }
                if scrape.samples.insert(key.to_owned(), value).is_some() {
                    return wrong("there twice");
                }
            }
        }
        Ok(scrape)
    }

    pub fn value(&self, key: &str) -> Option<f64> {
        self.samples.get(key).copied()
    }

    /// Names of families; those of counters with their suffix.
    pub fn families(&self) -> &[String] {
        &self.families
    }

    /// Samples that never fall.
    pub fn counters(&self) -> impl Iterator<Item = (&str, f64)> {
        self.counters.iter().map(|key| (&**key, self.samples[key]))
    }
}

fn is_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    name.starts_with(is_letter) && name.chars().all(|letter| is_letter(letter) || letter.is_ascii_digit())
}

/// A metric's name, and its labels with escapes resolved.
fn labels(key: &str) -> Option<(&str, Vec<(String, String)>)> {
    let Some((name, rest)) = key.split_once('{') else { return is_name(key).then(|| (key, Vec::new())) };
    let mut rest = rest.strip_suffix('}')?;
    let mut labels = Vec::new();
    while !rest.is_empty() {
        let (label, value) = rest.split_once("=\"")?;
        let mut letters = value.char_indices();
        let mut plain = String::new();
        let end = loop {
            match letters.next()? {
                (at, '"') => break at,
                (_, '\\') => plain.push(match letters.next()?.1 {
                    'n' => '\n',
                    letter @ ('"' | '\\') => letter,
                    _ => return None,
                }),
                (_, letter) => plain.push(letter),
            }
        };
        if !is_name(label) || labels.iter().any(|(known, _)| known == label) {
            return None;
        }
        labels.push((label.to_owned(), plain));
        rest = &value[end + 1..];
        rest = match rest.strip_prefix(',') {
            Some(more) if !more.is_empty() => more,
            None if rest.is_empty() => rest,
            _ => return None,
        };
    }
    is_name(name).then_some((name, labels))
}
