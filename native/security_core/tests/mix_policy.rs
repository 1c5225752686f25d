//! The mix policy against its vectors, generated arguments and real alias lists.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;
use security_core::mix_policy::{
    Alias, AliasStep, Arguments, DenialKind, List, MixPolicy, Reason, TaskGrammar, split_step,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Vector {
    name: String,
    task: String,
    args: Vec<String>,
    env: Option<String>,
    allow: bool,
    kind: Option<String>,
}

fn vectors() -> Vec<Vector> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../test/fixtures/policy/mix_policy.json"
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The name of a kind in other languages.
fn name(kind: DenialKind) -> String {
    serde_json::to_value(kind)
        .unwrap()
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn every_vector_is_decided_as_written() {
    let policy = MixPolicy::new();
    let wrong: Vec<String> = vectors()
        .iter()
        .filter_map(|v| {
            let got = policy.check(&v.task, &v.args, v.env.as_deref());
            let right = match &got {
                Ok(()) => v.allow,
                Err(denial) => !v.allow && v.kind == Some(name(denial.kind)),
            };
            (!right).then(|| {
                format!(
                    "{}: expected {:?}, got {:?}",
                    v.name,
                    v.kind,
                    got.map_err(|d| d.kind)
                )
            })
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn a_denial_names_the_argument_and_what_is_allowed() {
    let policy = MixPolicy::new();
    let denial = policy
        .check("test", &["--trace", "--formatter", "Evil"], None)
        .unwrap_err();
    assert_eq!(
        (denial.argument.as_deref(), denial.index),
        (Some("--formatter"), Some(1))
    );
    assert_eq!(denial.reason, Reason::EvaluatesCode);
    assert!(
        denial
            .allowed
            .iter()
            .any(|option| option == "--only TAG[:VALUE]")
    );

    let denial = policy.check("test", &["--seed", "abc"], None).unwrap_err();
    assert_eq!(
        (denial.argument.as_deref(), denial.index),
        (Some("abc"), Some(1))
    );
    assert_eq!(denial.allowed, ["INTEGER (at least 0)"]);

    let denial = policy.check::<&str>("deploy", &[], None).unwrap_err();
    assert!(denial.allowed.contains(&"deps.get".to_owned()));

    let denial = policy.check::<&str>("test", &[], Some("prod")).unwrap_err();
    assert_eq!(
        (denial.task.as_deref(), denial.allowed),
        (Some("test"), vec!["dev".to_owned(), "test".to_owned()])
    );
}

#[test]
fn the_projects_own_test_paths_count() {
    let policy = MixPolicy::new().test_paths(vec!["spec".into(), "integration/test/".into()]);
    assert!(policy.check("test", &["spec/a_test.exs"], None).is_ok());
    assert!(
        policy
            .check("test", &["integration/test/a_test.exs:4"], None)
            .is_ok()
    );
    let denial = policy
        .check("test", &["test/a_test.exs"], None)
        .unwrap_err();
    assert_eq!(denial.kind, DenialKind::OutsideTestPaths);
}

#[test]
fn a_user_may_add_tasks_but_not_blocked_ones() {
    let added = |name: &'static str| TaskGrammar {
        name: name.into(),
        arguments: Arguments::AnyWithPathsChecked,
        compiles: true,
    };
    let policy = MixPolicy::new()
        .allow_task(added("sobelow"))
        .allow_task(added("ecto.drop"))
        .allow_task(added("test"));
    for args in [
        &["--config", "--exit=low"][..],
        &["lib", "-v"],
        &["--skip", "a,b"],
        &["--", "lib"],
    ] {
        assert!(policy.check("sobelow", args, None).is_ok(), "{args:?}");
    }
    for args in [
        "--root=/etc",
        "-o/etc/x",
        "-o~/x",
        "/etc",
        "--out=a:/etc",
        "a=../b",
        "--x=~/y",
        "--root=.git",
        "-",
        "a\nb",
        "@/etc/x",
    ] {
        assert!(policy.check("sobelow", &[args], None).is_err(), "{args:?}");
    }
    assert_eq!(
        policy
            .check::<&str>("ecto.drop", &[], None)
            .unwrap_err()
            .kind,
        DenialKind::TaskBlocked
    );
    assert!(
        policy
            .check("test", &["--formatter", "Evil"], None)
            .is_err(),
        "a built-in grammar stays"
    );
}

fn alias(name: &str, steps: &[&str]) -> Alias {
    let steps = steps
        .iter()
        .map(|&step| {
            if step == "fn" {
                AliasStep::Function
            } else {
                AliasStep::Task(step.into())
            }
        })
        .collect();
    Alias {
        name: name.into(),
        steps,
    }
}

fn expanded(policy: &MixPolicy, task: &str, args: &[&str], aliases: &[Alias]) -> Vec<String> {
    policy
        .check_expanded(List::Narrow, task, args, Some("test"), aliases)
        .unwrap()
        .into_iter()
        .map(|step| {
            format!("{} {}", step.task, step.args.join(" "))
                .trim()
                .to_owned()
        })
        .collect()
}

#[test]
fn the_usual_database_alias_runs() {
    let aliases = [alias(
        "test",
        &["ecto.create --quiet", "ecto.migrate --quiet", "test"],
    )];
    let steps = expanded(&MixPolicy::new(), "test", &["test/a_test.exs"], &aliases);
    assert_eq!(
        steps,
        [
            "ecto.create --quiet",
            "ecto.migrate --quiet",
            "test test/a_test.exs"
        ]
    );
    let denial = MixPolicy::new()
        .check::<&str>("ecto.create", &[], None)
        .unwrap_err();
    assert_eq!(
        denial.kind,
        DenialKind::TaskNotAllowed,
        "only as an alias step"
    );
}

#[test]
fn an_alias_of_allowed_steps_is_a_name_for_them() {
    let aliases = [
        alias(
            "precommit",
            &[
                "compile --warnings-as-errors",
                "deps.unlock --unused",
                "lint",
                "test",
            ],
        ),
        alias("lint", &["format --check-formatted", "credo --strict"]),
    ];
    let steps = expanded(&MixPolicy::new(), "precommit", &["--trace"], &aliases);
    assert_eq!(
        steps,
        [
            "compile --warnings-as-errors",
            "deps.unlock --unused",
            "format --check-formatted",
            "credo --strict",
            "test --trace"
        ]
    );
}

#[test]
fn a_step_is_judged_like_a_call() {
    let policy = MixPolicy::new();
    for (step, kind) in [
        ("run priv/repo/seeds.exs", DenialKind::TaskNotAllowed),
        ("cmd rm -rf x", DenialKind::TaskNotAllowed),
        ("ecto.drop", DenialKind::TaskBlocked),
        ("do ecto.create + run x.exs", DenialKind::TaskBlocked),
        ("test --formatter Evil", DenialKind::OptionRefused),
        ("ecto.load -d /etc/x", DenialKind::AbsolutePathBlocked),
        ("format \"unclosed", DenialKind::AliasInvalidStep),
        ("", DenialKind::AliasInvalidStep),
        ("   ", DenialKind::AliasInvalidStep),
        ("fn", DenialKind::AliasFunctionStep),
    ] {
        let aliases = [alias("test", &["compile", step, "test"])];
        let denial = policy
            .check_expanded::<&str>(List::Narrow, "test", &[], None, &aliases)
            .unwrap_err();
        assert_eq!(denial.kind, kind, "{step}");
        let place = denial.alias.unwrap();
        assert_eq!((place.name.as_str(), place.step), ("test", 1), "{step}");
    }
}

#[test]
fn arguments_reach_the_step_that_mix_gives_them_to() {
    let policy = MixPolicy::new();
    let args = ["--formatter", "Evil"];
    let last = [alias("t", &["compile", "test"])];
    assert_eq!(
        policy
            .check_expanded(List::Narrow, "t", &args, None, &last)
            .unwrap_err()
            .kind,
        DenialKind::OptionRefused
    );
    let own_name_first = [alias("test", &["test", "format"])];
    assert_eq!(
        expanded(&policy, "test", &["--trace"], &own_name_first),
        ["test --trace", "format"]
    );
    let nothing_left = [
        alias("test", &["fmt", "test", "test"]),
        alias("fmt", &["format"]),
    ];
    assert_eq!(
        expanded(&policy, "test", &["--trace"], &nothing_left),
        ["format", "test --trace", "test"]
    );
}

#[test]
fn a_function_needs_a_trusted_alias() {
    let aliases = [alias("setup_db", &["compile", "fn"])];
    let policy = MixPolicy::new().trust_alias("setup_db");
    assert_eq!(
        expanded(&policy, "setup_db", &[], &aliases),
        ["compile", ""]
    );
    let blocked = [alias("release", &["compile"])];
    let denial = policy
        .trust_alias("release")
        .check_expanded::<&str>(List::Narrow, "release", &[], None, &blocked)
        .unwrap_err();
    assert_eq!(
        denial.kind,
        DenialKind::TaskBlocked,
        "a blocked name stays blocked"
    );
}

#[test]
fn aliases_that_name_each_other_end() {
    let policy = MixPolicy::new();
    let aliases = [alias("a", &["b"]), alias("b", &["a"])];
    let denial = policy
        .check_expanded::<&str>(List::Narrow, "a", &[], None, &aliases)
        .unwrap_err();
    assert_eq!(
        (denial.kind, denial.task.as_deref()),
        (DenialKind::TaskNotAllowed, Some("a"))
    );

    let chain: Vec<Alias> = (0..5000)
        .map(|n| alias(&format!("a{n}"), &[&format!("a{}", n + 1)]))
        .collect();
    assert!(
        policy
            .check_expanded::<&str>(List::Narrow, "a0", &[], None, &chain)
            .is_err()
    );
    let wide = [alias("w", &["compile"; 300])];
    let denial = policy
        .check_expanded::<&str>(List::Narrow, "w", &[], None, &wide)
        .unwrap_err();
    assert_eq!(denial.kind, DenialKind::AliasTooLong);
}

#[test]
fn an_alias_of_a_task_that_mix_runs_on_its_own_counts_too() {
    let aliases = [alias("compile", &["cmd make", "compile"])];
    let denial = MixPolicy::new()
        .check_expanded::<&str>(List::Narrow, "test", &[], None, &aliases)
        .unwrap_err();
    assert_eq!(
        (denial.kind, denial.alias.unwrap().name.as_str()),
        (DenialKind::TaskNotAllowed, "compile")
    );
    assert!(
        MixPolicy::new()
            .check_expanded::<&str>(List::Narrow, "deps.tree", &[], None, &aliases)
            .is_ok(),
        "it compiles nothing"
    );
}

#[test]
fn steps_are_split_as_option_parser_splits() {
    // Each right-hand side was printed by OptionParser.split/1.
    for (text, words) in [
        ("a b", &["a", "b"][..]),
        ("a\\ b c", &["a b", "c"]),
        ("\"a b\" c", &["a b", "c"]),
        ("a \"\" b", &["a", "", "b"]),
        ("a \"\"", &["a"]),
        ("\"a\\\"b\"", &["a\"b"]),
        ("a\\\\", &["a\\\\"]),
        ("\"a\\nb\"", &["a\\nb"]),
        ("  x  y ", &["x", "y"]),
        ("a\tb", &["a\tb"]),
        ("a\\\\ b", &["a\\ b"]),
        ("a\\x b", &["a\\x", "b"]),
        ("a\\' b", &["a'", "b"]),
        ("\"a\\'b\"", &["a\\'b"]),
    ] {
        assert_eq!(split_step(text).unwrap(), words, "{text}");
    }
    assert_eq!(split_step("a \"b"), None);
    assert_eq!(split_step("\"a\\\\\" b"), None);
}

/// Pieces that attacks and honest calls are made of.
fn argument() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("..".to_owned()),
        Just("/".into()),
        Just("../".into()),
        Just("\\".into()),
        Just("~".into()),
        Just("\0".into()),
        Just("\n".into()),
        Just("%2e".into()),
        Just("%2F".into()),
        Just("{".into()),
        Just("}".into()),
        Just(",".into()),
        Just("=".into()),
        Just(":".into()),
        Just("-".into()),
        Just("--".into()),
        Just("--only".into()),
        Just("--output".into()),
        Just("-o".into()),
        Just("test".into()),
        Just("test/".into()),
        Just("a_test.exs".into()),
        Just("lib".into()),
        Just(".".into()),
        Just(".git".into()),
        Just("12".into()),
        "[a-z_]{1,4}",
        any::<char>().prop_map(|c| c.to_string()),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_passes_is_harmless_text(task in prop::sample::select(vec![
        "compile", "test", "format", "deps.get", "deps.compile", "deps.tree", "deps.unlock", "help", "credo", "dialyzer", "docs",
        "hex.info",
    ]), args in prop::collection::vec(argument(), 0..5)) {
        let policy = MixPolicy::new();
        if policy.check(task, &args, None).is_ok() {
            let mut after_dashes = false;
            for (at, arg) in args.iter().enumerate() {
                prop_assert!(!arg.contains(".."), "{task} {args:?}");
                prop_assert!(!arg.chars().any(|c| c == '\0' || c == '\n' || c.is_ascii_control()), "{task} {args:?}");
                prop_assert!(!arg.to_ascii_lowercase().contains("%2e"), "{task} {args:?}");
                let is_text = at > 0 && ["-n", "--name-pattern", "-c", "--checks", "-i"].contains(&args[at - 1].as_str());
                prop_assert!(is_text || !arg.starts_with(['/', '~']), "{task} {args:?}");
                prop_assert!(!after_dashes || !arg.starts_with('-'), "{task} {args:?}");
                after_dashes |= arg == "--";
            }
        }
    }

    #[test]
    fn an_option_nobody_listed_never_passes(name in "[a-z]{2,8}(-[a-z]{2,6})?", value in "[a-z]{0,3}") {
        let policy = MixPolicy::new();
        for task in policy.allowed_tasks() {
            let listed = policy.check(task, &["--no-such-option-at-all"], None).unwrap_err().allowed;
            let known = listed.iter().any(|option| {
                let long = option.split(' ').next().unwrap_or("").replace("[no-]", "");
                long == format!("--{name}") || format!("--no-{}", &long[2..]) == format!("--{name}")
            });
            if !known {
                let (bare, inline) = (format!("--{name}"), format!("--{name}={value}"));
                prop_assert!(policy.check(task, &[bare], None).is_err());
                prop_assert!(policy.check(task, &[inline], None).is_err());
            }
        }
    }

    #[test]
    fn no_text_makes_it_panic(task in any::<String>(), args in prop::collection::vec(any::<String>(), 0..8), step in any::<String>()) {
        let policy = MixPolicy::new();
        let _ = policy.check(&task, &args, None);
        let _ = policy.check("format", &args, None);
        let _ = policy.check_expanded(List::Narrow, &task, &args, None, &[alias(&task, &[&step, "test"])]);
    }
}

#[test]
fn the_wide_list_takes_what_an_engineer_types_and_no_code_in_the_line() {
    let policy = MixPolicy::new();
    let check = |line: &str| {
        let mut words = line.split(' ').map(str::to_owned);
        let task = words.next().unwrap();
        let args: Vec<String> = words.collect();
        let wide = policy.check_in(List::Wide, &task, &args, None);
        let narrow = policy.check_in(List::Narrow, &task, &args, None);
        (wide.map_err(|d| d.kind), narrow.is_ok())
    };
    for line in [
        "deps",
        "xref graph --format stats",
        "clean",
        "app.tree",
        "phx.routes",
        "ecto.migrate",
        "ecto.gen.migration add_users",
        "phx.gen.html Blog Post posts title:string",
        "run priv/seeds.exs",
        "run --no-halt",
        "hex.outdated",
        "phx.server",
        "ecto.rollback -n 1",
        "new my_app --sup",
    ] {
        assert_eq!(check(line), (Ok(()), false), "{line}");
    }
    use DenialKind::{AbsolutePathBlocked, OptionRefused, TaskBlocked};
    for (line, kind) in [
        ("release", TaskBlocked),
        ("do compile", TaskBlocked),
        ("ecto.drop", TaskBlocked),
        ("deps.update jason", TaskBlocked),
        ("cmd ls", TaskBlocked),
        ("eval 1", TaskBlocked),
        ("archive.install x", TaskBlocked),
        ("local.public_keys", TaskBlocked),
        ("hex.user auth", TaskBlocked),
        ("run -e 1", OptionRefused),
        ("run --eval 1", OptionRefused),
        ("run /tmp/x.exs", AbsolutePathBlocked),
        ("phx.server -e 1", OptionRefused),
        ("profile.fprof --eval=1", OptionRefused),
        ("xref graph --output=/tmp/x", AbsolutePathBlocked),
        ("test -r x.exs", OptionRefused),
    ] {
        assert_eq!(check(line).0, Err(kind), "{line}");
    }
    // An alias of the project may use what the wide list has.
    let aliases = [Alias {
        name: "setup".into(),
        steps: vec![AliasStep::Task("run priv/seeds.exs".into())],
    }];
    let expand = |list| {
        policy
            .check_expanded::<&str>(list, "setup", &[], None, &aliases)
            .is_ok()
    };
    assert!(expand(List::Wide) && !expand(List::Narrow));
}
