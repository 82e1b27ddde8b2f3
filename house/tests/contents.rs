//! The book's contents are complete.

use dovetail_house::{
    pages::links,
    repository::{assert_none, files, read, root},
};

#[test]
fn the_contents_list_every_page() {
    let docs = root().join("docs");
    let summary = links(&read(&docs.join("SUMMARY.md")));
    let mut wrong = Vec::new();
    for page in files(&docs, "md") {
        let name = page.strip_prefix(&docs).expect("a page of the book").display().to_string();
        // A folder is listed as a whole; its README lists its pages.
        let by_its_folder = name.contains('/') && !name.ends_with("/README.md");
        if name != "SUMMARY.md" && !by_its_folder && !summary.contains(&name) {
            wrong.push(format!("docs/SUMMARY.md: add a line that links to {name}"));
        }
    }
    assert_none(&wrong);
}
