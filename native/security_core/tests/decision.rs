//! The decision on a call, through the policy and the session store behind it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use security_core::clock::ManualClock;
use security_core::decision::{Consented, Decider, Decision, Granted, Part, Request};
use security_core::permissions::{
    GrantError, GrantLimits, Grants, Policy, SessionGrants, TOOL_TIERS, Tier,
};
use security_core::rate_limiter::{Capacity, Rate};

const HOUR: Duration = Duration::from_secs(3_600);

fn rate(limit: u64, window_ms: u64) -> Rate {
    Rate::new(limit, window_ms).unwrap()
}

fn decider(policy: Policy) -> (Decider, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    let decider = Decider::new(
        policy,
        Capacity::default(),
        GrantLimits::default(),
        clock.clone(),
    );
    (decider, clock)
}

/// A call by session `s` that leaves everything to the policy and the session store.
fn call(tool: &str) -> Request<'_> {
    Request {
        session: b"s",
        tool: tool.as_bytes(),
        handler_tier: None,
        handler_rate: None,
        requires_consent: false,
        granted: Granted::FromSession,
        consented: Consented::FromSession,
    }
}

fn denied(required: Tier, granted: Tier) -> Decision {
    Decision::PermissionDenied {
        required,
        granted: Some(granted),
    }
}

fn allowed(tier: Tier) -> Decision {
    Decision::Allowed { tier }
}

#[test]
fn a_session_without_grants_may_only_read() {
    let (decider, _) = decider(Policy::default());
    for &(tier, tools) in TOOL_TIERS {
        for &tool in tools {
            let expected = match tier {
                Tier::ReadOnly => allowed(tier),
                _ => denied(tier, Tier::ReadOnly),
            };
            assert_eq!(decider.decide(call(tool)), expected, "{tool}");
        }
    }
}

#[test]
fn a_granted_tier_allows_itself_and_what_is_below() {
    let (decider, _) = decider(Policy::default());
    decider.grants().grant_tier(b"s", Tier::Execute).unwrap();
    assert_eq!(decider.decide(call("read_file")), allowed(Tier::ReadOnly));
    assert_eq!(decider.decide(call("write_file")), allowed(Tier::Write));
    assert_eq!(decider.decide(call("run_command")), allowed(Tier::Execute));
    assert_eq!(
        decider.decide(call("spawn_task")),
        denied(Tier::Privileged, Tier::Execute)
    );
}

#[test]
fn what_nobody_classified_is_privileged_unless_configured() {
    let (decider, _) = decider(Policy::default());
    for tool in ["no_such_tool", "", "Read_File", "read_file ", "read_file\0"] {
        assert_eq!(
            decider.decide(call(tool)),
            denied(Tier::Privileged, Tier::ReadOnly)
        );
    }
    let mut policy = Policy::default();
    policy.set_unknown_tier(Tier::ReadOnly);
    decider.set_policy(policy);
    assert_eq!(
        decider.decide(call("no_such_tool")),
        allowed(Tier::ReadOnly)
    );
    assert_eq!(
        decider.decide(call("spawn_task")),
        denied(Tier::Privileged, Tier::ReadOnly)
    );
}

#[test]
fn consent_lifts_a_tier_denial_for_that_tool_alone() {
    let (decider, _) = decider(Policy::default());
    decider
        .grants()
        .record_consent(b"s", b"run_command")
        .unwrap();
    assert_eq!(decider.decide(call("run_command")), allowed(Tier::Execute));
    assert_eq!(
        decider.decide(call("git_command")),
        denied(Tier::Execute, Tier::ReadOnly)
    );
    decider
        .grants()
        .revoke_consent(b"s", b"run_command")
        .unwrap();
    assert_eq!(
        decider.decide(call("run_command")),
        denied(Tier::Execute, Tier::ReadOnly)
    );
}

#[test]
fn a_handler_that_wants_consent_gets_it_at_any_tier() {
    let (decider, _) = decider(Policy::default());
    let careful = |granted, consented| Request {
        requires_consent: true,
        granted,
        consented,
        ..call("read_file")
    };
    let top = Granted::Explicit(Some(Tier::Privileged));
    assert_eq!(
        decider.decide(careful(top, Consented::Explicit(false))),
        Decision::ConsentRequired {
            tier: Tier::ReadOnly
        }
    );
    assert_eq!(
        decider.decide(careful(top, Consented::Explicit(true))),
        allowed(Tier::ReadOnly)
    );
    // The tier is asked about before consent.
    let request = Request {
        requires_consent: true,
        ..call("run_command")
    };
    assert_eq!(
        decider.decide(request),
        denied(Tier::Execute, Tier::ReadOnly)
    );
}

