//! The page's texts in each language. A missing text does not compile; a test ensures that the placeholders in braces are the
//! same in all languages.

/// All texts of the page.
#[derive(Debug)]
pub(super) struct Texts {
    /// The language's tag (RFC 5646).
    pub(super) tag: &'static str,
    /// The decimal separator, and the format of dates (strftime).
    pub(super) point: char,
    pub(super) date: &'static str,
    pub(super) title: &'static str,
    pub(super) you: &'static str,
    pub(super) share: &'static str,
    pub(super) alone: &'static str,
    pub(super) together: &'static str,
    pub(super) weight: &'static str,
    pub(super) quota: &'static str,
    pub(super) no_quota: &'static str,
    pub(super) used: &'static str,
    pub(super) left: &'static str,
    pub(super) of_class: &'static str,
    pub(super) day: &'static str,
    pub(super) week: &'static str,
    pub(super) month: &'static str,
    pub(super) renewed: &'static str,
    pub(super) free: &'static str,
    pub(super) refused: &'static str,
    pub(super) slower: &'static str,
    pub(super) waiting: &'static str,
    pub(super) nothing: &'static str,
    pub(super) more: &'static str,
    pub(super) queued: &'static str,
    pub(super) requested: &'static str,
    pub(super) throttled: &'static str,
    pub(super) receiving: &'static str,
    pub(super) for_own: &'static str,
    pub(super) for_others: &'static str,
    pub(super) for_link: &'static str,
    pub(super) for_server: &'static str,
    pub(super) for_client: &'static str,
    pub(super) received: &'static str,
    pub(super) refreshes: &'static str,
}

/// English is first: it is the fallback.
pub(super) const ALL: [Texts; 4] = [ENGLISH, GERMAN, FRENCH, SPANISH];

const ENGLISH: Texts = Texts {
    tag: "en",
    point: '.',
    date: "%-d %b %Y, %H:%M",
    title: "My part of the connection",
    you: "The gateway {gateway} knows you as {user}, in the class {class}.",
    share: "My share",
    alone: "You have the connection to yourself at the moment: all of it is yours, about {rate}.",
    together: "{users} users share the connection at the moment, you among them. Your share is about {percent} %, or {rate}. What others leave unused is yours as well.",
    weight: "Your weight is {weight}: a user with twice the weight gets twice as much.",
    quota: "My quota",
    no_quota: "You have no quota.",
    used: "{used} of {bytes} used {period}",
    left: "{left} left",
    of_class: "shared by all users of your class",
    day: "today",
    week: "this week",
    month: "this month",
    renewed: "It starts again on {date}.",
    free: "What you use at this hour does not count.",
    refused: "It is used up: pages open again on {date}.",
    slower: "It is used up: until {date} your share is smaller.",
    waiting: "What I am waiting for",
    nothing: "You have no requests in progress.",
    more: "and {count} more",
    queued: "is waiting for its turn",
    requested: "the server has not answered yet",
    throttled: "is waiting for its share of the connection",
    receiving: "is arriving",
    for_own: "{time} waiting for other requests of yours",
    for_others: "{time} waiting for other users",
    for_link: "{time} waiting for the connection",
    for_server: "{time} waiting for the server",
    for_client: "{time} waiting for your device",
    received: "{bytes} received",
    refreshes: "This page refreshes itself every 10 seconds.",
};

const GERMAN: Texts = Texts {
    tag: "de",
    point: ',',
    date: "%d.%m.%Y um %H:%M Uhr",
    title: "Mein Teil der Verbindung",
    you: "Das Gateway {gateway} kennt Sie als {user}, in der Klasse {class}.",
    share: "Mein Anteil",
    alone: "Im Moment nutzt sonst niemand die Verbindung: Sie haben sie ganz für sich, etwa {rate}.",
    together: "Im Moment teilen sich {users} Nutzer die Verbindung, Sie eingeschlossen. Ihr Anteil beträgt etwa {percent} %, das sind {rate}. Was andere nicht nutzen, kommt Ihnen auch zugute.",
    weight: "Ihr Gewicht ist {weight}: Wer das doppelte Gewicht hat, bekommt doppelt so viel.",
    quota: "Mein Kontingent",
    no_quota: "Für Sie gilt kein Kontingent.",
    used: "{used} von {bytes} verbraucht ({period})",
    left: "noch {left}",
    of_class: "für alle Nutzer Ihrer Klasse zusammen",
    day: "heute",
    week: "diese Woche",
    month: "diesen Monat",
    renewed: "Es beginnt neu am {date}.",
    free: "Was Sie um diese Zeit nutzen, zählt nicht.",
    refused: "Es ist aufgebraucht: Seiten lassen sich wieder öffnen ab dem {date}.",
    slower: "Es ist aufgebraucht: Bis zum {date} ist Ihr Anteil kleiner.",
    waiting: "Worauf ich warte",
    nothing: "Sie haben gerade keine Anfragen laufen.",
    more: "und {count} weitere",
    queued: "wartet, bis sie an der Reihe ist",
    requested: "der Server hat noch nicht geantwortet",
    throttled: "wartet auf ihren Anteil an der Verbindung",
    receiving: "kommt an",
    for_own: "{time} auf andere Ihrer Anfragen gewartet",
    for_others: "{time} auf andere Nutzer gewartet",
    for_link: "{time} auf die Verbindung gewartet",
    for_server: "{time} auf den Server gewartet",
    for_client: "{time} auf Ihr Gerät gewartet",
    received: "{bytes} empfangen",
    refreshes: "Diese Seite lädt sich alle 10 Sekunden neu.",
};

