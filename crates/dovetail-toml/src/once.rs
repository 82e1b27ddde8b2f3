//! A table that a file has once.

use std::{fmt, marker::PhantomData, ops::Deref};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};

/// The error for an array.
pub(crate) const MEANT_ONCE: &str = "one table is meant, not an array of them";

/// A form that is read from a table alone. Without it, an array such as `[[network]]` would be taken for the form's values in
/// order, and the first of them would be wrong in terms that have nothing to do with the mistake.
#[derive(Debug, Clone, Copy, Default)]
pub struct Once<T>(pub T);

impl<T> Deref for Once<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Once<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Read<T> {
            type Value = Once<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Once)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
                Err(A::Error::custom(MEANT_ONCE))
            }
        }
        deserializer.deserialize_map(Read(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fault, read};
    use toml::Spanned;

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Document {
        part: Option<Spanned<Once<Part>>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Part {
        number: Option<u8>,
    }

    #[test]
    fn a_table_is_read_and_an_array_of_tables_is_called_one() {
        let read = |text: &str| read::<Document>(text);
        for text in ["[part]\nnumber = 3", "part = { number = 3 }", "part.number = 3"] {
            let part = read(text).expect(text).part.expect("it is there");
            assert_eq!(part.get_ref().number, Some(3), "{text}");
        }
        let said = "part: write [part], with one bracket: it is one table";
        for (text, said) in [
            ("#\n[[part]]\nnumber = 3", said),
            ("#\n[[part]]", said),
            ("#\n[[part]]\n[[part]]", said),
            ("#\npart = [3]", MEANT_ONCE),
            ("#\npart = []", MEANT_ONCE),
        ] {
            let wrong = read(text).expect_err(text);
            assert_eq!((wrong.line(text), wrong.what.as_str()), (Some(2), said), "{text}");
        }
        assert_eq!(read("part = 3").unwrap_err(), Fault::at(7, "invalid type: integer `3`, expected a table"));
        let text = "[part]\n\nnumber = 300";
        assert_eq!(read(text).unwrap_err().line(text), Some(3), "what is wrong inside is named with its line");
        let text = "[part]\n\nnumbr = 3";
        assert_eq!(read(text).unwrap_err().line(text), Some(3));
    }
}
