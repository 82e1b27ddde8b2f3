//! Tests the page in a real browser: it shows the classes and a waiting request with its reason, changes a weight, and reports
//! when the gateway is gone. Skipped with a message if there is no Chromium.

use std::{
    io,
    thread::{self, sleep},
    time::{Duration, Instant},
};

use crate::{
    browser::Browser,
    port::udp_echo,
    running::{Running, TOKEN},
};

/// A link that is too narrow for its load.
fn busy() -> Running {
    let gateway = Running::start("rate = \"4Mbps\"\nlearn = false", &format!("token = \"{TOKEN}\""));
    let clients = [("127.0.1.4", 600_000), ("127.0.1.9", 25_000_000), ("127.0.2.7", 2_000_000), ("127.0.2.8", 0)];
    for (client, bytes) in (0..3).flat_map(|_| clients).chain([("127.0.0.3", 30_000_000)]) {
        let mut response = gateway.ask(client, bytes);
        // Until the gateway ends.
        response.set_read_timeout(None).unwrap();
        thread::spawn(move || io::copy(&mut response, &mut io::sink()));
    }
    gateway
}

/// Enters a token on the page.
fn use_token(token: &str) -> String {
    format!("document.querySelector('#token').value = '{token}'; document.querySelector('#use-token').click()")
}

#[test]
fn the_page_shows_what_happens_and_changes_a_weight() {
    let Some(mut browser) = Browser::open() else { return };
    let gateway = busy();
    browser.go(&format!("http://{}/", gateway.admin));
    browser.wait_for(
        "document.querySelectorAll('#classes tr').length === 3 && document.querySelectorAll('#requests tr').length > 8",
    );
    for shown in ["office", "guests", "127.0.1.9", "127.0.2.7", "has not responded"] {
        browser.wait_for(&format!("document.body.innerText.includes('{shown}')"));
    }
    browser.wait_for("/queued|throttled/.test(document.querySelector('#requests').innerText)");
    browser.wait_for("document.querySelector('#use').textContent.includes('%')");
    browser.wait_for("document.querySelectorAll('#use-chart path').length === 3");
    assert_eq!(
        browser.text("document.querySelector('#classes').querySelectorAll('input').length"),
        "0",
        "no token yet"
    );
    let set = |value: &str| {
        format!(
            "(() => {{ const input = document.querySelector('#classes tr:nth-child(2) input'); input.value = '{value}';
             input.dispatchEvent(new Event('change')); }})()"
        )
    };
    browser.run(&use_token("not-the-right-token"));
    browser.wait_for("document.querySelector('#classes input') !== null");
    browser.run(&set("7"));
    browser.wait_for("document.querySelector('#said').textContent.includes('The token is wrong')");
    browser.wait_for("document.querySelector('#classes input') === null");
    assert_eq!(gateway.status()["classes"][1]["weight"], 1.0);

    browser.run(&use_token(TOKEN));
    browser.wait_for("document.querySelector('#classes input') !== null");
    browser.run(&set("2.5"));
    browser.wait_for("document.querySelector('#said').textContent.includes('has weight 2.5 until')");
    gateway.status_when("the weight is changed", |status| status["classes"][1]["weight"] == 2.5);
    assert_eq!(browser.text("sessionStorage.length + localStorage.length"), "1", "the token is kept for the tab only");
    assert_eq!(browser.text("document.cookie + location.search + location.hash"), "");

    drop(gateway);
    browser.wait_for("!document.querySelector('#gone').hidden");
}

