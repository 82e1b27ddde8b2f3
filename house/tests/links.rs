//! A page's links, and the files it names, are there.

use dovetail_house::{
    pages::links,
    repository::{assert_none, pages, read, root, shown},
};

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = read(&page);
        let folder = page.parent().expect("a page is in a folder");
        for link in links(&text) {
            let target = link.split('#').next().unwrap_or_default();
            let outside = ["http://", "https://", "mailto:"].iter().any(|scheme| link.starts_with(scheme));
            if !outside && !target.is_empty() && !folder.join(target).exists() {
                wrong.push(format!("{}: the link to {link} is dead; mend it or write the page", shown(&page)));
            }
        }
        for code in text.split('`') {
            let names_a_path = ["bindings/", "crates/", "scenarios/", "house/"].iter().any(|top| code.starts_with(top));
            if names_a_path && !code.contains(['*', '<', ' ', '\n']) && !root().join(code).exists() {
                wrong.push(format!("{}: there is no {code}; name the file as it is now", shown(&page)));
            }
        }
    }
    assert_none(&wrong);
}
