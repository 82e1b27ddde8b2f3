//! The hashes were created with libxcrypt, `perl -e 'print crypt("open sesame", q($2y$05$abcdefghijklmnopqrstuu))'`, not with
//! the code that verifies them.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use base64::Engine;

use super::{header::BASE64, recent::Recent, *};

const ALADDIN: &str = "aladdin:$2y$05$abcdefghijklmnopqrstuupx2xBUC4954936wVIjyyPHmUBFu0wCW";
const BERTA: &str = "berta:$2b$04$012345678901234567890uFYCmJtmcHOoQdnqXlIpQFPVj0MVeiZC";

fn passwords() -> Passwords {
    Passwords::parse(&format!("# users\n{ALADDIN}\n\n{BERTA}\r\n")).unwrap()
}

fn basic_of(credentials: impl AsRef<[u8]>) -> HeaderValue {
    HeaderValue::from_str(&format!("Basic {}", BASE64.encode(credentials))).unwrap()
}

fn look(passwords: &Passwords, credentials: &str, now: Instant) -> Check {
    passwords.check_at(Some(&basic_of(credentials)), now)
}

/// Runs the job that the check must have returned.
fn worked(check: Check, now: Instant) -> Option<Arc<str>> {
    let Check::Work(job) = check else { panic!("{check:?} is not a job") };
    job.run_at(now)
}

#[test]
fn right_credentials_are_found_right_and_remembered_for_five_minutes() {
    let (passwords, start) = (passwords(), Instant::now());
    assert_eq!(passwords.users(), 2);
    for (credentials, name) in [("aladdin:open sesame", "aladdin"), ("berta:geheim", "berta")] {
        assert_eq!(worked(look(&passwords, credentials, start), start).as_deref(), Some(name));
        let known = |after: u64| look(&passwords, credentials, start + Duration::from_secs(after));
        assert!(matches!(known(299), Check::Known(known) if *known == *name));
        assert!(matches!(known(300), Check::Work(_)));
    }
}

#[test]
fn wrong_ones_are_remembered_for_ten_seconds_and_do_not_touch_right_ones() {
    let (passwords, start) = (passwords(), Instant::now());
    for credentials in
        ["aladdin:open sesamE", "aladdin:", "aladdin:geheim", "carol:open sesame", ":", "Aladdin:open sesame"]
    {
        assert_eq!(worked(look(&passwords, credentials, start), start), None, "{credentials}");
        assert!(matches!(look(&passwords, credentials, start + Duration::from_secs(9)), Check::Unknown));
        assert!(matches!(look(&passwords, credentials, start + Duration::from_secs(10)), Check::Work(_)));
    }
    assert!(worked(look(&passwords, "aladdin:open sesame", start), start).is_some());
}

#[test]
fn no_user_is_known_by_a_hash_that_is_a_decoy() {
    let passwords = Passwords::parse(ALADDIN).unwrap();
    let start = Instant::now();
    assert_eq!(worked(look(&passwords, "carol:open sesame", start), start), None);
}

#[test]
fn headers_are_read_as_clients_write_them() {
    let passwords = passwords();
    let check = |header: &str| passwords.check(Some(&HeaderValue::from_str(header).unwrap()));
    assert!(matches!(passwords.check(None), Check::Missing));
    for header in ["", "Basic", "Bearer abc", "Digest username=\"aladdin\"", "Basi", "BasicYWxhZGRpbjpvcGVu"] {
        assert!(matches!(check(header), Check::Missing), "{header}");
    }
    let long = format!("Basic {}", "YWFh".repeat(257));
    for header in ["Basic !!", "Basic YWxhZGRpbg==", "Basic  ", &long] {
        assert!(matches!(check(header), Check::Unknown), "{header}");
    }
    for encoded in [
        "Basic YWxhZGRpbjpvcGVuIHNlc2FtZQ==",
        "basic YWxhZGRpbjpvcGVuIHNlc2FtZQ",
        "BASIC   YWxhZGRpbjpvcGVuIHNlc2FtZQ== ",
    ] {
        let header = HeaderValue::from_str(encoded).unwrap();
        let check = self::passwords().check(Some(&header));
        assert_eq!(worked(check, Instant::now()).as_deref(), Some("aladdin"), "{encoded}");
    }
}

#[test]
fn a_password_may_hold_colons_and_any_letters_and_counts_up_to_72_bytes() {
    let text = "c:$2y$04$......................VbqCyJLZwq3Mb5Wj1qoHX0WRUXesgbe\n\
                long:$2y$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i\n\
                empty:$2y$04$abcdefghijklmnopqrstuubyCG3zY1GIXMyxfivm.ClDiInHzxjiq\n";
    let (passwords, now) = (Passwords::parse(text).unwrap(), Instant::now());
    let is = |credentials: &str| worked(look(&passwords, credentials, now), now).is_some();
    assert!(is("c:päss:wörd") && !is("c:päss"));
    let latin = passwords.check_at(Some(&basic_of(b"c:p\xe4ss:w\xf6rd")), now);
    assert!(matches!(latin, Check::Known(_)), "the same in ISO 8859-1");
    assert!(is("empty:") && !is("empty:x"));
    let long = |length: usize| format!("long:{}", "x".repeat(length));
    assert!(is(&long(100)) && is(&long(72)) && !is(&long(71)));
}

