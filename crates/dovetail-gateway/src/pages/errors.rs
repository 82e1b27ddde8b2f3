//! Why a visitor gets no page, in their language.

use dovetail_admin::Answer;
use http::{HeaderValue, StatusCode, header};

use super::visit::Visit;
use crate::{
    config::Config,
    frame::{Frame, filled, filled_with_html},
    language::{InEach, escaped},
};

/// Why there is no page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Error {
    /// The path does not exist.
    NoSuchPage,
    /// The method is not GET or HEAD.
    OnlyRead,
    /// The client used another host name.
    OtherName,
    /// The request came through another proxy, all of whose users are one user here.
    OthersProxy,
}

/// What a page for an error says.
#[derive(Debug)]
struct Text {
    heading: &'static str,
    sentence: &'static str,
}

/// All texts of errors.
#[derive(Debug)]
struct Texts {
    origin: &'static str,
    no_such_page: Text,
    only_read: Text,
    other_name: Text,
    others_proxy: Text,
}

/// The texts in each language.
static TEXTS: InEach<Texts> = InEach {
    english: Texts {
        origin: "{status} from the gateway {gateway}.",
        no_such_page: Text {
            heading: "Page not found",
            sentence: "The gateway has no such page. Its first one is {first}.",
        },
        only_read: Text { heading: "Only for reading", sentence: "A page of the gateway can only be read." },
        other_name: Text {
            heading: "Unknown name",
            sentence: "This is a gateway, and the site in the address is not one of its own. Its own pages are at {first}. To reach other servers through it, set it as the proxy.",
        },
        others_proxy: Text {
            heading: "Not your gateway",
            sentence: "The request came to this gateway through another proxy, whose users are one user here: none of them may see what the others do. Ask your own gateway for its pages, at the address that is set as your proxy.",
        },
    },
    german: Texts {
        origin: "{status} vom Gateway {gateway}.",
        no_such_page: Text {
            heading: "Seite nicht gefunden",
            sentence: "Diese Seite gibt es auf dem Gateway nicht. Seine erste Seite ist {first}.",
        },
        only_read: Text { heading: "Nur zum Lesen", sentence: "Seiten des Gateways lassen sich nur lesen." },
        other_name: Text {
            heading: "Unbekannter Name",
            sentence: "Hier antwortet ein Gateway, und die Website in der Adresse gehört nicht zu ihm. Seine eigenen Seiten stehen unter {first}. Um durch das Gateway andere Server zu erreichen, stellen Sie es als Proxy ein.",
        },
        others_proxy: Text {
            heading: "Nicht Ihr Gateway",
            sentence: "Die Anfrage kam über einen anderen Proxy zu diesem Gateway. Alle Nutzer dieses Proxys sind hier ein einziger Nutzer, und keiner von ihnen darf sehen, was die anderen tun. Die Seiten Ihres eigenen Gateways finden Sie unter der Adresse, die als Ihr Proxy eingestellt ist.",
        },
    },
    french: Texts {
        origin: "{status} de la passerelle {gateway}.",
        no_such_page: Text {
            heading: "Page introuvable",
            sentence: "La passerelle n’a pas cette page. Sa première page est {first}.",
        },
        only_read: Text {
            heading: "Lecture seule",
            sentence: "Les pages de la passerelle peuvent seulement être lues.",
        },
        other_name: Text {
            heading: "Nom inconnu",
            sentence: "Ceci est une passerelle, et le site indiqué dans l’adresse n’est pas le sien. Ses propres pages se trouvent à l’adresse {first}. Pour atteindre d’autres serveurs par son intermédiaire, configurez-la comme proxy.",
        },
        others_proxy: Text {
            heading: "Pas votre passerelle",
            sentence: "La requête est arrivée à cette passerelle par un autre proxy, dont tous les utilisateurs n’en font qu’un ici\u{a0}: aucun d’eux ne doit voir ce que font les autres. Les pages de votre propre passerelle se trouvent à l’adresse configurée comme votre proxy.",
        },
    },
    spanish: Texts {
        origin: "{status} de la pasarela {gateway}.",
        no_such_page: Text {
            heading: "Página no encontrada",
            sentence: "La pasarela no tiene esa página. Su primera página es {first}.",
        },
        only_read: Text { heading: "Solo lectura", sentence: "Las páginas de la pasarela solo se pueden leer." },
        other_name: Text {
            heading: "Nombre desconocido",
            sentence: "Esto es una pasarela, y el sitio de la dirección no es suyo. Sus propias páginas están en {first}. Para llegar a otros servidores a través de ella, configúrela como proxy.",
        },
        others_proxy: Text {
            heading: "No es su pasarela",
            sentence: "La petición ha llegado a esta pasarela a través de otro proxy, cuyos usuarios son aquí uno solo: ninguno de ellos debe ver lo que hacen los demás. Las páginas de su propia pasarela están en la dirección que tiene configurada como proxy.",
        },
    },
};

impl Error {
    /// The page that explains it.
    pub(super) fn page(self, visit: &Visit<'_>) -> Answer {
        let texts = TEXTS.of(visit.language);
        let text = self.text(texts);
        let Config { proxy, pages, .. } = visit.config;
        let first = escaped(&format!("http://{}/", pages.host));
        let sentence = filled_with_html(text.sentence, &[("first", &format!("<a href=\"{first}\">{first}</a>"))]);
        let origin = filled(texts.origin, &[("status", self.status().as_str()), ("gateway", &proxy.name)]);
        let main = format!("<p>{sentence}</p>\n<p><small>{origin}</small></p>\n");
        let mut page = Frame::new(visit.language, text.heading, &main).page()?;
        *page.status_mut() = self.status();
        if self == Self::OnlyRead {
            page.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        Ok(page)
    }

    const fn text(self, texts: &Texts) -> &Text {
        match self {
            Self::NoSuchPage => &texts.no_such_page,
            Self::OnlyRead => &texts.only_read,
            Self::OtherName => &texts.other_name,
            Self::OthersProxy => &texts.others_proxy,
        }
    }

    const fn status(self) -> StatusCode {
        match self {
            Self::NoSuchPage => StatusCode::NOT_FOUND,
            Self::OnlyRead => StatusCode::METHOD_NOT_ALLOWED,
            Self::OtherName => StatusCode::MISDIRECTED_REQUEST,
            Self::OthersProxy => StatusCode::FORBIDDEN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::table::assert_same;

    #[test]
    fn every_language_says_all_that_english_does_in_its_own_words() {
        assert_eq!(assert_same(&TEXTS, &[]), 9);
    }
}
