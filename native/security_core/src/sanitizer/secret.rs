//! A value that was judged a secret: the rule that its name gives it.

use super::keys::KeyClass;
use super::name::Key;
use super::rules::Rule;
use super::scan::Scan;
use super::shape::contains_ci;

/// How often judging reads the bytes of a value.
pub(super) const JUDGED: usize = 16;

/// Reports a value, under the rule that its key or its form calls for.
pub(super) fn secret(scan: &mut Scan, key: &Key, class: KeyClass, start: usize, end: usize) {
    let value = &scan.text[start..end];
    let rule = if value.starts_with(b"$2") || value.starts_with(b"$argon2") {
        Rule::PasswordHash
    } else if contains_ci(key.name, b"aws") && value.len() == 40 {
        Rule::AwsSecret
    } else if contains_ci(key.name, b"accountkey") || contains_ci(key.name, b"sharedaccesskey") {
        Rule::Azure
    } else if value.starts_with(b"django-insecure-") {
        Rule::Django
    } else if class == KeyClass::Password {
        Rule::Password
    } else if class == KeyClass::Field {
        Rule::Field
    } else if key.start > 0 && matches!(scan.text[key.start - 1], b'?' | b'&') {
        Rule::UrlQuery
    } else {
        Rule::Secret
    };
    scan.add(start, end, rule, 1);
    scan.value_until = scan.value_until.max(end);
}
