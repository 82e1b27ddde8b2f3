//! What keyboards and screen readers need of the operators' pages, in their texts.

use dovetail_house::repository::{read, root};

const PAGES: [&str; 2] =
    ["crates/dovetail-gateway/src/admin/page.html", "crates/dovetail-box/src/live/admin/page.html"];

#[test]
fn tables_have_names_and_header_cells_and_what_scrolls_is_reached_by_keyboard() {
    for page in PAGES {
        let text = read(&root().join(page));
        let opened = |start: &str| -> Vec<&str> {
            text.split(start).skip(1).map(|rest| rest.split('>').next().unwrap_or_default()).collect()
        };
        let (heads, tables, scrolls) = (opened("<th"), opened("<table"), opened("<div class=\"wide\""));
        let heads: Vec<_> = heads.into_iter().filter(|head| !head.starts_with("ead")).collect();
        assert!(heads.len() > 15 && heads.iter().all(|head| head.contains("scope=\"col\"")), "{page}: {heads:?}");
        assert!(
            tables.len() > 2 && tables.iter().all(|table| table.contains("aria-labelledby=")),
            "{page}: {tables:?}"
        );
        let is_reached = |scroll: &&str| scroll.contains("tabindex=\"0\"") && scroll.contains("aria-labelledby=");
        assert!(scrolls.len() == tables.len() && scrolls.iter().all(is_reached), "{page}: {scrolls:?}");
    }
}

#[test]
fn rows_are_not_replaced_each_second_and_the_page_can_be_paused() {
    for page in PAGES {
        let text = read(&root().join(page));
        assert!(text.contains("renew(by(id), made)") && !text.contains("by(id).replaceChildren"), "{page}");
        assert!(
            text.contains("id=\"pause\" aria-pressed=\"false\"") && text.contains("paused) timer = setTimeout"),
            "{page}"
        );
        assert!(text.matches("<main>").count() == 1 && text.matches("</main>").count() == 1, "{page}");
        // These are read out when they are written.
        for id in ["gone", "fault", "said"] {
            assert!(
                !text.contains(&format!("by('{id}').textContent =")),
                "{page}: {id} is written where it is the same"
            );
        }
    }
}
