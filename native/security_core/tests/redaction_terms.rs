//! What redaction does to terms: what goes, what stays, and that every kind stays what it is.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use proptest::prelude::*;
use security_core::sanitizer::terms::{Beyond, Budget, Knowledge, Names, Outcome, WITHHELD};
use security_core::sanitizer::{KnownSecrets, Memory, Sanitizer};
use support::tree::{Tree, Trees, atom, bytes, chars, improper, list, map, text, tuple};

const WIDE: Budget = Budget {
    nodes: 5_000_000,
    bytes: 64 << 20,
};

fn outcome(term: &Tree, limit: (Budget, Beyond)) -> Outcome<Tree> {
    remembering(None, term, limit)
}

fn remembering(memory: Option<&Memory>, term: &Tree, limit: (Budget, Beyond)) -> Outcome<Tree> {
    let knowledge = Knowledge {
        secrets: &KnownSecrets::empty(),
        names: &Names::new(),
        memory,
    };
    Sanitizer::built_in().redact_term(&Trees::default(), term, knowledge, limit)
}

fn redact(term: &Tree) -> Tree {
    match outcome(term, (WIDE, Beyond::Withhold)) {
        Outcome::Clean => term.clone(),
        Outcome::Redacted(clean, summary) => {
            assert!(summary.total() > 0, "{clean:?}");
            clean
        }
        Outcome::Stopped => panic!("a walk that withholds does not stop"),
    }
}

#[track_caller]
fn becomes(term: Tree, expected: Tree) {
    assert_eq!(redact(&term), expected);
    assert_eq!(redact(&expected), expected, "and settles");
}

#[track_caller]
fn stays(term: Tree) {
    assert_eq!(
        outcome(&term, (WIDE, Beyond::Withhold)),
        Outcome::Clean,
        "{term:?}"
    );
}

fn gone() -> Tree {
    text("[REDACTED]")
}

const TOKEN: &str = "Zk3vQ9xL2mT7wR4pB8sD5f";

#[test]
fn the_kind_of_what_goes_stays() {
    let under = |value| map([(atom("password"), value)]);
    becomes(under(text("winter5508")), under(gone()));
    becomes(under(chars("winter5508")), under(chars("[REDACTED]")));
    becomes(under(atom("winter5508")), under(atom("[REDACTED]")));
    becomes(under(Tree::Integer(4711)), under(gone()));
    becomes(under(Tree::Float(0.5)), under(gone()));
    becomes(under(bytes(&[1, 2, 250])), under(gone()));
    becomes(under(text("größe22")), under(gone()));
}

#[test]
fn what_holds_values_under_a_sensitive_name_keeps_its_shape() {
    becomes(
        map([(atom("secrets"), list([text("a"), text("b")]))]),
        map([(atom("secrets"), list([gone(), gone()]))]),
    );
    becomes(
        map([(
            atom("credentials"),
            map([(atom("user"), text("x")), (atom("pw"), text("y"))]),
        )]),
        map([(
            atom("credentials"),
            map([(atom("user"), gone()), (atom("pw"), gone())]),
        )]),
    );
    becomes(
        map([(
            atom("auth"),
            tuple([atom("basic"), text("ann"), text("winter5508")]),
        )]),
        map([(atom("auth"), tuple([atom("basic"), gone(), gone()]))]),
    );
    becomes(
        map([(atom("secret"), list([1, 200, 3000].map(Tree::Integer)))]),
        map([(atom("secret"), list([gone()]))]),
    );
    // A set holds its values as keys.
    let set = |value| {
        let inner = map([(value, Tree::Nil)]);
        map([
            (atom("__struct__"), atom("Elixir.MapSet")),
            (atom("map"), inner),
        ])
    };
    becomes(
        map([(atom("passwords"), set(text("winter5508")))]),
        map([(atom("passwords"), set(gone()))]),
    );
}

#[test]
fn words_and_places_under_a_sensitive_name_stay() {
    for value in [
        atom("string"),
        atom("nil"),
        atom("Elixir.Acme.Vault"),
        text(""),
        Tree::Nil,
        Tree::Pid,
        tuple([atom("system"), text("DB_PASSWORD")]),
        tuple([
            atom("Elixir.Acme.Vault"),
            atom("fetch"),
            list([atom("db"), atom("password")]),
        ]),
        map([(atom("min_length"), Tree::Integer(12))]),
    ] {
        stays(map([(atom("password"), value.clone())]));
        stays(tuple([text("password"), value]));
    }
    stays(map([
        (atom("max_tokens"), Tree::Integer(4096)),
        (atom("bypass"), atom("true")),
    ]));
}

