//! The table of token families: what vendors put in front of their tokens, what may follow, and how
//! much of it.
//!
//! Lengths are minima and bodies are open runs: vendors lengthen their tokens, and a rule of fixed
//! length then leaks the tail.

use super::rules::Rule;
use super::shape::*;

/// A token that a fixed prefix gives away.
pub(crate) struct Family {
    pub(crate) rule: Rule,
    pub(crate) prefix: &'static str,
    /// The bytes that the body may consist of.
    pub(crate) body: u16,
    /// The least length of the body.
    pub(crate) min: usize,
    /// What the body must pass besides; for prefixes that also occur in words.
    pub(crate) check: fn(&[u8]) -> bool,
}

/// A token that a fixed piece inside it gives away.
pub(crate) struct Marked {
    pub(crate) rule: Rule,
    pub(crate) marker: &'static str,
    /// The bytes that the token may consist of, to both sides of the marker.
    pub(crate) body: u16,
    /// The least bytes before and after the marker.
    pub(crate) before: usize,
    pub(crate) after: usize,
}

const fn family(rule: Rule, prefix: &'static str, body: u16, min: usize) -> Family {
    Family {
        rule,
        prefix,
        body,
        min,
        check: anything,
    }
}

const fn checked(
    rule: Rule,
    prefix: &'static str,
    body: u16,
    min: usize,
    check: fn(&[u8]) -> bool,
) -> Family {
    Family {
        rule,
        prefix,
        body,
        min,
        check,
    }
}

fn anything(_: &[u8]) -> bool {
    true
}

/// Digits, and letters that don't read as words.
fn mixed(body: &[u8]) -> bool {
    any(body, D) && any(body, ALPHA) && surprise(&body[..body.len().min(200)]) > 60
}

/// As random as letters and digits can be, but digits are not asked for.
fn random(body: &[u8]) -> bool {
    let head = &body[..body.len().min(200)];
    distinct(head) >= 8 && surprise(head) > 40
}

/// Words have no digits, and no run of six consonants.
fn digit_or_random(body: &[u8]) -> bool {
    random(body) || random_letters(body)
}

fn hex32(body: &[u8]) -> bool {
    let run = run_end(body, 0, HEX_ANY);
    (32..=64).contains(&run) && any(&body[..run], D) && any(&body[..run], L | U)
}

fn hex40_or_uuid(body: &[u8]) -> bool {
    is_uuid(body) || body.len() >= 40 && all(body, HEX_ANY) && mixed(body)
}

fn uuid_first(body: &[u8]) -> bool {
    is_uuid(body.get(..36).unwrap_or_default())
}

/// Is `text` a UUID, and nothing else?
pub(crate) fn is_uuid(text: &[u8]) -> bool {
    text.len() == 36
        && text.iter().enumerate().all(|(i, &b)| {
            if matches!(i, 8 | 13 | 18 | 23) {
                b == b'-'
            } else {
                is(b, HEX_ANY)
            }
        })
}

/// An AWS key id: twenty capitals and digits in all, and no capitalised words.
fn aws_id(body: &[u8]) -> bool {
    body.len() <= 17 && !body.ends_with(b"EXAMPLE") && (any(body, D) || surprise(body) > 0)
}

/// The classic `sk-` keys: a plain run of twenty or more, or a longer one in parts that don't read
/// as words.
fn sk(body: &[u8]) -> bool {
    run_end(body, 0, ALNUM) >= 20 && !(all(body, L) && surprise(&body[..body.len().min(60)]) < -60)
        || (body.len() >= 30 && mixed(body))
}

fn sendgrid(body: &[u8]) -> bool {
    let dot = run_end(body, 0, URL64);
    (16..=40).contains(&dot) && body.get(dot) == Some(&b'.') && body.len() - dot > 20
}

fn dotted(body: &[u8]) -> bool {
    body.iter().filter(|&&b| b == b'.').count() >= 1 && mixed(body)
}

fn resend(body: &[u8]) -> bool {
    body.get(8) == Some(&b'_') && body.len() >= 28 && mixed(body)
}

fn one_password(body: &[u8]) -> bool {
    body.iter().filter(|&&b| b == b'-').count() == 5 && any(body, D) && body.get(6) == Some(&b'-')
}

fn infisical(body: &[u8]) -> bool {
    run_end(body, 0, HEX | DASH) >= 20 && body.iter().filter(|&&b| b == b'.').count() >= 2
}

