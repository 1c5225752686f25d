//! Command lines from arbitrary text; a second line is the folder they run in.
#![no_main]

mod naive;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use naive::{ROOT, stays_inside};
use security_core::command_policy::{
    BUILTINS, Command, CommandPolicy, JUDGED_LAUNCHERS, LAUNCHERS, List, MAX_LINE_BYTES, PathMode,
    Place, Plan, Redirection, SHELLS, Stage, Statement, Step, Target, Word,
};
use security_core::mix_policy;
use security_core::path_boundary::lexical::check_relative;

static POLICY: OnceLock<CommandPolicy> = OnceLock::new();

/// True when a dollar sign stands before what a shell would put a value in for; before anything
/// else it is itself.
fn expands(line: &str) -> bool {
    let after = line.split('$').skip(1);
    after.into_iter().any(|rest| {
        let special = |c: char| c.is_ascii_alphanumeric() || "_{([@*#?-!".contains(c);
        rest.starts_with(special)
    }) || line.contains("$$")
}

fuzz_target!(|text: &str| {
    let (cwd, line) = match text.split_once('\u{1}') {
        Some((cwd, line)) if check_relative(cwd).is_ok() => (cwd, line),
        _ => ("", text),
    };
    for list in [List::Narrow, List::Wide] {
        judge(line, cwd, list);
    }
});

fn judge(line: &str, cwd: &str, list: List) {
    let policy = POLICY.get_or_init(CommandPolicy::new);
    let place = Place {
        root: Some(ROOT),
        cwd,
        aliases: false,
        list,
    };
    let aliases = Place {
        aliases: true,
        ..place
    };
    let lenient = policy.check(line, aliases);
    // All that knowing of aliases opens is a task of Mix that is not blocked.
    for command in lenient.iter().flat_map(|plan| plan.programs()) {
        if let Some(call) = &command.mix {
            assert!(
                !mix_policy::BLOCKED.contains(&call.task.as_str()),
                "{line:?}"
            );
        }
    }
    let Ok(plan) = policy.check(line, place) else {
        return;
    };
    assert_eq!(lenient.as_ref(), Ok(&plan), "{line:?}");
    assert!(line.len() <= MAX_LINE_BYTES);
    assert!(
        stays_inside(&plan.cwd, ""),
        "{line:?} runs in {:?}",
        plan.cwd
    );
    // Without any quoting, nothing that a shell would expand can have been meant as itself.
    if list == List::Narrow && !line.contains(['\'', '"', '\\']) {
        assert!(
            !line.contains(['`', '(', ')']) && !expands(line),
            "{line:?}"
        );
    }
    // The runner reads what was judged.
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    look_at_steps(&plan.steps, line, list);
    for command in plan.programs() {
        look_at(command, line, list);
    }
}

fn look_at_steps(steps: &[Step], line: &str, list: List) {
    for stage in steps.iter().flat_map(|step| &step.stages) {
        match stage {
            Stage::Program(_) => {}
            Stage::Statement {
                statements,
                redirections,
            } => {
                assert!(list == List::Wide, "{line:?}");
                look_at_redirections(redirections, line);
                for statement in statements {
                    if let Statement::Cd { folder, .. } = statement {
                        assert!(stays_inside(folder, ""), "{line:?}");
                    }
                }
            }
            Stage::Group {
                steps,
                redirections,
                ..
            } => {
                assert!(list == List::Wide, "{line:?}");
                look_at_redirections(redirections, line);
                look_at_steps(steps, line, list);
            }
        }
    }
}

fn look_at(command: &Command, line: &str, list: List) {
    let Some(Word::Literal(name)) = command.argv.first() else {
        panic!("{line:?} runs a program that only its pattern names");
    };
    let name = name.as_str();
    assert!(
        !SHELLS.contains(&name) && !BUILTINS.contains(&name),
        "{line:?} runs {name:?}"
    );
    let judged = list == List::Wide && JUDGED_LAUNCHERS.contains(&name);
    assert!(
        judged || !LAUNCHERS.contains(&name),
        "{line:?} runs {name:?}"
    );
    assert!(!name.contains('/'), "{line:?} runs {name:?}");
    assert!(stays_inside(&command.cwd, ""), "{line:?}");
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
    look_at_redirections(&command.redirections, line);
}

fn look_at_redirections(redirections: &[Redirection], line: &str) {
    for redirection in redirections {
        assert!(redirection.fd <= 2);
        if let Target::Read(path) | Target::Write(path) | Target::Append(path) = &redirection.target
        {
            assert!(stays_inside(path, ""), "{line:?}: {path:?}");
        }
    }
}