const FRENCH: Texts = Texts {
    tag: "fr",
    point: ',',
    date: "%d/%m/%Y à %H:%M",
    title: "Ma part de la connexion",
    you: "La passerelle {gateway} vous connaît sous le nom {user}, dans la classe {class}.",
    share: "Ma part",
    alone: "Personne d’autre n’utilise la connexion en ce moment : elle est toute à vous, environ {rate}.",
    together: "{users} utilisateurs se partagent la connexion en ce moment, vous compris. Votre part est d’environ {percent} %, soit {rate}. Ce que les autres n’utilisent pas vous revient aussi.",
    weight: "Votre poids est de {weight} : un utilisateur de poids double reçoit deux fois plus.",
    quota: "Mon quota",
    no_quota: "Vous n’avez pas de quota.",
    used: "{used} utilisés sur {bytes} ({period})",
    left: "il reste {left}",
    of_class: "partagé par tous les utilisateurs de votre classe",
    day: "aujourd’hui",
    week: "cette semaine",
    month: "ce mois-ci",
    renewed: "Il repart à zéro le {date}.",
    free: "Ce que vous utilisez à cette heure n’est pas compté.",
    refused: "Il est épuisé : les pages s’ouvriront de nouveau le {date}.",
    slower: "Il est épuisé : votre part est réduite jusqu’au {date}.",
    waiting: "Ce que j’attends",
    nothing: "Vous n’avez aucune requête en cours.",
    more: "et {count} de plus",
    queued: "attend son tour",
    requested: "le serveur n’a pas encore répondu",
    throttled: "attend sa part de la connexion",
    receiving: "est en cours de réception",
    for_own: "{time} à attendre vos autres requêtes",
    for_others: "{time} à attendre d’autres utilisateurs",
    for_link: "{time} à attendre la connexion",
    for_server: "{time} à attendre le serveur",
    for_client: "{time} à attendre votre appareil",
    received: "{bytes} reçus",
    refreshes: "Cette page s’actualise toutes les 10 secondes.",
};

const SPANISH: Texts = Texts {
    tag: "es",
    point: ',',
    date: "%d/%m/%Y a las %H:%M",
    title: "Mi parte de la conexión",
    you: "La pasarela {gateway} le conoce como {user}, en la clase {class}.",
    share: "Mi parte",
    alone: "En este momento nadie más usa la conexión: es toda suya, unos {rate}.",
    together: "En este momento {users} usuarios comparten la conexión, incluido usted. Su parte es de un {percent} % aproximadamente, es decir, {rate}. Lo que los demás no usan también es para usted.",
    weight: "Su peso es {weight}: un usuario con el doble de peso recibe el doble.",
    quota: "Mi cuota",
    no_quota: "Usted no tiene ninguna cuota.",
    used: "{used} de {bytes} usados ({period})",
    left: "quedan {left}",
    of_class: "compartida por todos los usuarios de su clase",
    day: "hoy",
    week: "esta semana",
    month: "este mes",
    renewed: "Vuelve a empezar el {date}.",
    free: "Lo que use a esta hora no cuenta.",
    refused: "Está agotada: las páginas volverán a abrirse el {date}.",
    slower: "Está agotada: su parte es menor hasta el {date}.",
    waiting: "Lo que estoy esperando",
    nothing: "No tiene ninguna petición en curso.",
    more: "y {count} más",
    queued: "espera su turno",
    requested: "el servidor aún no ha respondido",
    throttled: "espera su parte de la conexión",
    receiving: "está llegando",
    for_own: "{time} esperando a otras peticiones suyas",
    for_others: "{time} esperando a otros usuarios",
    for_link: "{time} esperando a la conexión",
    for_server: "{time} esperando al servidor",
    for_client: "{time} esperando a su dispositivo",
    received: "{bytes} recibidos",
    refreshes: "Esta página se actualiza cada 10 segundos.",
};

#[cfg(test)]
mod tests {
    use super::*;

    impl Texts {
        fn all(&self) -> Vec<(&'static str, String)> {
            let text = format!("{self:#?}");
            let fields = text.lines().filter_map(|line| line.trim().split_once(": \""));
            fields.map(|(name, value)| (name.to_owned().leak() as &'static str, value.to_owned())).collect()
        }
    }

    fn places(text: &str) -> Vec<&str> {
        let mut places: Vec<_> = text.split('{').skip(1).filter_map(|part| part.split('}').next()).collect();
        places.sort_unstable();
        places
    }

    #[test]
    fn every_language_says_all_that_english_does_in_its_own_words() {
        let english = ALL[0].all();
        assert_eq!(english.len(), 34);
        for texts in &ALL[1..] {
            for ((name, text), (_, original)) in texts.all().into_iter().zip(&english) {
                assert!(!text.trim_end_matches("\",").is_empty(), "{}: {name}", texts.tag);
                assert_ne!(text, *original, "{}: {name} is not translated", texts.tag);
                assert_eq!(places(&text), places(original), "{}: {name}: {text}", texts.tag);
            }
        }
    }
}