/// A stream key (digits, an underscore, a run), or a long run after `live_` or `test_`.
fn live(body: &[u8]) -> bool {
    let digits = run_end(body, 0, D);
    digits >= 6 && body.get(digits) == Some(&b'_') && body.len() - digits >= 20
        || run_end(body, 0, ALNUM) >= 35 && mixed(body)
}

/// Three kinds of characters in not much more than the least length: longer runs are other things.
fn short_mixed(body: &[u8]) -> bool {
    body.len() <= 32 && any(body, D) && any(body, U) && any(body, L) && surprise(body) > 150
}

fn pagerduty(body: &[u8]) -> bool {
    body.len() <= 20 && distinct(body) >= 8 && surprise(body) > 40 && (any(body, D) || any(body, U))
}

fn mixed_case(body: &[u8]) -> bool {
    mixed(body) && any(body, U) && any(body, L)
}

#[rustfmt::skip]
pub(crate) static FAMILIES: &[Family] = &[
    // Model vendors.
    family(Rule::OpenAi, "sk-proj-", URL64, 20),
    family(Rule::OpenAi, "sk-svcacct-", URL64, 20),
    family(Rule::OpenAi, "sk-admin-", URL64, 20),
    family(Rule::Anthropic, "sk-ant-", URL64, 8),
    family(Rule::AiVendor, "sk-or-v1-", HEX_ANY, 24),
    family(Rule::AiVendor, "sk-lf-", HEX_ANY | DASH, 30),
    checked(Rule::OpenAi, "sk-", URL64, 20, sk),
    family(Rule::AiVendor, "gsk_", ALNUM, 30),
    checked(Rule::AiVendor, "xai-", URL64, 40, mixed),
    family(Rule::AiVendor, "pplx-", ALNUM, 30),
    family(Rule::AiVendor, "csk-", ALNUM, 30),
    family(Rule::AiVendor, "tgp_v1_", URL64, 30),
    family(Rule::AiVendor, "lsv2_pt_", WORD, 30),
    family(Rule::AiVendor, "lsv2_sk_", WORD, 30),
    family(Rule::AiVendor, "pcsk_", WORD, 30),
    checked(Rule::AiVendor, "tvly-", URL64, 20, |b| any(b, D)),
    checked(Rule::AiVendor, "fc-", HEX, 32, hex32),
    checked(Rule::AiVendor, "jina_", WORD, 40, |b| any(b, D)),
    family(Rule::AiVendor, "llx-", ALNUM, 30),
    family(Rule::AiVendor, "wandb_v1_", WORD, 40),
    checked(Rule::AiVendor, "fw_", ALNUM, 20, mixed),
    family(Rule::AiVendor, "r8_", ALNUM, 30),
    family(Rule::AiVendor, "nvapi-", URL64, 40),
    checked(Rule::AiVendor, "hf_", ALNUM, 30, digit_or_random),
    family(Rule::AiVendor, "api_org_", ALNUM, 30),
    // Google.
    checked(Rule::Google, "AIza", URL64, 30, |b| any(b, D | U)),
    family(Rule::Google, "AQ.Ab8", URL64, 30),
    family(Rule::Google, "GOCSPX-", URL64, 20),
    family(Rule::Google, "ya29.", URL64 | DOT, 20),
    checked(Rule::Google, "1//0", URL64, 30, mixed),
    // Amazon.
    checked(Rule::AwsKey, "AKIA", U | D, 16, aws_id),
    checked(Rule::AwsKey, "ASIA", U | D, 16, aws_id),
    checked(Rule::AwsKey, "ABIA", U | D, 16, aws_id),
    checked(Rule::AwsKey, "ACCA", U | D, 16, aws_id),
    checked(Rule::AwsKey, "A3T", U | D, 17, aws_id),
    checked(Rule::AwsKey, "ABSK", STD64, 80, mixed),
    family(Rule::AwsKey, "bedrock-api-key-", STD64 | URL64, 30),
    checked(Rule::AwsSecret, "IQoJb3JpZ2lu", STD64 | PCT, 60, mixed),
    checked(Rule::AwsSecret, "FwoGZXIvYXdz", STD64 | PCT, 60, mixed),
    checked(Rule::AwsSecret, "FQoGZXIvYXdz", STD64 | PCT, 60, mixed),
    // Forges.
    family(Rule::GitHub, "ghp_", WORD, 30),
    family(Rule::GitHub, "gho_", WORD, 30),
    family(Rule::GitHub, "ghu_", WORD, 30),
    family(Rule::GitHub, "ghr_", WORD, 30),
    family(Rule::GitHub, "ghs_", URL64 | DOT, 30),
    family(Rule::GitHub, "github_pat_", WORD, 30),
    family(Rule::GitLab, "glpat-", URL64 | DOT, 16),
    family(Rule::GitLab, "gldt-", URL64 | DOT, 16),
    family(Rule::GitLab, "glrt-", URL64 | DOT, 16),
    family(Rule::GitLab, "glrtr-", URL64 | DOT, 16),
    family(Rule::GitLab, "glcbt-", URL64 | DOT, 16),
    family(Rule::GitLab, "glptt-", URL64 | DOT, 16),
    family(Rule::GitLab, "glft-", URL64 | DOT, 16),
    family(Rule::GitLab, "glsoat-", URL64 | DOT, 16),
    family(Rule::GitLab, "gloas-", URL64 | DOT, 16),
    family(Rule::GitLab, "glagent-", URL64 | DOT, 16),
    family(Rule::GitLab, "glimt-", URL64 | DOT, 16),
    family(Rule::GitLab, "glffct-", URL64 | DOT, 16),
    family(Rule::GitLab, "glwt-", URL64 | DOT, 16),
    family(Rule::GitLab, "GR1348941", URL64, 18),
    checked(Rule::Atlassian, "ATBB", ALNUM, 24, mixed),
    checked(Rule::Atlassian, "ATATT3", URL64 | EQ, 40, mixed),
    checked(Rule::Atlassian, "ATCTT3", URL64 | EQ, 40, mixed),
    family(Rule::Atlassian, "BBDC-", STD64 | URL64, 30),
    // Chat.
    family(Rule::Slack, "xoxb-", URL64 | PCT, 10),
    family(Rule::Slack, "xoxp-", URL64 | PCT, 10),
    family(Rule::Slack, "xoxa-", URL64 | PCT, 10),
    family(Rule::Slack, "xoxr-", URL64 | PCT, 10),
    family(Rule::Slack, "xoxs-", URL64 | PCT, 10),
    family(Rule::Slack, "xoxc-", URL64 | PCT, 10),
    family(Rule::Slack, "xoxo-", URL64 | PCT, 10),
    family(Rule::Slack, "xoxd-", STD64 | URL64 | PCT, 10),
    family(Rule::Slack, "xoxe-", URL64 | PCT, 10),
    family(Rule::Slack, "xoxe.xox", URL64 | PCT | DOT, 10),
    family(Rule::Slack, "xapp-", URL64, 20),
    // Payment.
    family(Rule::Stripe, "sk_live_", WORD, 10),
    family(Rule::Stripe, "sk_test_", WORD, 10),
    family(Rule::Stripe, "sk_org_", WORD, 16),
    checked(Rule::AiVendor, "sk_", HEX_ANY | DASH, 36, hex40_or_uuid),
    family(Rule::Stripe, "rk_live_", WORD, 10),
    family(Rule::Stripe, "rk_test_", WORD, 10),
    family(Rule::Stripe, "whsec_", STD64 | URL64, 24),
    checked(Rule::Payment, "EAAA", URL64, 40, mixed),
    family(Rule::Payment, "sq0csp-", URL64, 22),
    family(Rule::Payment, "sq0atp-", URL64, 20),
    checked(Rule::Payment, "AQE", STD64 | URL64, 50, |b| any(b, DASH) && mixed(b)),
    checked(Rule::Payment, "access-production-", HEX_ANY | DASH, 36, uuid_first),
    checked(Rule::Payment, "access-sandbox-", HEX_ANY | DASH, 36, uuid_first),
    checked(Rule::Payment, "access-development-", HEX_ANY | DASH, 36, uuid_first),
    family(Rule::Payment, "access_token$", ALNUM | US | DASH, 30),
    family(Rule::Payment, "shpat_", ALNUM, 28),
    family(Rule::Payment, "shpca_", ALNUM, 28),
    family(Rule::Payment, "shppa_", ALNUM, 28),
    family(Rule::Payment, "shpss_", ALNUM, 28),
    family(Rule::Payment, "shptka_", ALNUM, 28),
    family(Rule::Payment, "pdl_live_apikey_", WORD, 20),
    family(Rule::Payment, "pdl_sdbx_apikey_", WORD, 20),
    family(Rule::Payment, "FLWSECK", URL64, 20),
    family(Rule::Payment, "APP_USR-", URL64, 30),
    checked(Rule::Payment, "EZAK", ALNUM, 50, mixed),
    checked(Rule::Payment, "EZTK", ALNUM, 50, mixed),
    // Mail.
    checked(Rule::Mail, "SG.", URL64 | DOT, 40, sendgrid),
    checked(Rule::Mail, "key-", HEX | DASH, 32, hex32),
    family(Rule::Mail, "xkeysib-", ALNUM | DASH, 60),
    family(Rule::Mail, "xsmtpsib-", ALNUM | DASH, 60),
    checked(Rule::Mail, "re_", WORD, 28, resend),
    family(Rule::Mail, "mlsn.", ALNUM, 40),
    // Package registries.
    family(Rule::Registry, "npm_", ALNUM, 30),
    family(Rule::Registry, "pypi-AgE", URL64, 40),
    checked(Rule::Registry, "pypi-", URL64, 80, mixed),
    family(Rule::Registry, "rubygems_", HEX_ANY, 40),
    checked(Rule::Registry, "packagist_", WORD, 30, mixed),
    family(Rule::Registry, "CLOJARS_", ALNUM, 50),
    family(Rule::Registry, "dckr_pat_", URL64, 20),
    family(Rule::Registry, "dckr_oat_", URL64, 20),
    family(Rule::Registry, "SWMTKN-1-", ALNUM | DASH, 40),
    family(Rule::Registry, "SWMKEY-1-", STD64 | URL64, 30),
    // Clouds and hosting.
    family(Rule::Cloud, "HRKU-", URL64, 30),
    checked(Rule::Cloud, "FlyV1 ", STD64 | URL64 | COMMA, 40, mixed),
    checked(Rule::Cloud, "fm2_", STD64 | URL64 | COMMA, 40, mixed),
    checked(Rule::Cloud, "fm1r_", STD64 | URL64 | COMMA, 40, mixed),
    checked(Rule::Cloud, "fm1a_", STD64 | URL64 | COMMA, 40, mixed),
    checked(Rule::Cloud, "fo1_", URL64, 30, mixed),
    checked(Rule::Cloud, "vcp_", URL64, 24, digit_or_random),
    checked(Rule::Cloud, "vca_", URL64, 24, digit_or_random),
    checked(Rule::Cloud, "vcr_", URL64, 24, digit_or_random),
    checked(Rule::Cloud, "vci_", URL64, 24, digit_or_random),
    checked(Rule::Cloud, "vck_", URL64, 24, digit_or_random),
    family(Rule::Cloud, "cfk_", ALNUM, 38),
    family(Rule::Cloud, "cfut_", ALNUM, 38),
    family(Rule::Cloud, "cfat_", ALNUM, 38),
    checked(Rule::Cloud, "v1.0-", HEX | DASH, 100, mixed),
    family(Rule::Cloud, "nfp_", ALNUM, 30),
    family(Rule::Cloud, "rnd_", ALNUM, 24),
    family(Rule::Cloud, "dop_v1_", HEX_ANY, 40),
    family(Rule::Cloud, "doo_v1_", HEX_ANY, 40),
    family(Rule::Cloud, "dor_v1_", HEX_ANY, 40),
    checked(Rule::Cloud, "LTAI", ALNUM, 16, mixed),
    checked(Rule::Cloud, "AKID", ALNUM, 32, mixed),
    checked(Rule::Cloud, "sl.", URL64, 100, mixed),
    // Databases.
    checked(Rule::Database, "sbp_", WORD, 36, mixed),
    family(Rule::Database, "sb_secret_", URL64, 20),
    family(Rule::Database, "napi_", ALNUM, 40),
    family(Rule::Database, "pscale_tkn_", URL64 | DOT, 20),
    family(Rule::Database, "pscale_pw_", URL64 | DOT, 20),
    family(Rule::Database, "pscale_oauth_", URL64 | DOT, 20),
    checked(Rule::Database, "CCDB1_", URL64, 20, mixed),
    family(Rule::Database, "AstraCS:", URL64 | COLON, 30),
    family(Rule::Database, "mdb_sa_sk_", URL64, 20),
    family(Rule::Database, "essu_", STD64 | URL64, 24),
    checked(Rule::Database, "dapi", HEX | DASH, 32, hex32),
    // Secret stores.
    family(Rule::SecretStore, "hvs.", URL64, 20),
    family(Rule::SecretStore, "hvb.", URL64, 20),
    family(Rule::SecretStore, "hvr.", URL64, 20),
    family(Rule::SecretStore, "dp.pt.", URL64 | DOT, 30),
    family(Rule::SecretStore, "dp.st.", URL64 | DOT, 30),
    family(Rule::SecretStore, "dp.ct.", URL64 | DOT, 30),
    family(Rule::SecretStore, "dp.sa.", URL64 | DOT, 30),
    family(Rule::SecretStore, "dp.scim.", URL64 | DOT, 30),
    family(Rule::SecretStore, "dp.audit.", URL64 | DOT, 30),
    family(Rule::SecretStore, "ops_eyJ", STD64 | URL64, 60),
    checked(Rule::SecretStore, "A3-", U | D | DASH, 30, one_password),
    family(Rule::SecretStore, "AGE-SECRET-KEY-1", U | D, 40),
    checked(Rule::SecretStore, "st.", HEX | DOT | DASH, 60, infisical),
    // Observability.
    family(Rule::Observability, "NRAK-", ALNUM, 20),
    family(Rule::Observability, "NRII-", URL64, 24),
    family(Rule::Observability, "sntryu_", HEX_ANY, 40),
    family(Rule::Observability, "sntrya_", HEX_ANY, 40),
    family(Rule::Observability, "sntryi_", HEX_ANY, 40),
    family(Rule::Observability, "sntrys_", STD64 | URL64, 50),
    family(Rule::Observability, "glsa_", WORD, 30),
    checked(Rule::Observability, "glc_", STD64, 30, mixed),
    family(Rule::Observability, "dt0c01.", ALNUM | DOT, 50),
    family(Rule::Observability, "dt0s01.", ALNUM | DOT, 50),
    family(Rule::Observability, "dt0s02.", ALNUM | DOT, 50),
    family(Rule::Observability, "dt0s16.", ALNUM | DOT, 50),
    family(Rule::Observability, "phx_", ALNUM, 40),
    family(Rule::Observability, "phs_", ALNUM, 40),
    // Work and code quality.
    family(Rule::Productivity, "lin_api_", ALNUM, 30),
    family(Rule::Productivity, "lin_oauth_", ALNUM, 30),
    family(Rule::Productivity, "ntn_", ALNUM, 30),
    checked(Rule::Productivity, "secret_", ALNUM, 40, mixed),
    family(Rule::Productivity, "figd_", URL64, 30),
    family(Rule::Productivity, "figu_", URL64, 30),
    family(Rule::Productivity, "figo_", URL64, 30),
    family(Rule::Productivity, "PMAK-", HEX_ANY | DASH, 40),
    checked(Rule::Productivity, "pat-na1-", HEX_ANY | DASH, 36, uuid_first),
    checked(Rule::Productivity, "pat-na2-", HEX_ANY | DASH, 36, uuid_first),
    checked(Rule::Productivity, "pat-eu1-", HEX_ANY | DASH, 36, uuid_first),
    checked(Rule::Productivity, "ATTA", HEX_ANY, 60, mixed),
    checked(Rule::Ci, "CCIPAT_", WORD, 40, mixed),
    checked(Rule::Ci, "CCIPRJ_", WORD, 40, mixed),
    family(Rule::Ci, "bkua_", HEX_ANY, 36),
    checked(Rule::Ci, "pul-", HEX_ANY, 36, mixed),
    family(Rule::Ci, "squ_", HEX_ANY, 36),
    family(Rule::Ci, "sqp_", HEX_ANY, 36),
    family(Rule::Ci, "sqa_", HEX_ANY, 36),
    checked(Rule::FeatureFlag, "sdk-", HEX_ANY | DASH, 36, uuid_first),
    checked(Rule::FeatureFlag, "api-", HEX_ANY | DASH, 36, uuid_first),
    checked(Rule::FeatureFlag, "mob-", HEX_ANY | DASH, 36, uuid_first),
    checked(Rule::FeatureFlag, "dvc_server_", URL64, 20, random),
    checked(Rule::FeatureFlag, "configcat-sdk-1/", URL64 | B64, 30, mixed),
    // Further vendors, each with a prefix of its own.
    checked(Rule::Vendor, "p8e-", ALNUM, 30, mixed),
    checked(Rule::Vendor, "AKCp", ALNUM, 60, mixed),
    checked(Rule::Vendor, "cmVmd", ALNUM, 55, mixed),
    family(Rule::Vendor, "AIK_CI_", WORD, 20),
    family(Rule::Vendor, "AIK_SECRET_", WORD, 20),
    family(Rule::Vendor, "dnkey-", ALNUM | DASH | EQ, 24),
    family(Rule::Vendor, "duffel_live_", URL64, 30),
    family(Rule::Vendor, "duffel_test_", URL64, 30),
    family(Rule::Vendor, "fio-u-", URL64, 40),
    checked(Rule::Vendor, "pat.", URL64 | DOT, 55, dotted),
    checked(Rule::Vendor, "sat.", URL64 | DOT, 55, dotted),
    checked(Rule::Vendor, "ico-", ALNUM, 30, mixed),
    family(Rule::Vendor, "s-s4t2ud-", HEX_ANY, 40),
    family(Rule::Vendor, "s-s4t2af-", HEX_ANY, 40),
    checked(Rule::Vendor, "scauth_", URL64 | DOT, 30, dotted),
    checked(Rule::Vendor, "authress_", URL64 | DOT, 30, dotted),
    checked(Rule::Vendor, "NRJS-", HEX, 19, mixed),
    checked(Rule::Vendor, "API-", U | D, 25, mixed),
    checked(Rule::Vendor, "pnu_", ALNUM, 30, mixed),
    checked(Rule::Vendor, "tk-us-", URL64, 40, mixed),
    checked(Rule::Vendor, "sm_aat_", ALNUM, 16, mixed),
    checked(Rule::Vendor, "sm_pat_", ALNUM, 16, mixed),
    checked(Rule::Vendor, "sm_sat_", ALNUM, 16, mixed),
    family(Rule::Vendor, "shippo_live_", ALNUM, 30),
    family(Rule::Vendor, "shippo_test_", ALNUM, 30),
    checked(Rule::Vendor, "sgp_", WORD, 40, mixed),
    checked(Rule::Vendor, "tfp_", URL64, 40, mixed),
    checked(Rule::Vendor, "AQVN", URL64, 35, mixed),
    checked(Rule::Vendor, "BSA", URL64, 27, short_mixed),
    checked(Rule::Vendor, "cnvca", URL64, 50, mixed),
    checked(Rule::Vendor, "EXO", ALNUM, 24, short_mixed),
    checked(Rule::Vendor, "polar_oat_", ALNUM, 30, mixed),
    checked(Rule::Vendor, "polar_at_", WORD, 30, mixed),
    family(Rule::Vendor, "persona_production_", WORD | DASH, 20),
    family(Rule::Vendor, "persona_sandbox_", WORD | DASH, 20),
    checked(Rule::Vendor, "pina_", ALNUM, 30, mixed),
    checked(Rule::Vendor, "ddo_", ALNUM, 30, mixed),
    checked(Rule::Vendor, "ddp_", ALNUM, 30, mixed),
    checked(Rule::Vendor, "PMAT-", U | D, 24, mixed),
    checked(Rule::Vendor, "cog_", ALNUM, 40, mixed),
    checked(Rule::Vendor, "apk_user_", STD64 | URL64, 30, mixed),
    checked(Rule::Vendor, "endr+", ALNUM, 12, mixed),
    checked(Rule::Vendor, "na1.", URL64 | DOT | B64, 40, mixed),
    checked(Rule::Vendor, "Mid-client-", URL64, 12, mixed),
    checked(Rule::Vendor, "Mid-server-", URL64, 12, mixed),
    family(Rule::Vendor, "api_live.", URL64 | DOT, 20),
    family(Rule::Vendor, "api_sandbox.", URL64 | DOT, 20),
    family(Rule::Vendor, "api_live_us.", URL64 | DOT, 20),
    family(Rule::Vendor, "api_live_eu.", URL64 | DOT, 20),
    family(Rule::Vendor, "gcntfy-", ALNUM | DASH | US, 40),
    checked(Rule::Vendor, "lip_", ALNUM, 18, mixed),
    checked(Rule::Vendor, "lio_", ALNUM, 18, mixed),
    checked(Rule::Observability, "u+", URL64, 17, pagerduty),
    family(Rule::Cookie, "_gitlab_session=", HEX_ANY, 20),
    // Networks and social.
    checked(Rule::Network, "tskey-", URL64, 20, |b| any(b, D) && any(b, U)),
    checked(Rule::Social, "EAA", ALNUM, 80, mixed),
    checked(Rule::Social, "AAAAAAAAAAAAAAAAAAAAA", ALNUM | PCT, 50, mixed_case),
    checked(Rule::Social, "live_", WORD, 30, live),
    checked(Rule::Social, "test_", ALNUM, 35, live),
    checked(Rule::Kubernetes, "sha256~", URL64, 40, mixed_case),
    checked(Rule::Jwt, "ZXlK", STD64, 60, mixed_case),
    checked(Rule::PhoenixToken, "SFMyNTY.", URL64 | DOT | EQ, 30, dotted),
    checked(Rule::PhoenixToken, "SFMzODQ.", URL64 | DOT | EQ, 30, dotted),
    checked(Rule::PhoenixToken, "SFM1MTI.", URL64 | DOT | EQ, 30, dotted),
    checked(Rule::PhoenixToken, "QTEyOEdDTQ.", URL64 | DOT | EQ, 30, dotted),
    checked(Rule::PhoenixToken, "QTI1NkdDTQ.", URL64 | DOT | EQ, 30, dotted),
    checked(Rule::PhoenixToken, "XCP.", URL64 | DOT | EQ, 40, mixed),
];

