//! What is secret in a value that a configuration or an environment holds under a name.

use super::{KeyClass, KnownSecrets, Sanitizer};

/// Words before a credential in a header's value.
const SCHEMES: &[&[u8]] = &[b"bearer ", b"basic ", b"token ", b"apikey ", b"digest "];

/// Longer values are files' contents; what is secret in their beginning is taken.
const MAX_VALUE: usize = 64 * 1024;

impl Sanitizer {
    /// The secret parts of a value: of a URL its password and its parameters, of a header's value
    /// what follows the scheme, of a connection string the value under a name in it; of any other
    /// the whole, if its name promises a secret.
    pub fn secrets_in(&self, name: &[u8], value: &[u8]) -> Vec<Vec<u8>> {
        let value = without_fragment(value[..value.len().min(MAX_VALUE)].trim_ascii());
        let credential = after_scheme(value);
        let mut parts = match credential {
            Some(_) => self.parts(&[b"Authorization: ", value].concat()),
            None => self.parts(value),
        };
        let class = self.key_class(name);
        let named = class != KeyClass::None && self.value_is_secret(class, value);
        if named && parts.is_empty() {
            parts.push(credential.unwrap_or(value).to_vec());
        }
        parts
    }

    fn parts(&self, text: &[u8]) -> Vec<Vec<u8>> {
        let findings = self.scan(text, &KnownSecrets::empty());
        if findings.over_budget {
            return Vec::new();
        }
        let spans = findings.spans.iter();
        spans
            .map(|span| text[span.start..span.end].to_vec())
            .collect()
    }
}

/// A URL's last parameter ends before the fragment, which is never sent anywhere.
fn without_fragment(value: &[u8]) -> &[u8] {
    let query = memchr::memmem::find(value, b"://").and_then(|_| memchr::memchr(b'?', value));
    let fragment = query.and_then(|query| Some(query + memchr::memchr(b'#', &value[query..])?));
    &value[..fragment.unwrap_or(value.len())]
}

fn after_scheme(value: &[u8]) -> Option<&[u8]> {
    let begins = |scheme: &&&[u8]| {
        value.len() > scheme.len() && value[..scheme.len()].eq_ignore_ascii_case(scheme)
    };
    let scheme = SCHEMES.iter().find(begins)?;
    Some(value[scheme.len()..].trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "Zk3vQ9xL2mT7wR4pB8sD5f";

    fn secrets(name: &str, value: &str) -> Vec<String> {
        let found = Sanitizer::built_in().secrets_in(name.as_bytes(), value.as_bytes());
        let mut found: Vec<String> = found
            .into_iter()
            .map(|part| String::from_utf8(part).unwrap_or_default())
            .collect();
        found.sort();
        found
    }

    #[test]
    fn a_value_under_its_name_is_taken_whole() {
        assert_eq!(secrets("api_key", SECRET), [SECRET]);
        assert_eq!(secrets("password", "winter5508"), ["winter5508"]);
        assert!(secrets("user", "winter5508").is_empty());
        assert!(secrets("password", "").is_empty());
    }

    #[test]
    fn of_a_header_what_follows_the_scheme() {
        for scheme in ["Bearer", "bearer", "Token"] {
            for name in ["authorization", "upstream", "api_token"] {
                let value = format!("{scheme} {SECRET}");
                assert_eq!(secrets(name, &value), [SECRET], "{name}: {value}");
            }
        }
    }

    #[test]
    fn of_a_url_its_secret_parts() {
        assert_eq!(
            secrets("database_url", "ecto://ann:winter5508@db/acme"),
            ["winter5508"]
        );
        assert_eq!(
            secrets(
                "feed",
                &format!("https://acme.test/x?page=2&api_key={SECRET}")
            ),
            [SECRET]
        );
        assert_eq!(
            secrets("feed", &format!("https://acme.test/?token={SECRET}#top")),
            [SECRET]
        );
        assert!(secrets("endpoint", "https://acme.test/x?page=2").is_empty());
    }

    #[test]
    fn of_a_connection_string_the_value_under_its_name() {
        assert_eq!(
            secrets(
                "db",
                &format!("host=db user=ann password={SECRET} dbname=acme")
            ),
            [SECRET]
        );
        assert_eq!(
            secrets(
                "db",
                &format!("Server=db;User Id=sa;Password={SECRET};Encrypt=true")
            ),
            [SECRET]
        );
    }
}