#[test]
fn what_the_caller_says_wins_over_the_session_store() {
    let (decider, _) = decider(Policy::default());
    decider.grants().grant_tier(b"s", Tier::Privileged).unwrap();
    decider
        .grants()
        .record_consent(b"s", b"run_command")
        .unwrap();
    let request = |granted, consented| Request {
        granted,
        consented,
        ..call("run_command")
    };
    let low = Granted::Explicit(Some(Tier::ReadOnly));
    assert_eq!(
        decider.decide(request(low, Consented::Explicit(false))),
        denied(Tier::Execute, Tier::ReadOnly)
    );
    assert_eq!(
        decider.decide(request(low, Consented::FromSession)),
        allowed(Tier::Execute)
    );
    assert_eq!(
        decider.decide(request(Granted::FromSession, Consented::Explicit(false))),
        allowed(Tier::Execute)
    );
}

#[test]
fn a_tier_that_is_none_allows_nothing_without_consent() {
    let (decider, _) = decider(Policy::default());
    let request = |consented| Request {
        granted: Granted::Explicit(None),
        consented: Consented::Explicit(consented),
        ..call("read_file")
    };
    assert_eq!(
        decider.decide(request(false)),
        Decision::PermissionDenied {
            required: Tier::ReadOnly,
            granted: None
        }
    );
    assert_eq!(decider.decide(request(true)), allowed(Tier::ReadOnly));
}

#[test]
fn the_rate_is_asked_first_and_a_denied_call_has_used_its_slot() {
    let (decider, clock) = decider(Policy::default());
    for _ in 0..5 {
        assert_eq!(
            decider.decide(call("spawn_task")),
            denied(Tier::Privileged, Tier::ReadOnly)
        );
    }
    decider.grants().grant_tier(b"s", Tier::Privileged).unwrap();
    assert_eq!(
        decider.decide(call("spawn_task")),
        Decision::RateLimited {
            rate: rate(5, 60_000),
            retry_after_ms: 60_000,
            refusals: false,
        }
    );
    clock.advance(Duration::from_secs(60));
    assert_eq!(
        decider.decide(call("spawn_task")),
        allowed(Tier::Privileged)
    );
}

#[test]
fn one_question_asked_alone_answers_like_the_whole() {
    let (decider, _) = decider(Policy::default());
    let careful = Request {
        requires_consent: true,
        ..call("spawn_task")
    };
    let missing_consent = Decision::ConsentRequired {
        tier: Tier::Privileged,
    };
    // Only the question of the rate uses slots, of which there are five.
    for _ in 0..10 {
        assert_eq!(
            decider.decide_part(Part::Permission, careful),
            denied(Tier::Privileged, Tier::ReadOnly)
        );
        assert_eq!(decider.decide_part(Part::Consent, careful), missing_consent);
    }
    for _ in 0..4 {
        assert_eq!(
            decider.decide_part(Part::Rate, careful),
            allowed(Tier::Privileged)
        );
    }
    assert_eq!(
        decider.decide_part(Part::All, careful),
        denied(Tier::Privileged, Tier::ReadOnly)
    );
    for part in [Part::Rate, Part::All] {
        assert!(matches!(
            decider.decide_part(part, careful),
            Decision::RateLimited { .. }
        ));
    }
    decider
        .grants()
        .record_consent(b"s", b"spawn_task")
        .unwrap();
    for part in [Part::Permission, Part::Consent] {
        assert_eq!(
            decider.decide_part(part, careful),
            allowed(Tier::Privileged)
        );
    }
}

#[test]
fn the_tools_setting_wins_over_its_handler_and_the_handler_over_the_tier() {
    let mut policy = Policy::default();
    let (by_tier, by_handler, by_name) = (rate(1, 10), rate(2, 10), rate(3, 10));
    assert_eq!(
        policy
            .requirement(b"new", Some(Tier::Write), Some(by_handler))
            .rate,
        by_handler
    );
    policy.set_tier_rate(Tier::Write, by_tier);
    assert_eq!(
        policy.requirement(b"new", Some(Tier::Write), None).rate,
        by_tier
    );
    assert_eq!(policy.requirement(b"write_file", None, None).rate, by_tier);
    assert_eq!(
        policy
            .requirement(b"write_file", None, Some(by_handler))
            .rate,
        by_handler
    );
    policy.set_tool_rate(b"write_file", by_name);
    let need = policy.requirement(b"write_file", None, Some(by_handler));
    assert_eq!((need.tier, need.rate), (Tier::Write, by_name));

    assert_eq!(
        policy
            .requirement(b"write_file", Some(Tier::Execute), None)
            .tier,
        Tier::Execute
    );
    policy.set_tool_tier(b"write_file", Tier::Privileged);
    assert_eq!(
        policy
            .requirement(b"write_file", Some(Tier::Execute), None)
            .tier,
        Tier::Privileged
    );
    assert_eq!(
        policy.requirement(b"write_file", None, None).tier,
        Tier::Privileged
    );
    // A rate for a tool that nobody classified doesn't classify it.
    policy.set_tool_rate(b"stranger", by_name);
    assert_eq!(
        policy.requirement(b"stranger", None, None).tier,
        Tier::Privileged
    );
}

