//! The texts in each language. A missing text does not compile; a test ensures that the places in braces are the same in all
//! languages, except for reasons that come from elsewhere in English: only English sentences can end with one.

mod english;
mod french;
mod german;
mod spanish;
mod table;

use self::{english::ENGLISH, french::FRENCH, german::GERMAN, spanish::SPANISH, table::Texts};
use crate::language::InEach;

/// The texts in each language.
pub(super) static TEXTS: InEach<Texts> = InEach { english: ENGLISH, german: GERMAN, french: FRENCH, spanish: SPANISH };
