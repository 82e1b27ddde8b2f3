//! How banned phrases are found, in texts that are made up for it.

use dovetail_house::language::{Passage, banned, findings, of_comments, of_page, of_rust};

/// The lines and phrases that are found with this list.
fn found(passages: &[Passage], list: &str) -> Vec<(usize, String)> {
    let banned = banned(list).expect("a list");
    findings(passages, &banned).into_iter().map(|found| (found.line, found.phrase)).collect()
}

fn at(places: &[(usize, &str)]) -> Vec<(usize, String)> {
    places.iter().map(|&(line, phrase)| (line, phrase.to_owned())).collect()
}

#[test]
fn whole_words_in_any_case_and_over_a_line_s_end() {
    let page = of_page("A red\nherring. Red  herrings,\nunred herring.");
    assert_eq!(found(&page, "red herring\tclue"), at(&[(1, "red herring")]));
    assert_eq!(found(&page, "red herrings?\tclue"), at(&[(1, "red herring"), (2, "Red herrings")]));
}

#[test]
fn documentation_strings_and_names_of_a_source() {
    let source = r#"//! The red
//! herring.

// A red herring to ourselves.
/// A
#[must_use]
fn red_herring() {
    println!("{} red \
        herring", x);
}
struct RedHerring;
/** Block
 red herring */
fn f() {}
"#;
    let passages = of_rust(source).expect("a source");
    let places = [(1, "red herring"), (7, "red herring"), (8, "red herring"), (11, "Red Herring"), (13, "red herring")];
    assert_eq!(found(&passages, "red herring\tclue"), at(&places));
}

#[test]
fn doc_comments_of_two_items_are_not_read_as_one() {
    let passages =
        of_rust("struct S {\n    /// Red\n    herring: u8,\n    /// herring.\n    x: u8,\n}").expect("a source");
    assert_eq!(found(&passages, "red herring\tclue"), at(&[]));
}

#[test]
fn comments_of_a_scenario_but_not_its_values() {
    let passages = of_comments("# red\n# herring\nname = \"red herring # red herring\"\nx = 1 # Red herring\n");
    assert_eq!(found(&passages, "red herring\tclue"), at(&[(1, "red herring"), (4, "Red herring")]));
}

#[test]
fn a_file_s_comment_signs_are_space() {
    assert_eq!(found(&of_page("# a red\n# herring"), "red herring\tclue"), at(&[(1, "red # herring")]));
}

#[test]
fn a_list_that_says_nothing_is_refused() {
    for (list, line) in [("# fine\nred herring", "line 2"), ("red herring\t ", "line 1"), ("a\tb\n\n(\tc", "line 3")] {
        let error = banned(list).expect_err("a wrong list");
        assert!(error.starts_with(line), "{error}");
    }
}