#[rustfmt::skip]
pub(crate) static MARKED: &[Marked] = &[
    Marked { rule: Rule::OpenAi, marker: "T3BlbkFJ", body: URL64, before: 16, after: 16 },
    Marked { rule: Rule::Azure, marker: "JQQJ99", body: ALNUM, before: 40, after: 20 },
    Marked { rule: Rule::Azure, marker: "AZDO", body: ALNUM, before: 60, after: 0 },
    Marked { rule: Rule::Azure, marker: "+ASt", body: STD64, before: 60, after: 4 },
    Marked { rule: Rule::Azure, marker: "+ASb", body: STD64, before: 24, after: 4 },
    Marked { rule: Rule::Azure, marker: "+ARm", body: STD64, before: 24, after: 4 },
    Marked { rule: Rule::Azure, marker: "+AEh", body: STD64, before: 24, after: 4 },
    Marked { rule: Rule::Azure, marker: "+ABa", body: STD64, before: 60, after: 4 },
    Marked { rule: Rule::Azure, marker: "+AMC", body: STD64, before: 60, after: 4 },
    Marked { rule: Rule::Azure, marker: "+ACR", body: STD64, before: 36, after: 4 },
    Marked { rule: Rule::Azure, marker: "ACDb", body: STD64, before: 60, after: 4 },
    Marked { rule: Rule::Azure, marker: "AzSe", body: ALNUM, before: 40, after: 4 },
    Marked { rule: Rule::Azure, marker: "AzFu", body: URL64, before: 40, after: 4 },
    Marked { rule: Rule::Azure, marker: "AIoT", body: STD64, before: 30, after: 4 },
    Marked { rule: Rule::Azure, marker: "AzCa", body: STD64, before: 30, after: 4 },
    Marked { rule: Rule::Vendor, marker: "_mmk", body: WORD, before: 34, after: 0 },
    Marked { rule: Rule::SecretStore, marker: ".atlasv1.", body: URL64 | DOT, before: 8, after: 30 },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_unique_and_longer_ones_come_first() {
        for (i, family) in FAMILIES.iter().enumerate() {
            for later in &FAMILIES[i + 1..] {
                assert!(
                    !later.prefix.starts_with(family.prefix) || later.prefix == family.prefix,
                    "{} hides {}",
                    family.prefix,
                    later.prefix
                );
                assert_ne!(later.prefix, family.prefix);
            }
        }
    }

    #[test]
    fn aws_ids_are_no_words() {
        assert!(aws_id(b"QWERTZ2UIOP7ASDF"));
        assert!(!aws_id(b"PACIFICREGIONNAME"));
    }
}
