//! The one decision on a call: may it go on?
//!
//! Three questions in a fixed order, and the first "no" is the answer: is the tool called too
//! often, is the session's tier high enough, is consent needed and missing. The rate comes first,
//! so a call that is then denied has used its slot: a denied caller can't probe faster than an
//! allowed one.
//!
//! At a person's door ([`Part::Door`]) the rates are higher, and a call that is refused, for its
//! arguments or for what was not granted, counts apart: refusals can't stop useful work, and are
//! limited as strictly.

use std::sync::Arc;

use parking_lot::RwLock;

use crate::clock::Clock;
use crate::permissions::{GrantLimits, Policy, Requirement, SessionGrants, Tier};
use crate::rate_limiter::{Capacity, Rate, RateLimiter, Verdict};

/// One call, as far as the decision needs to know it.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The session that calls.
    pub session: &'a [u8],
    /// The tool's name.
    pub tool: &'a [u8],
    /// The tier that the tool's handler declares.
    pub handler_tier: Option<Tier>,
    /// The rate that the tool's handler declares.
    pub handler_rate: Option<Rate>,
    /// Whether the tool's handler wants consent even where the tier would do.
    pub requires_consent: bool,
    /// Where the session's tier comes from.
    pub granted: Granted,
    /// Where the session's consent comes from.
    pub consented: Consented,
}

/// The tier that a call may use without consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granted {
    /// The caller said; `None` when what it said is not a tier, which allows nothing without
    /// consent.
    Explicit(Option<Tier>),
    /// What the session store holds.
    FromSession,
}

/// Whether the user consented to this tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consented {
    /// The caller said.
    Explicit(bool),
    /// What the session store holds.
    FromSession,
}

/// Which of the three questions are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All, in their order.
    All,
    /// All, for a call by one person's own agent.
    Door {
        /// Whether the call's arguments are what the tool takes.
        sound: bool,
    },
    /// Only the rate; a call that passes is counted.
    Rate,
    /// Only the tier, which consent lifts.
    Permission,
    /// Only the handler's wish for consent.
    Consent,
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The call may go on.
    Allowed {
        /// The tier that the tool needed.
        tier: Tier,
    },
    /// The tool was called too often in this session.
    RateLimited {
        /// The rate that applied.
        rate: Rate,
        /// Milliseconds until a call has a chance, at least 1.
        retry_after_ms: u64,
        /// Whether it is refused calls that were too many.
        refusals: bool,
    },
    /// The session's tier is too low and its user did not consent to the tool.
    PermissionDenied {
        /// The tier that the tool needs.
        required: Tier,
        /// The tier that the session has, if any.
        granted: Option<Tier>,
    },
    /// The tier is high enough, but the handler wants consent as well.
    ConsentRequired {
        /// The tier that the tool needs.
        tier: Tier,
    },
}

/// Decides on calls. Shared between threads by reference.
#[derive(Debug)]
pub struct Decider {
    policy: RwLock<Policy>,
    limiter: RateLimiter,
    grants: SessionGrants,
    clock: Arc<dyn Clock>,
}

impl Decider {
    /// A decider whose limiter and session store use the same clock and are empty.
    pub fn new(
        policy: Policy,
        capacity: Capacity,
        grant_limits: GrantLimits,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Decider {
            policy: RwLock::new(policy),
            limiter: RateLimiter::new(capacity, Arc::clone(&clock)),
            grants: SessionGrants::new(grant_limits, Arc::clone(&clock)),
            clock,
        }
    }

    /// Decides on a call made now.
    pub fn decide(&self, request: Request<'_>) -> Decision {
        let need = self.requirement(&request);
        let (verdict, now_ns) =
            self.limiter
                .check_and_tell_time(request.session, request.tool, need.rate);
        if let Verdict::Denied { retry_after_ms } = verdict {
            return Decision::RateLimited {
                rate: need.rate,
                retry_after_ms,
                refusals: false,
            };
        }
        let (granted, consented) = self.standing(&request, now_ns);
        permission(need.tier, granted, consented)
            .or_else(|| consent(need.tier, &request, consented))
            .unwrap_or(Decision::Allowed { tier: need.tier })
    }

