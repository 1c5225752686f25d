//! Command lines from arbitrary text; a second line is the folder they run in.
#![no_main]

mod naive;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use naive::{ROOT, stays_inside};
use security_core::command_policy::{
    BUILTINS, CommandPolicy, LAUNCHERS, MAX_LINE_BYTES, PathMode, Place, SHELLS, Target, Word,
};
use security_core::mix_policy;
use security_core::path_boundary::lexical::check_relative;

static POLICY: OnceLock<CommandPolicy> = OnceLock::new();

/// True when a dollar sign stands before what a shell would put a value in for; before anything else it is itself.
fn expands(line: &str) -> bool {
    let after = line.split('$').skip(1);
    after.into_iter().any(|rest| {
        let special = |c: char| c.is_ascii_alphanumeric() || "_{([@*#?-!".contains(c);
        rest.starts_with(special)
    }) || line.contains("$$")
}

fuzz_target!(|text: &str| {
    let policy = POLICY.get_or_init(CommandPolicy::new);
    let (cwd, line) = match text.split_once('\u{1}') {
        Some((cwd, line)) if check_relative(cwd).is_ok() => (cwd, line),
        _ => ("", text),
    };
    let place = Place {
        root: Some(ROOT),
        cwd,
        aliases: false,
    };
    let aliases = Place {
        aliases: true,
        ..place
    };
    let lenient = policy.check(line, aliases);
    let Ok(plan) = policy.check(line, place) else {
        // All that knowing of aliases opens is a task of Mix that is not blocked.
        for command in lenient
            .iter()
            .flat_map(|plan| &plan.steps)
            .flat_map(|step| &step.commands)
        {
            if let Some(call) = &command.mix {
                assert!(
                    !mix_policy::BLOCKED.contains(&call.task.as_str()),
                    "{line:?}"
                );
            }
        }
        return;
    };
    assert_eq!(lenient.as_ref(), Ok(&plan), "{line:?}");
    assert!(line.len() <= MAX_LINE_BYTES);
    assert!(
        stays_inside(&plan.cwd, ""),
        "{line:?} runs in {:?}",
        plan.cwd
    );
    // Space at the end says nothing.
    if line.len() < MAX_LINE_BYTES && !line.ends_with('\\') {
        assert_eq!(
            policy.check(&format!("{line} "), place).as_ref(),
            Ok(&plan),
            "{line:?}"
        );
    }
    // Without any quoting, nothing that a shell would expand can have been meant as itself.
    if !line.contains(['\'', '"', '\\']) {
        assert!(
            !line.contains(['`', '(', ')']) && !expands(line),
            "{line:?}"
        );
    }
    for command in plan.steps.iter().flat_map(|step| &step.commands) {
        let Some(Word::Literal(name)) = command.argv.first() else {
            panic!("{line:?} runs a program that only its pattern names");
        };
        for list in [SHELLS, LAUNCHERS, BUILTINS] {
            assert!(!list.contains(&name.as_str()), "{line:?} runs {name:?}");
        }
        assert!(!name.contains('/'), "{line:?} runs {name:?}");
        for path in &command.paths {
            assert!(path.index < command.argv.len(), "{line:?}");
            assert!(stays_inside(&path.path, ""), "{line:?}: {path:?}");
            let git = path
                .path
                .split('/')
                .any(|part| part.eq_ignore_ascii_case(".git"));
            assert!(
                !git || path.mode == PathMode::Read,
                "{line:?} changes {path:?}"
            );
        }
        for redirection in &command.redirections {
            assert!(redirection.fd <= 2);
            if let Target::Read(path) | Target::Write(path) | Target::Append(path) =
                &redirection.target
            {
                assert!(stays_inside(path, ""), "{line:?}: {path:?}");
            }
        }
    }
});