#[test]
fn at_most_four_jobs_are_in_flight_and_none_twice() {
    let (passwords, now) = (passwords(), Instant::now());
    let mut jobs: Vec<_> = (0..MAX_JOBS).map(|guess| look(&passwords, &format!("aladdin:{guess}"), now)).collect();
    assert!(jobs.iter().all(|check| matches!(check, Check::Work(_))));
    assert!(matches!(look(&passwords, "berta:geheim", now), Check::Busy), "four are in flight");
    jobs.pop();
    assert!(matches!(look(&passwords, "aladdin:0", now), Check::Busy), "this one is in flight");
    let berta = look(&passwords, "berta:geheim", now);
    assert_eq!(worked(berta, now).as_deref(), Some("berta"));
    assert!(matches!(look(&passwords, "berta:geheim", now), Check::Known(_)), "the known one needs no job");
    drop(jobs);
    assert!(matches!(look(&passwords, "aladdin:0", now), Check::Work(_)), "a job that was dropped is over");
}

#[test]
fn what_is_remembered_is_bounded_and_the_oldest_goes_first() {
    let start = Instant::now();
    let mut recent = Recent::new((Duration::from_secs(10), 3));
    for key in 0..5 {
        recent.insert(key, key * 10, start + Duration::from_secs(key));
    }
    let at = start + Duration::from_secs(5);
    let left: Vec<_> = (0..5u64).filter_map(|key| recent.get(&key, at)).collect();
    assert_eq!(left, [&20, &30, &40]);
    recent.insert(3, 31, at);
    recent.insert(5, 50, at);
    assert_eq!(recent.get(&3, start + Duration::from_secs(14)), Some(&31), "its last time counts");
    assert_eq!(recent.get(&4, start + Duration::from_secs(14)), None, "ten seconds have passed");
}

#[test]
fn a_file_that_is_wrong_is_refused_with_its_line() {
    let many: String = (0..=10_000).map(|n| format!("u{n}{}\n", &BERTA[5..])).collect();
    for (text, expected) in [
        ("", "passwords: it lists no users: add some with htpasswd -B"),
        ("# none\n", "passwords: it lists no users: add some with htpasswd -B"),
        ("secret\n", "passwords, line 1: it is not name:hash: use htpasswd -B"),
        ("\nx:secret", "passwords, line 2: user 'x': the password is not hashed with bcrypt: use htpasswd -B"),
        (
            "x:$apr1$r31.....$HqJZimcKQFAMYayBlzkrA/",
            "passwords, line 1: user 'x': the password is not hashed with bcrypt: use htpasswd -B",
        ),
        (
            "x:$2a$04$012345678901234567890uFYCmJtmcHOoQdnqXlIpQFPVj0MVeiZC",
            "passwords, line 1: user 'x': the password is not hashed with bcrypt: use htpasswd -B",
        ),
        (
            "x:$2y$04$01234567890123456789",
            "passwords, line 1: user 'x': the password is not hashed with bcrypt: use htpasswd -B",
        ),
        (
            &BERTA.replace("$04$", "$15$"),
            "passwords, line 1: user 'berta': a cost of 15: use htpasswd -B -C with one from 4 to 14",
        ),
        (
            &BERTA.replace("$04$", "$03$"),
            "passwords, line 1: user 'berta': a cost of 3: use htpasswd -B -C with one from 4 to 14",
        ),
        (&BERTA[5..], "passwords, line 1: user '': a name has from 1 to 64 bytes"),
        (
            &format!("{BERTA}\n{ALADDIN}\n{BERTA}\n"),
            "passwords, line 3: user 'berta': it is listed twice: remove one line",
        ),
        (&many, "passwords, line 10001: user 'u10000': with it there are over 10000 users"),
    ] {
        assert_eq!(Passwords::parse(text).unwrap_err().to_string(), expected);
    }
    assert!(Passwords::read(Path::new("/does/not/exist")).unwrap_err().to_string().contains("cannot be read"));
}

#[test]
fn neither_hashes_nor_passwords_are_printed() {
    let passwords = passwords();
    let check = look(&passwords, "aladdin:open sesame", Instant::now());
    assert_eq!(format!("{passwords:?} {check:?}"), "Passwords of 2 users Work(Job)");
}

proptest! {
    #[test]
    fn no_header_and_no_file_panics(header in proptest::collection::vec(any::<u8>(), 0..80), text in "\\PC{0,80}") {
        let _ = Passwords::parse(&text);
        let passwords = Passwords::parse(BERTA).unwrap();
        for header in [header.clone(), [b"Basic ", &header[..]].concat()] {
            if let Ok(header) = HeaderValue::from_bytes(&header) {
                prop_assert!(!matches!(passwords.check(Some(&header)), Check::Known(_) | Check::Busy));
            }
        }
    }
}

#[test]
fn a_file_may_begin_with_a_byte_order_mark() {
    let path = std::env::temp_dir().join(format!("dovetail-mark-{}", std::process::id()));
    std::fs::write(&path, format!("\u{feff}{ALADDIN}\n")).expect("a file");
    let passwords = Passwords::read(&path).expect("passwords");
    std::fs::remove_file(&path).expect("it is there");
    let header = HeaderValue::from_static("Basic YWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    let Check::Work(job) = passwords.check(Some(&header)) else { panic!("nothing is known yet") };
    assert_eq!(job.run().as_deref(), Some("aladdin"));
}