#[test]
fn a_class_and_a_user_are_clicked_on_and_only_theirs_is_shown() {
    let Some(mut browser) = Browser::open() else { return };
    let gateway = busy();
    // As wide as a phone, with elements large enough to touch.
    browser.look(390, 800, false);
    browser.go(&format!("http://{}/", gateway.admin));
    browser.wait_for("document.querySelectorAll('#requests tr').length > 8");
    let click = |selector: &str, name: &str| {
        format!(
            "[...document.querySelectorAll('{selector} button.link')].find((b) => b.textContent === '{name}').click()"
        )
    };
    browser.run(&click("#classes", "guests"));
    browser.wait_for("document.querySelector('#chosen-head').textContent === 'Class guests'");
    browser.wait_for("document.querySelectorAll('#requests tr').length === 6");
    let text =
        browser.text("document.querySelector('#requests').innerText + document.querySelector('#users').innerText");
    assert!(text.contains("127.0.2.7") && !text.contains("127.0.1.9"), "{text}");
    let said = browser.text("document.querySelector('#chosen').innerText");
    for shown in ["Weight", "for each of 2 active users", "Received"] {
        assert!(said.contains(shown), "no {shown} in {said}");
    }
    browser.wait_for("document.querySelector('#chosen-chart path.of') !== null");

    browser.run(&click("#users", "127.0.2.7"));
    browser.wait_for("document.querySelector('#chosen-head').textContent === 'User 127.0.2.7'");
    browser.wait_for("document.querySelectorAll('#requests tr').length === 3");
    browser.wait_for("document.querySelectorAll('#chosen-spent dt').length > 0");
    let said = browser.text("document.querySelector('#chosen').innerText");
    assert!(said.contains("class guests") && said.contains("What these requests have waited for"), "{said}");
    // A chart of the bytes received for them, as soon as ten seconds have passed.
    browser.wait_for("document.querySelector('#chosen-chart path.of') !== null");
    assert_eq!(browser.text("document.scrollingElement.scrollWidth <= innerWidth"), "true");
    let hidden =
        "[...document.querySelectorAll('td')].filter((cell) => cell.getBoundingClientRect().right > innerWidth).length";
    assert_eq!(browser.text(hidden), "0", "every value is seen without scrolling aside");

    browser.run("history.back()");
    browser.wait_for("document.querySelector('#chosen-head').textContent === 'Class guests'");
    browser.run("document.querySelector('#all').click()");
    browser
        .wait_for("document.querySelector('#chosen').hidden && document.querySelectorAll('#requests tr').length > 8");
    // There is no such user, whatever characters the name contains.
    browser.run("location.hash = 'user=' + encodeURIComponent('<b>&x=y')");
    browser.wait_for("document.querySelector('#chosen-head').textContent === 'User <b>&x=y'");
    browser.wait_for("document.querySelector('#requests').innerText === 'No requests.'");
    browser.run("document.querySelector('#hour').click()");
    browser.wait_for("document.querySelector('#hour').getAttribute('aria-pressed') === 'true' && hours.length > 0");
    browser.wait_for("document.querySelectorAll('#use-chart path').length === 3");
}

#[test]
fn the_page_fits_a_phone_loads_nothing_and_is_dark_where_the_desktop_is() {
    let Some(mut browser) = Browser::open() else { return };
    let gateway = busy();
    let mut lightness = Vec::new();
    for (name, width, dark) in
        [("light", 1180, false), ("dark", 1180, true), ("phone", 390, false), ("narrow", 320, false)]
    {
        browser.look(width, 1000, dark);
        browser.go(&format!("http://{}/", gateway.admin));
        browser.wait_for("document.querySelectorAll('#classes tr').length === 3");
        if let Some(folder) = std::env::var_os("DOVETAIL_SCREENSHOTS") {
            if name == "light" {
                browser.run(&use_token(TOKEN));
            }
            // It takes a while until there is something to see.
            sleep(Duration::from_secs(if name == "light" { 40 } else { 2 }));
            std::fs::write(std::path::Path::new(&folder).join(format!("{name}.png")), browser.screenshot()).unwrap();
        }
        let fits = "document.scrollingElement.scrollWidth <= innerWidth";
        assert_eq!(browser.text(fits), "true", "{name}: {}", browser.text("document.scrollingElement.scrollWidth"));
        let loaded = "performance.getEntriesByType('resource').filter((entry) => !entry.name.endsWith('.json')).length";
        assert_eq!(browser.text(loaded), "0", "{name}: the page loads nothing");
        // The longest possible labels, set and drawn in one step: the page redraws every second.
        browser.wait_for("samples.length > 0");
        for delay_ms in [18, 180, 1_800, 18_000] {
            let outside = format!(
                "(() => {{
                   delayChart([0, 1].map((n) => ({{ number: n, at_s: n, far_delay_ms: {delay_ms} }})));
                   const all = [...document.querySelectorAll('#delay-chart text')];
                   return all.filter((text) => text.getBBox().x < 0).map((text) => text.textContent).join();
                 }})()"
            );
            assert_eq!(browser.text(&outside), "", "{name}: labels are cut off");
            let meeting = "(() => {
                const all = [...document.querySelectorAll('#delay-chart text')].map((text) => text.getBBox());
                const times = all.filter((box) => box.y > 150).sort((one, other) => one.x - other.x);
                return times.filter((box, i) => i && times[i - 1].x + times[i - 1].width > box.x).length;
              })()";
            assert_eq!(browser.text(meeting), "0", "{name}: labels meet");
        }
        let colour = browser.text("getComputedStyle(document.body).backgroundColor");
        let parts = colour.trim_start_matches("rgb(").trim_end_matches(')').split(", ");
        lightness.push(parts.map(|part| part.parse::<u32>().unwrap()).sum::<u32>() / 3);
    }
    assert!(lightness[0] > 220 && lightness[1] < 50, "{lightness:?}");
}