#[test]
fn default_rates_are_per_minute_and_tier() {
    let policy = Policy::default();
    let rates = Tier::ALL.map(|tier| policy.tier_rate(tier));
    assert_eq!(rates, [100, 30, 10, 5].map(|limit| rate(limit, 60_000)));
}

#[test]
fn tiers_are_ordered_and_known_by_exact_names() {
    assert!(Tier::ALL.is_sorted());
    for tier in Tier::ALL {
        assert_eq!(Tier::parse(tier.name()), Some(tier));
    }
    for name in ["", "Write", "readonly", "read_only ", "root"] {
        assert_eq!(Tier::parse(name), None);
    }
}

#[test]
fn the_tool_table_names_each_tool_once() {
    let mut names: Vec<_> = TOOL_TIERS
        .iter()
        .flat_map(|(_, names)| names.iter())
        .collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
}

fn grants(limits: GrantLimits) -> (SessionGrants, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    (SessionGrants::new(limits, clock.clone()), clock)
}

#[test]
fn a_sessions_tier_can_only_be_raised() {
    let (grants, _) = grants(GrantLimits::default());
    assert_eq!(grants.get(b"s").tier, Tier::ReadOnly);
    grants.grant_tier(b"s", Tier::Execute).unwrap();
    grants.grant_tier(b"s", Tier::Execute).unwrap();
    assert_eq!(
        grants.grant_tier(b"s", Tier::Write),
        Err(GrantError::TierDowngrade {
            granted: Tier::Execute
        })
    );
    assert_eq!(grants.get(b"s").tier, Tier::Execute);
    assert_eq!(grants.get(b"other").tier, Tier::ReadOnly);
}

#[test]
fn consents_are_listed_newest_first_and_recorded_once() {
    let (grants, _) = grants(GrantLimits::default());
    grants.record_consent(b"s", b"a").unwrap();
    grants.record_consent(b"s", b"b").unwrap();
    assert_eq!(
        grants.record_consent(b"s", b"a"),
        Err(GrantError::AlreadyConsented)
    );
    let names: Vec<Box<[u8]>> = vec![b"b"[..].into(), b"a"[..].into()];
    assert_eq!(grants.get(b"s").consents, names);
    grants.revoke_consent(b"s", b"b").unwrap();
    assert_eq!(
        grants.revoke_consent(b"s", b"b"),
        Err(GrantError::NotConsented)
    );
    assert_eq!(
        grants.revoke_consent(b"other", b"a"),
        Err(GrantError::NotConsented)
    );
    assert_eq!(grants.get(b"s").consents, names[1..]);
}

#[test]
fn idle_sessions_lose_what_they_were_granted_and_used_ones_keep_it() {
    let (decider, clock) = decider(Policy::default());
    for session in [&b"s"[..], b"idle"] {
        decider.grants().grant_tier(session, Tier::Execute).unwrap();
    }
    for _ in 0..3 {
        clock.advance(HOUR - Duration::from_millis(1));
        assert_eq!(decider.decide(call("run_command")), allowed(Tier::Execute));
    }
    assert_eq!(decider.grants().get(b"idle"), Grants::default());
    clock.advance(HOUR);
    assert_eq!(
        decider.decide(call("run_command")),
        denied(Tier::Execute, Tier::ReadOnly)
    );
    assert!(decider.grants().is_empty());
}

#[test]
fn expiring_gives_the_memory_of_idle_sessions_back() {
    let (grants, clock) = grants(GrantLimits::default());
    grants.record_consent(b"old", b"t").unwrap();
    clock.advance(HOUR / 2);
    grants.record_consent(b"young", b"t").unwrap();
    clock.advance(HOUR / 2);
    assert_eq!(grants.expire(), 1);
    assert_eq!(grants.len(), 1);
    assert_eq!(grants.get(b"young").consents.len(), 1);
}

#[test]
fn a_full_store_takes_no_new_session_until_one_goes() {
    let (grants, clock) = grants(GrantLimits {
        sessions: 2,
        ..GrantLimits::default()
    });
    grants.grant_tier(b"a", Tier::Write).unwrap();
    grants.grant_tier(b"b", Tier::Write).unwrap();
    assert_eq!(
        grants.grant_tier(b"c", Tier::Write),
        Err(GrantError::TooManySessions)
    );
    assert_eq!(grants.get(b"c").tier, Tier::ReadOnly);
    grants.grant_tier(b"a", Tier::Execute).unwrap();
    grants.clear(b"b");
    grants.clear(b"b");
    grants.grant_tier(b"c", Tier::Write).unwrap();
    clock.advance(HOUR);
    grants.grant_tier(b"d", Tier::Write).unwrap();
    grants.grant_tier(b"e", Tier::Write).unwrap();
    grants.clear_all();
    assert!(grants.is_empty());
}