    fn decide_at_door(&self, request: Request<'_>, sound: bool) -> Decision {
        let need = self.policy.read().requirement_at_door(
            request.tool,
            request.handler_tier,
            request.handler_rate,
        );
        let (granted, consented) = self.standing(&request, self.clock.monotonic_ns());
        let denial = permission(need.tier, granted, consented)
            .or_else(|| consent(need.tier, &request, consented));
        let refused = denial.is_some() || !sound;
        let verdict = if refused {
            // No tool has such a name: it is none in a definition, and none that a model can type.
            let apart = [request.tool, b"\0refused"].concat();
            self.limiter.check(request.session, &apart, need.rate)
        } else {
            self.limiter.check(request.session, request.tool, need.rate)
        };
        match verdict {
            Verdict::Denied { retry_after_ms } => Decision::RateLimited {
                rate: need.rate,
                retry_after_ms,
                refusals: refused,
            },
            Verdict::Admitted => denial.unwrap_or(Decision::Allowed { tier: need.tier }),
        }
    }

    /// Asks the questions of this part.
    pub fn decide_part(&self, part: Part, request: Request<'_>) -> Decision {
        let need = self.requirement(&request);
        let denial = match part {
            Part::All => return self.decide(request),
            Part::Door { sound } => return self.decide_at_door(request, sound),
            Part::Rate => match self.limiter.check(request.session, request.tool, need.rate) {
                Verdict::Admitted => None,
                Verdict::Denied { retry_after_ms } => Some(Decision::RateLimited {
                    rate: need.rate,
                    retry_after_ms,
                    refusals: false,
                }),
            },
            Part::Permission => {
                let (granted, consented) = self.standing(&request, self.clock.monotonic_ns());
                permission(need.tier, granted, consented)
            }
            Part::Consent => {
                let (_, consented) = self.standing(&request, self.clock.monotonic_ns());
                consent(need.tier, &request, consented)
            }
        };
        denial.unwrap_or(Decision::Allowed { tier: need.tier })
    }

    fn requirement(&self, request: &Request<'_>) -> Requirement {
        self.policy
            .read()
            .requirement(request.tool, request.handler_tier, request.handler_rate)
    }

    /// Replaces the policy; calls decided from now on follow the new one.
    pub fn set_policy(&self, policy: Policy) {
        *self.policy.write() = policy;
    }

    /// Reads the policy.
    pub fn with_policy<T>(&self, read: impl FnOnce(&Policy) -> T) -> T {
        read(&self.policy.read())
    }

    /// The limiter behind the decisions.
    pub fn limiter(&self) -> &RateLimiter {
        &self.limiter
    }

    /// The session store behind the decisions.
    pub fn grants(&self) -> &SessionGrants {
        &self.grants
    }

    fn standing(&self, request: &Request<'_>, now_ns: u64) -> (Option<Tier>, bool) {
        let (session_tier, session_consent) = match (request.granted, request.consented) {
            (Granted::Explicit(granted), Consented::Explicit(consented)) => {
                return (granted, consented);
            }
            _ => self.grants.lookup(request.session, request.tool, now_ns),
        };
        let granted = match request.granted {
            Granted::Explicit(granted) => granted,
            Granted::FromSession => Some(session_tier),
        };
        let consented = match request.consented {
            Consented::Explicit(consented) => consented,
            Consented::FromSession => session_consent,
        };
        (granted, consented)
    }
}
/// Denies what the tier does not allow; consent to a tool lifts its tier.
fn permission(required: Tier, granted: Option<Tier>, consented: bool) -> Option<Decision> {
    let allowed = consented || granted.is_some_and(|granted| granted >= required);
    (!allowed).then_some(Decision::PermissionDenied { required, granted })
}

/// Denies what wants consent, at any tier, and has none.
fn consent(tier: Tier, request: &Request<'_>, consented: bool) -> Option<Decision> {
    (request.requires_consent && !consented).then_some(Decision::ConsentRequired { tier })
}
