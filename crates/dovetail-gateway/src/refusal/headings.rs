//! The headings of pages: in a few words, what happened.

use super::Refusal;
use crate::language::{InEach, Language};

/// All headings in a language.
#[derive(Debug)]
pub(super) struct Headings {
    not_allowed: &'static str,
    sign_in: &'static str,
    unavailable: &'static str,
    too_many: &'static str,
    quota: &'static str,
    invalid: &'static str,
    too_long: &'static str,
    too_slow: &'static str,
    loops: &'static str,
    no_address: &'static str,
    no_connection: &'static str,
    no_answer: &'static str,
    bad_answer: &'static str,
    failed: &'static str,
}

/// The headings in each language.
pub(super) static HEADINGS: InEach<Headings> =
    InEach { english: ENGLISH, german: GERMAN, french: FRENCH, spanish: SPANISH };

const ENGLISH: Headings = Headings {
    not_allowed: "Not allowed",
    sign_in: "Please sign in",
    unavailable: "Not available at the moment",
    too_many: "Too many requests",
    quota: "Quota used up",
    invalid: "Invalid request",
    too_long: "Request too long",
    too_slow: "Request too slow",
    loops: "Proxies in a loop",
    no_address: "Address not found",
    no_connection: "No connection",
    no_answer: "No answer in time",
    bad_answer: "No usable answer",
    failed: "Error in the gateway",
};

const GERMAN: Headings = Headings {
    not_allowed: "Nicht erlaubt",
    sign_in: "Bitte melden Sie sich an",
    unavailable: "Im Moment nicht verfügbar",
    too_many: "Zu viele Anfragen",
    quota: "Kontingent aufgebraucht",
    invalid: "Ungültige Anfrage",
    too_long: "Anfrage zu lang",
    too_slow: "Anfrage zu langsam",
    loops: "Proxys in einer Schleife",
    no_address: "Adresse nicht gefunden",
    no_connection: "Keine Verbindung",
    no_answer: "Keine rechtzeitige Antwort",
    bad_answer: "Keine brauchbare Antwort",
    failed: "Fehler im Gateway",
};

const FRENCH: Headings = Headings {
    not_allowed: "Accès non autorisé",
    sign_in: "Veuillez vous identifier",
    unavailable: "Indisponible en ce moment",
    too_many: "Trop de requêtes",
    quota: "Quota épuisé",
    invalid: "Requête non valide",
    too_long: "Requête trop longue",
    too_slow: "Requête trop lente",
    loops: "Proxys en boucle",
    no_address: "Adresse introuvable",
    no_connection: "Pas de connexion",
    no_answer: "Pas de réponse à temps",
    bad_answer: "Pas de réponse utilisable",
    failed: "Erreur dans la passerelle",
};

const SPANISH: Headings = Headings {
    not_allowed: "No permitido",
    sign_in: "Identifíquese, por favor",
    unavailable: "No disponible en este momento",
    too_many: "Demasiadas peticiones",
    quota: "Cuota agotada",
    invalid: "Petición no válida",
    too_long: "Petición demasiado larga",
    too_slow: "Petición demasiado lenta",
    loops: "Proxies en bucle",
    no_address: "Dirección no encontrada",
    no_connection: "Sin conexión",
    no_answer: "Sin respuesta a tiempo",
    bad_answer: "Sin respuesta utilizable",
    failed: "Error en la pasarela",
};

impl Refusal {
    /// The page's heading.
    pub(super) const fn heading(&self, language: Language) -> &'static str {
        let headings = HEADINGS.of(language);
        match self {
            Self::NotAClient(_) | Self::ConnectPort(_) | Self::Port(_) => headings.not_allowed,
            Self::Destination { .. } | Self::OwnName(_) => headings.not_allowed,
            Self::WhoAreYou | Self::NotKnown => headings.sign_in,
            Self::NoHelper | Self::OutOfHours { .. } | Self::Full => headings.unavailable,
            Self::TooManyRequests(_) => headings.too_many,
            Self::Quota { .. } => headings.quota,
            Self::BadRequest(_) | Self::Body(_) | Self::Scheme(_) => headings.invalid,
            Self::TargetTooLong | Self::HeaderTooLong { .. } => headings.too_long,
            Self::BodyTimeout => headings.too_slow,
            Self::Loop => headings.loops,
            Self::NoName { .. } => headings.no_address,
            Self::Connect { .. } | Self::Parent { .. } => headings.no_connection,
            Self::ParentAsks(_) | Self::ParentStatus { .. } => headings.no_connection,
            Self::NameTimeout(_) | Self::ConnectTimeout(_) => headings.no_answer,
            Self::ParentTimeout(_) | Self::ResponseTimeout(_) => headings.no_answer,
            Self::BrokeOff { .. } | Self::ServerAsks(_) => headings.bad_answer,
            Self::Internal(_) => headings.failed,
        }
    }
}