#[test]
fn tuples_name_too() {
    let key = || tuple([atom("db"), atom("password")]);
    becomes(map([(key(), text("winter5508"))]), map([(key(), gone())]));
    becomes(tuple([key(), text("winter5508")]), tuple([key(), gone()]));
    let key = || tuple([atom("user"), Tree::Integer(3)]);
    stays(map([(key(), text("winter5508"))]));
}

#[test]
fn columns_name_the_cells_below_them() {
    let table = |columns: &str, rows: &str, cell: Tree| {
        let names = list([text("id"), text("password"), text("note")]);
        let row = |cell| list([Tree::Integer(1), cell, text("hi")]);
        map([
            (atom(columns), names),
            (
                atom(rows),
                list([row(cell.clone()), row(Tree::Integer(7)), row(atom("nil"))]),
            ),
        ])
    };
    let expected = |columns: &str, rows: &str| {
        let names = list([text("id"), text("password"), text("note")]);
        let row = |cell| list([Tree::Integer(1), cell, text("hi")]);
        let rows_left = list([row(gone()), row(gone()), row(atom("nil"))]);
        map([(atom(columns), names), (atom(rows), rows_left)])
    };
    becomes(
        table("columns", "rows", text("winter5508")),
        expected("columns", "rows"),
    );
    becomes(
        table("fields", "values", text("winter5508")),
        expected("fields", "values"),
    );
    // Rows before columns, rows as tuples, one row.
    let names = || list([text("email"), text("api_token")]);
    let row = |cell| tuple([text("a@acme.test"), cell]);
    becomes(
        map([
            (text("rows"), list([row(text(TOKEN))])),
            (text("columns"), names()),
        ]),
        map([
            (text("rows"), list([row(gone())])),
            (text("columns"), names()),
        ]),
    );
    becomes(
        map([
            (atom("fields"), names()),
            (atom("values"), list([text("a"), text(TOKEN)])),
        ]),
        map([
            (atom("fields"), names()),
            (atom("values"), list([text("a"), gone()])),
        ]),
    );
    // A row of settings says by its first cell what its second is.
    let settings = |cell| {
        map([
            (atom("columns"), list([text("name"), text("value")])),
            (
                atom("rows"),
                list([
                    list([text("smtp_password"), cell]),
                    list([text("site"), text("winter5508")]),
                ]),
            ),
        ])
    };
    becomes(settings(text("winter5508")), settings(gone()));
    // A row of another width is no row of these columns.
    stays(map([
        (atom("columns"), list([text("id"), text("password")])),
        (
            atom("rows"),
            list([list([text("one")]), list([text("a"), text("b"), text("c")])]),
        ),
    ]));
}

#[test]
fn an_option_names_the_word_behind_it() {
    becomes(
        list([
            text("login"),
            text("--password"),
            text("winter5508"),
            text("-v"),
        ]),
        list([text("login"), text("--password"), gone(), text("-v")]),
    );
    stays(list([text("login"), text("--password"), text("--verbose")]));
    stays(list([text("password"), text("password_confirmation")]));
    stays(list([text("-----BEGIN SECRET-----"), text("of the day")]));
}

#[test]
fn pieces_of_one_text_are_searched_as_one() {
    let (left, right) = TOKEN.split_at(10);
    let secret = |inner: Tree| list([text("Authorization: Bearer "), text(left), inner]);
    for term in [
        secret(list([text(right), Tree::Integer(10)])),
        secret(list([list([list([text(right)])]), text("\n")])),
        improper([text("Authorization: Bearer "), text(left)], text(right)),
    ] {
        let clean = format!("{:?}", redact(&term));
        assert!(!clean.contains(left) && !clean.contains(right), "{clean}");
        let clean = format!("{:?}", redact(&tuple([atom("ok"), term])));
        assert!(!clean.contains(left) && !clean.contains(right), "{clean}");
    }
}