#[test]
fn the_page_says_that_uploads_are_not_paced_where_probes_may_wait_behind_them() {
    let Some(mut browser) = Browser::open() else { return };
    let (echo, _) = udp_echo();
    let gateway = Running::start(&format!("rate = \"4Mbps\"\nprobe = \"udp://{echo}\""), "");
    browser.look(1180, 1000, false);
    browser.go(&format!("http://{}/", gateway.admin));
    let began = Instant::now();
    while browser.text("document.querySelector('#delay-of').textContent") != "uploads are not paced" {
        assert!(began.elapsed() < Duration::from_secs(20), "it does not say so");
        let _ = io::copy(&mut gateway.upload("127.0.1.1", 20_000), &mut io::sink());
    }
}

/// What users see of the gateway: the reason for a refusal, its first page, their own, and where none is.
#[test]
fn what_users_see_fits_a_phone_and_is_dark_where_theirs_is() {
    let quota = "[[quota]]\nname = \"monthly\"\nbytes = \"500kB\"\n";
    let gateway = Running::with("rate = \"4Mbps\"\nprobe = \"off\"", "", quota);
    let waits = gateway.ask("127.0.0.1", 300_000);
    let proxy = gateway.proxy;
    // German has the longest words.
    let options = [format!("--proxy-server=http://{proxy}"), "--accept-lang=de".into()];
    let Some(mut browser) = Browser::open_with(&options) else { return };
    // Of these, Chromium requests only the first through the proxy, which refuses it.
    let pages = [("refusal", "http://10.0.0.1/".to_owned()), ("index", format!("http://{proxy}/"))];
    let others = [("me", format!("http://{proxy}/me")), ("error", format!("http://{proxy}/nothing"))];
    for (name, url) in pages.into_iter().chain(others) {
        for dark in [false, true] {
            browser.look(390, 800, dark);
            browser.go(&url);
            assert_eq!(browser.text("document.scrollingElement.scrollWidth <= innerWidth"), "true", "{name}");
            assert_eq!(browser.text("document.documentElement.lang"), "de", "{name}");
            let picture = browser.screenshot();
            if let Some(folder) = std::env::var_os("DOVETAIL_SCREENSHOTS") {
                let file = format!("users-{name}-{}.png", if dark { "dark" } else { "light" });
                std::fs::write(std::path::Path::new(&folder).join(file), &picture).unwrap();
            }
            let mut reader = png::Decoder::new(io::Cursor::new(picture)).read_info().unwrap();
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            reader.next_frame(&mut pixels).unwrap();
            // A corner without text.
            let corner = pixels[0];
            assert!(if dark { corner < 60 } else { corner > 220 }, "{name}, dark {dark}: {corner}");
        }
    }
    drop(waits);
}

/// What has the keyboard's focus, on a page whose rows are drawn each second.
const FOCUSED: &str = "document.activeElement.textContent";

