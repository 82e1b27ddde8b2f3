//! Reads quotas.

use std::{collections::HashSet, sync::Arc};

use dovetail_sched::Weight;
use dovetail_toml::{
    Fault, Section,
    values::{self, number, quoted, truth, word},
};
use jiff::civil::Weekday;
use toml::de::DeValue;

use super::{
    every::Every,
    hours::{day, hours},
    model::{Beyond, Class, Per, Quota},
    name::{EXPECTED, MAX_NAME, is_in_name},
};

/// Maximum number of quotas: each is checked for each request.
const MAX_QUOTAS: usize = 16;
/// The range of a quota's limit, in bytes.
const BYTES: std::ops::RangeInclusive<u64> = 1..=1_000_000_000_000_000;
/// Prefix of the name of the class for users beyond a quota.
const BEYOND: &str = "beyond-";

/// Reads quotas, and appends classes for users beyond them.
pub(super) fn read(sections: Vec<Section<'_>>, classes: &mut Vec<Class>, most: usize) -> Result<Vec<Quota>, Fault> {
    let mut quotas: Vec<Quota> = Vec::new();
    let mut names = HashSet::new();
    let own = classes.len();
    for mut section in sections {
        let quota = read_one(&mut section)?;
        let name = &quota.name;
        if !names.insert(name.clone()) {
            return Err(section.wrong("name", format!("there are two quotas {}: names are unique", quoted(name))));
        }
        if quotas.len() == MAX_QUOTAS {
            return Err(section.wrong("name", format!("there are at most {MAX_QUOTAS} quotas")));
        }
        if let Some(unknown) = quota.classes.iter().find(|name| classes[..own].iter().all(|class| class.name != **name))
        {
            let known: Vec<_> = classes[..own].iter().map(|class| &*class.name).collect();
            let what = format!("there is no class {}: the classes are {}", quoted(unknown), known.join(", "));
            return Err(section.wrong("classes", what));
        }
        if let Beyond::Weight(weight) = quota.beyond {
            let mut of = classes[..own].iter().filter(|class| quota.is_for(&class.name));
            let least = |class: &Class| {
                let weights = class.weights.iter().map(|(_, weight)| weight.as_f64());
                weights.fold(class.weight.as_f64(), f64::min)
            };
            if let Some(class) = of.find(|class| least(class) <= weight.as_f64()) {
                let what = format!(
                    "its weight is not less than {}, which class {} has: who is beyond would lose nothing",
                    least(class),
                    quoted(&class.name)
                );
                return Err(section.wrong("beyond", what));
            }
            let beyond = Arc::<str>::from(format!("{BEYOND}{name}"));
            if classes.iter().any(|class| class.name == beyond) {
                let what =
                    format!("there is a class {} already: those beyond this quota have that name", quoted(&beyond));
                return Err(section.wrong("name", what));
            }
            if classes.len() == most {
                let what = format!("there are at most {most} classes, those of users beyond a quota included");
                return Err(section.wrong("beyond", what));
            }
            classes.push(Class { name: beyond, weight, beyond: Some(name.clone()), ..Class::default() });
        }
        quotas.push(quota);
    }
    Ok(quotas)
}

fn read_one(section: &mut Section<'_>) -> Result<Quota, Fault> {
    let name = section.one("name", values::name(MAX_NAME, is_in_name, EXPECTED))?;
    let classes = section.list("classes", values::name(MAX_NAME, is_in_name, EXPECTED))?.unwrap_or_default();
    let per = section.one("per", word(&[("user", Per::User), ("class", Per::Class)]))?.unwrap_or_default();
    let every = section.one("every", word(&[("day", Kind::Day), ("week", Kind::Week), ("month", Kind::Month)]))?;
    let starts = section.one("starts", starts)?;
    let bytes = section.one("bytes", values::bytes(BYTES))?;
    let uploads = section.one("uploads", truth)?.unwrap_or(false);
    let free = hours(section, "free")?;
    let beyond = beyond(section)?;
    section.end()?;
    let name = name.ok_or_else(|| section.wrong("name", "a quota needs a name, such as name = \"monthly\""))?;
    let bytes = bytes.ok_or_else(|| section.wrong("bytes", "set how much it is, such as bytes = \"500MB\""))? as u64;
    let every = match (every.unwrap_or(Kind::Month), starts) {
        (Kind::Day, None) => Every::Day,
        (Kind::Day, Some(_)) => return Err(section.wrong("starts", "a day starts at midnight: leave this out")),
        (Kind::Week, None) => Every::Week(Weekday::Monday),
        (Kind::Week, Some(Starts::On(day))) => Every::Week(day),
        (Kind::Week, Some(Starts::At(_))) => {
            return Err(section.wrong("starts", "a week starts on a day such as \"Mon\""));
        }
        (Kind::Month, None) => Every::Month(1),
        (Kind::Month, Some(Starts::At(day))) => Every::Month(day),
        (Kind::Month, Some(Starts::On(_))) => {
            return Err(section.wrong("starts", "a month starts on a day from 1 to 31"));
        }
    };
    Ok(Quota { name, classes, per, every, bytes, uploads, free, beyond })
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Day,
    Week,
    Month,
}

/// A day of the week or of the month.
enum Starts {
    On(Weekday),
    At(i8),
}

fn starts(value: &DeValue<'_>) -> Result<Starts, String> {
    if let Some(text) = value.as_str() {
        let day = Weekday::from_monday_zero_offset(day(text)? as i8).map_err(|error| error.to_string())?;
        return Ok(Starts::On(day));
    }
    values::whole(1..=31)(value).map(|day| Starts::At(day as i8))
}

/// `"refuse"`, or a table with a weight.
fn beyond(section: &mut Section<'_>) -> Result<Beyond, Fault> {
    let is_word = section.one("beyond", |value| Ok(value.as_str().map(str::to_owned)))?;
    match is_word {
        None => Ok(Beyond::Refuse),
        Some(Some(word)) if word == "refuse" => Ok(Beyond::Refuse),
        Some(Some(word)) => Err(section.wrong(
            "beyond",
            format!("{} is neither \"refuse\" nor a weight such as {{ weight = 0.1 }}", quoted(&word)),
        )),
        Some(None) => {
            let mut table = section.section("beyond")?;
            let weight = table.one("weight", number("a weight from 0.000001 to 1000000", Weight::new))?;
            table.end()?;
            weight.map(Beyond::Weight).ok_or_else(|| table.wrong("weight", "set the weight, such as weight = 0.1"))
        }
    }
}