#[test]
fn a_budget_that_runs_out_stops_or_withholds() {
    let numbers = || {
        list(
            (0..100)
                .map(|n| Tree::Integer(n * 1000))
                .collect::<Vec<_>>(),
        )
    };
    let long = || text(&"a ".repeat(500));
    let named = map([(atom("password"), text("winter5508"))]);
    let table = map([
        (atom("columns"), list(vec![text("password"); 100])),
        (atom("rows"), list([list(vec![text("x"); 100])])),
    ]);
    let small = Budget {
        nodes: 50,
        bytes: 400,
    };
    for term in [numbers(), long(), tuple([numbers(), named.clone()]), table] {
        assert_eq!(
            outcome(&term, (small, Beyond::Stop)),
            Outcome::Stopped,
            "{term:?}"
        );
        match outcome(&term, (small, Beyond::Withhold)) {
            Outcome::Redacted(clean, _) => {
                let clean = format!("{clean:?}");
                assert!(
                    clean.contains(WITHHELD) && !clean.contains("winter5508"),
                    "{clean}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn shared_columns_are_paid_for_each_time() {
    let columns = list(vec![text("password"); 900]);
    let nest = |inner, _| map([(atom("columns"), columns.clone()), (atom("rows"), inner)]);
    let deep = (0..400).fold(Tree::Nil, nest);
    let limit = Budget {
        nodes: 1000,
        bytes: 1 << 20,
    };
    assert_eq!(outcome(&deep, (limit, Beyond::Stop)), Outcome::Stopped);
}

#[test]
fn depth_is_no_limit() {
    let mut deep = map([(text("password"), text("winter5508"))]);
    for _ in 0..2_000 {
        deep = tuple([atom("a"), map([(text("inner"), list([deep]))])]);
    }
    let clean = redact(&deep);
    assert_ne!(clean, deep);
}

#[test]
fn names_are_remembered_for_what_they_are() {
    let (trees, names) = (Trees::default(), Names::new());
    let known = KnownSecrets::build_with([], [b"acme_internal_name".to_vec()]);
    let look = |term: &Tree, known: &KnownSecrets, names: &Names| {
        let knowledge = Knowledge {
            secrets: known,
            names,
            memory: None,
        };
        let limit = (WIDE, Beyond::Withhold);
        Sanitizer::built_in().redact_term(&trees, term, knowledge, limit)
    };
    let term = map([
        (atom("password"), text("x1")),
        (atom("acme_internal_name"), atom("ok")),
    ]);
    let first = look(&term, &KnownSecrets::empty(), &names);
    assert_eq!(look(&term, &KnownSecrets::empty(), &names), first);
    let Outcome::Redacted(clean, _) = first else {
        panic!("{first:?}");
    };
    let named = map([
        (atom("password"), gone()),
        (atom("acme_internal_name"), atom("ok")),
    ]);
    assert_eq!(clean, named);
    let other = Names::new();
    let marked = map([(atom("password"), gone()), (atom("[REDACTED]"), atom("ok"))]);
    for _ in 0..2 {
        let Outcome::Redacted(clean, _) = look(&term, &known, &other) else {
            panic!("the name is known");
        };
        assert_eq!(clean, marked);
    }
}

#[test]
fn what_a_name_gave_away_goes_from_the_whole_term() {
    let value = "x7Kp2mQ9vL4tZw";
    let echoed = text(&format!("got {value} back"));
    let gone_from = text("got [REDACTED] back");
    let told = |value: &str| {
        [
            map([(atom("api_token"), text(value))]),
            text(&format!("api_token: \"{value}\"")),
        ]
    };
    for (told, silent) in told(value).into_iter().zip(told("[REDACTED]")) {
        let term = list([echoed.clone(), told, atom(value)]);
        let clean = list([gone_from.clone(), silent, atom("[REDACTED]")]);
        assert_eq!(redact(&term), clean);
        assert_eq!(outcome(&term, (WIDE, Beyond::Stop)), Outcome::Stopped);
    }
    // A word under such a name tells of nothing.
    let term = |value| {
        list([
            text("postgres is up"),
            map([(atom("password"), text(value))]),
        ])
    };
    assert_eq!(redact(&term("postgres")), term("[REDACTED]"));
}

#[test]
fn a_session_remembers_what_its_terms_gave_away() {
    let (here, there) = (Memory::new(8), Memory::new(8));
    let limit = (WIDE, Beyond::Withhold);
    let value = "x7Kp2mQ9vL4tZw";
    let told = map([(atom("api_token"), text(value))]);
    let later = map([
        (atom("line"), text(&format!("got {value} back"))),
        (atom(value), atom("ok")),
    ]);
    assert!(matches!(
        remembering(Some(&here), &told, limit),
        Outcome::Redacted(..)
    ));
    let clean = map([
        (atom("line"), text("got [REDACTED] back")),
        (atom("[REDACTED]"), atom("ok")),
    ]);
    match remembering(Some(&here), &later, limit) {
        Outcome::Redacted(redacted, _) => assert_eq!(redacted, clean),
        other => panic!("{other:?}"),
    }
    assert_eq!(remembering(Some(&there), &later, limit), Outcome::Clean);
    assert_eq!(outcome(&later, limit), Outcome::Clean);
    // What is known already is no reason to move elsewhere.
    let stop = (WIDE, Beyond::Stop);
    assert!(matches!(
        remembering(Some(&here), &told, stop),
        Outcome::Redacted(..)
    ));
    assert_eq!(remembering(Some(&there), &told, stop), Outcome::Stopped);
}

#[test]
fn what_went_is_told_by_kind() {
    let note = |term| match outcome(&term, (WIDE, Beyond::Withhold)) {
        Outcome::Redacted(_, summary) => summary.to_string(),
        other => panic!("{other:?}"),
    };
    let named = |name, value| map([(text(name), value)]);
    let line = || text("password: \"winter5508\"");
    assert_eq!(note(line()), "Redacted: 1 value (password).");
    assert_eq!(
        note(list([
            named("smtp_password", text("winter5508")),
            tuple([atom("ok"), line()]),
        ])),
        "Redacted: 2 values (password)."
    );
    let sides = "left:  %{password: \"winter1\"}\nright: %{password: \"winter2\"}";
    assert_eq!(
        note(named("message", text(sides))),
        "Redacted: 2 values (password); they differ."
    );
}

#[test]
fn a_name_that_ends_in_what_was_redacted_says_no_more_than_before() {
    let key = |part| tuple([text("credentials"), part]);
    let value = || map([(text(""), text(TOKEN))]);
    becomes(
        map([(key(chars("password=winter5508")), value())]),
        map([(key(chars("[REDACTED]")), value())]),
    );
    let address = || atom("https://ann:winter5508@acme.test/");
    let three = |middle| tuple([text("credentials"), middle, text("")]);
    becomes(
        map([(three(address()), value())]),
        map([(three(atom("[REDACTED]")), value())]),
    );
    for first in [atom("password=winter5508"), address(), atom(TOKEN)] {
        let named = |first, value| map([(tuple([first, atom("token")]), value)]);
        becomes(named(first, text(TOKEN)), named(atom("[REDACTED]"), gone()));
    }
}

fn any_tree() -> impl Strategy<Value = Tree> {
    let word = prop_oneof![
        Just("password"),
        Just("token"),
        Just("name"),
        Just("value"),
        Just("columns"),
        Just("rows"),
        Just("system"),
        Just("user"),
        Just("__struct__"),
        Just("credentials"),
        Just("--secret"),
        Just("winter5508"),
        Just("password=winter5508"),
        Just("nil"),
        Just(""),
        Just("Zk3vQ9xL2mT7wR4pB8sD5f"),
        Just("https://ann:winter5508@acme.test/"),
    ];
    let leaf = prop_oneof![
        word.clone().prop_map(text),
        word.clone().prop_map(atom),
        word.prop_map(chars),
        prop::collection::vec(any::<u8>(), 0..12).prop_map(|raw| bytes(&raw)),
        any::<i64>().prop_map(|number| Tree::Integer(number.into())),
        (0i128..256).prop_map(Tree::Integer),
        Just(Tree::Float(1.5)),
        Just(Tree::Nil),
        Just(Tree::Pid),
    ];
    leaf.prop_recursive(5, 60, 5, |inner| {
        let many = || prop::collection::vec(inner.clone(), 0..5);
        prop_oneof![
            many().prop_map(list),
            many().prop_map(tuple),
            (many(), inner.clone()).prop_map(|(elements, tail)| improper(elements, tail)),
            prop::collection::vec((inner.clone(), inner), 0..5).prop_map(unique),
        ]
    })
}

/// A map of members of which none has another's key.
fn unique(members: Vec<(Tree, Tree)>) -> Tree {
    let mut kept: Vec<(Tree, Tree)> = Vec::new();
    for member in members {
        if kept.iter().all(|(key, _)| *key != member.0) {
            kept.push(member);
        }
    }
    map(kept)
}

/// Tuples keep their size, maps theirs, and no list of anything becomes something else.
fn same_shape(before: &Tree, after: &Tree) -> bool {
    match (before, after) {
        (Tree::Tuple(a), Tree::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same_shape(a, b))
        }
        (Tree::Map(a), Tree::Map(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same_shape(&a.1, &b.1))
        }
        (Tree::Tuple(_) | Tree::Map(_), _) => false,
        (Tree::List(_), Tree::List(_)) | (Tree::Nil, Tree::Nil) => true,
        (Tree::List(_), _) => false,
        (Tree::Atom(_), Tree::Atom(_)) | (Tree::Text(_), Tree::Text(_)) => true,
        (Tree::Integer(_) | Tree::Float(_), Tree::Text(_)) => true,
        (a, b) => a == b,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_term_keeps_its_shape_and_settles(term in any_tree()) {
        let once = redact(&term);
        prop_assert!(same_shape(&term, &once), "{term:?}\n{once:?}");
        prop_assert_eq!(redact(&once), once);
    }

    #[test]
    fn a_small_budget_never_lets_more_pass(term in any_tree(), nodes in 0usize..40) {
        let limit = Budget { nodes, bytes: 8 * nodes };
        let full = redact(&term);
        match outcome(&term, (limit, Beyond::Stop)) {
            Outcome::Clean => prop_assert_eq!(full, term),
            Outcome::Redacted(clean, _) => prop_assert_eq!(full, clean),
            Outcome::Stopped => {}
        }
    }
}
