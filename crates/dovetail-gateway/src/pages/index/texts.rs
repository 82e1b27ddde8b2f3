//! The first page's texts in each language.

use crate::language::InEach;

/// All texts of the page.
#[derive(Debug)]
pub(super) struct Texts {
    pub(super) title: &'static str,
    pub(super) what: &'static str,
    pub(super) knows: &'static str,
    pub(super) me: &'static str,
}

/// The texts in each language.
pub(super) static TEXTS: InEach<Texts> = InEach {
    english: Texts {
        title: "The gateway {gateway}",
        what: "Your connection to the internet is shared with others. This gateway divides it: what is short goes before what is long, and asking for more at once does not make your share larger.",
        knows: "It knows you as {user}, in the class {class}.",
        me: "My share, my quota, and what I am waiting for",
    },
    german: Texts {
        title: "Das Gateway {gateway}",
        what: "Sie teilen sich Ihre Verbindung zum Internet mit anderen. Dieses Gateway teilt sie auf: Kurzes kommt vor Langem, und wer mehr auf einmal anfragt, bekommt dadurch keinen größeren Anteil.",
        knows: "Es kennt Sie als {user}, in der Klasse {class}.",
        me: "Mein Anteil, mein Kontingent und worauf ich warte",
    },
    french: Texts {
        title: "La passerelle {gateway}",
        what: "Vous partagez votre connexion à Internet avec d’autres. Cette passerelle la répartit\u{a0}: ce qui est court passe avant ce qui est long, et demander plus à la fois ne donne pas une plus grande part.",
        knows: "Elle vous connaît sous le nom {user}, dans la classe {class}.",
        me: "Ma part, mon quota et ce que j’attends",
    },
    spanish: Texts {
        title: "La pasarela {gateway}",
        what: "Usted comparte su conexión a Internet con otras personas. Esta pasarela la reparte: lo corto pasa antes que lo largo, y pedir más a la vez no aumenta su parte.",
        knows: "Le conoce como {user}, en la clase {class}.",
        me: "Mi parte, mi cuota y lo que estoy esperando",
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::table::assert_same;

    #[test]
    fn every_language_says_all_that_english_does_in_its_own_words() {
        assert_eq!(assert_same(&TEXTS, &[]), 4);
    }
}