#[test]
fn the_focus_of_the_keyboard_stays_where_rows_are_drawn_each_second() {
    let Some(mut browser) = Browser::open() else { return };
    let gateway = busy();
    browser.go(&format!("http://{}/", gateway.admin));
    browser.wait_for("document.querySelectorAll('#requests tr').length > 8");
    let of =
        |name: &str| format!("[...document.querySelectorAll('#users button')].find((b) => b.textContent === '{name}')");
    browser.run(&format!("{}.focus()", of("127.0.2.7")));
    browser.run("window.before = samples.length");
    browser.wait_for("samples.length >= before + 3");
    assert_eq!(browser.text(FOCUSED), "127.0.2.7");
    // Its row moves, as it does where another user has received more.
    browser.run("renew(by('users'), [...by('users').children].reverse().map((row) => row.cloneNode(true)))");
    assert_eq!(browser.text(FOCUSED), "127.0.2.7");

    // A weight that was set leaves the focus on its field.
    browser.run(&use_token(TOKEN));
    browser.wait_for("document.activeElement === by('forget')");
    browser.run(
        "(() => { const input = document.querySelector('#classes tr:nth-child(2) input'); input.focus(); input.value = '4';
         input.dispatchEvent(new Event('input')); input.dispatchEvent(new Event('change')); })()",
    );
    browser.wait_for("document.querySelector('#said').textContent.includes('has weight 4 until')");
    assert_eq!(browser.text("document.activeElement.ariaLabel"), "Weight of class guests");
}

#[test]
fn the_page_stands_still_while_it_is_paused() {
    let Some(mut browser) = Browser::open() else { return };
    let gateway = busy();
    browser.go(&format!("http://{}/", gateway.admin));
    browser.wait_for("samples.length > 1");
    browser.run("by('pause').click()");
    // What was under way when it was paused is drawn still.
    browser.wait_for("by('pause').getAttribute('aria-pressed') === 'true' && !looking && !again");
    browser.run(
        "window.drawn_before = by('about').textContent; window.asked = performance.getEntriesByType('resource').length",
    );
    gateway.status_when("three seconds later", |status| status["uptime_s"].as_f64().unwrap() > 6.0);
    assert_eq!(browser.text("performance.getEntriesByType('resource').length - asked"), "0");
    browser.run("by('pause').click()");
    browser.wait_for("by('about').textContent !== drawn_before");
}

/// What screen readers and the keyboard need of a page: landmarks, header cells and names.
#[test]
fn the_pages_have_landmarks_and_their_tables_names_and_header_cells() {
    let Some(mut browser) = Browser::open() else { return };
    let gateway = busy();
    let (admin, proxy) = (gateway.admin, gateway.proxy);
    for url in [
        format!("http://{admin}/"),
        format!("http://{proxy}/"),
        format!("http://{proxy}/me"),
        format!("http://{proxy}/no"),
    ] {
        browser.go(&url);
        let outside = "[...document.body.children].filter((one) => !['MAIN', 'HEADER', 'FOOTER', 'SCRIPT', 'NOSCRIPT'].includes(one.tagName)).length";
        assert_eq!(browser.text(outside), "0", "{url}: everything is within a landmark");
        assert_eq!(browser.text("document.querySelectorAll('main').length"), "1", "{url}");
        assert_eq!(browser.text("document.querySelectorAll('h1').length"), "1", "{url}");
        let bare = "[...document.querySelectorAll('th')].filter((head) => head.scope !== 'col').length";
        assert_eq!(browser.text(bare), "0", "{url}: header cells say of what they are");
        let named = "[...document.querySelectorAll('table, .wide')].filter((one) => !one.ariaLabelledByElements?.length).length";
        assert_eq!(browser.text(named), "0", "{url}: tables have names");
        let reached = "[...document.querySelectorAll('.wide')].filter((one) => one.tabIndex !== 0).length";
        assert_eq!(browser.text(reached), "0", "{url}: what scrolls is reached by keyboard");
        assert_eq!(browser.text("document.querySelectorAll('meta[http-equiv=refresh]').length"), "0", "{url}");
    }
    browser.go(&format!("http://{proxy}/me"));
    assert_eq!(browser.text("!document.getElementById('renew').hidden"), "true");
}

#[test]
fn the_users_page_is_renewed_in_place() {
    let Some(mut browser) = Browser::open() else { return };
    let gateway = Running::start("rate = \"4Mbps\"\nprobe = \"off\"", "");
    browser.go(&format!("http://{}/me", gateway.proxy));
    assert_eq!(browser.text("document.body.innerText.includes('You have no requests in progress.')"), "true");
    browser.run("window.same = true; document.querySelector('#renew').focus()");
    let live = gateway.ask("127.0.0.1", 0);
    browser.wait_for("document.body.innerText.includes('has not answered yet')");
    assert_eq!(browser.text("window.same && document.activeElement.id"), "renew", "the page was loaded again");
    drop(live);
}
