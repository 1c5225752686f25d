//! Mix calls and alias steps from arbitrary text.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use security_core::mix_policy::{BLOCKED, List, MixPolicy, split_step};

static POLICY: OnceLock<MixPolicy> = OnceLock::new();

fuzz_target!(|text: &str| {
    let policy = POLICY.get_or_init(MixPolicy::default);
    let mut lines = text.split('\n');
    let task = lines.next().unwrap_or("");
    let arguments: Vec<&str> = lines.collect();
    if policy.check(task, &arguments, None).is_ok() {
        assert!(!BLOCKED.contains(&task), "{task} is blocked");
        assert!(
            arguments.iter().all(|a| !a.bytes().any(|b| b < 0x20)),
            "a control character passed"
        );
        // Each task is reachable with any environment that is allowed at all, and the answer does
        // not change.
        assert!(policy.check(task, &arguments, Some("test")).is_ok());
    }
    if policy.check_in(List::Wide, task, &arguments, None).is_ok() {
        assert!(!BLOCKED.contains(&task), "{task} is blocked");
    }
    if let Some(words) = split_step(task) {
        let _ = words
            .split_first()
            .map(|(step, rest)| policy.check(step, rest, None));
    }
});