#[test]
fn a_refused_change_stores_no_session() {
    let (grants, _) = grants(GrantLimits {
        name_bytes: 4,
        consents_per_session: 1,
        ..GrantLimits::default()
    });
    assert_eq!(
        grants.grant_tier(b"12345", Tier::Write),
        Err(GrantError::NameTooLong)
    );
    assert_eq!(
        grants.record_consent(b"s", b"12345"),
        Err(GrantError::NameTooLong)
    );
    assert_eq!(
        grants.revoke_consent(b"s", b"t"),
        Err(GrantError::NotConsented)
    );
    assert!(grants.is_empty());
    grants.record_consent(b"s", b"a").unwrap();
    assert_eq!(
        grants.record_consent(b"s", b"b"),
        Err(GrantError::TooManyConsents)
    );
}

#[test]
fn many_threads_share_a_decider() {
    let (decider, _) = decider(Policy::default());
    decider.grants().grant_tier(b"s", Tier::Privileged).unwrap();
    let allowed_calls: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    (0..100)
                        .filter(|_| decider.decide(call("spawn_task")) == allowed(Tier::Privileged))
                        .count()
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(allowed_calls, 5);
}

mod at_a_persons_door {
    use super::*;

    fn door(decider: &Decider, tool: &str, sound: bool) -> Decision {
        decider.decide_part(Part::Door { sound }, call(tool))
    }

    fn limited(limit: u64, refusals: bool) -> Decision {
        Decision::RateLimited {
            rate: Rate::new(limit, 60_000).unwrap(),
            retry_after_ms: 60_000,
            refusals,
        }
    }

    #[test]
    fn the_rates_are_those_of_one_persons_agent() {
        let (decider, _) = decider(Policy::default());
        decider.grants().grant_tier(b"s", Tier::Privileged).unwrap();
        for (tool, limit) in [
            ("read_file", 600),
            ("write_file", 300),
            ("run_command", 120),
            ("spawn_task", 120),
        ] {
            for _ in 0..limit {
                assert!(matches!(
                    door(&decider, tool, true),
                    Decision::Allowed { .. }
                ));
            }
            assert_eq!(door(&decider, tool, true), limited(limit, false), "{tool}");
        }
    }

    #[test]
    fn configuration_wins() {
        let mut policy = Policy::default();
        policy.set_tier_rate(Tier::ReadOnly, Rate::new(2, 60_000).unwrap());
        policy.set_tool_rate(b"grep", Rate::new(1, 60_000).unwrap());
        let (decider, _) = decider(policy);
        for (tool, limit) in [("read_file", 2), ("grep", 1)] {
            for _ in 0..limit {
                assert_eq!(door(&decider, tool, true), allowed(Tier::ReadOnly));
            }
            assert_eq!(door(&decider, tool, true), limited(limit, false));
        }
    }

    #[test]
    fn refusals_stop_no_useful_call_and_are_not_endless() {
        let (decider, _) = decider(Policy::default());
        let denied = denied(Tier::Execute, Tier::ReadOnly);
        for _ in 0..120 {
            assert_eq!(door(&decider, "run_command", true), denied);
        }
        assert_eq!(door(&decider, "run_command", true), limited(120, true));
        // With arguments that are wrong besides, it is the same counter.
        assert_eq!(door(&decider, "run_command", false), limited(120, true));

        decider.grants().grant_tier(b"s", Tier::Execute).unwrap();
        for _ in 0..120 {
            assert_eq!(door(&decider, "run_command", true), allowed(Tier::Execute));
        }
        assert_eq!(door(&decider, "run_command", true), limited(120, false));
    }

    #[test]
    fn a_call_with_wrong_arguments_uses_no_slot_of_a_right_one() {
        let (decider, _) = decider(Policy::default());
        for _ in 0..600 {
            assert_eq!(door(&decider, "read_file", false), allowed(Tier::ReadOnly));
        }
        assert_eq!(door(&decider, "read_file", false), limited(600, true));
        assert_eq!(door(&decider, "read_file", true), allowed(Tier::ReadOnly));
    }

    #[test]
    fn elsewhere_a_denied_call_has_used_its_slot() {
        let (decider, _) = decider(Policy::default());
        for _ in 0..10 {
            assert_eq!(
                decider.decide(call("run_command")),
                denied(Tier::Execute, Tier::ReadOnly)
            );
        }
        assert_eq!(decider.decide(call("run_command")), limited(10, false));
    }
}
