//! Names of classes.

use crate::config::Config;

/// The name of the class with this number.
pub(super) fn class_name(config: &Config, class: u32) -> String {
    config.classes.get(class as usize).map_or_else(|| "?".to_owned(), |class| class.name.to_string())
}
