//! The built-in rules as data: what each hides, and what it writes instead.

/// One rule of the redactor, for documentation and configuration checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleInfo {
    /// Stable snake-case name; telemetry and tests refer to it.
    pub name: &'static str,
    /// The text that takes the secret's place.
    pub replacement: &'static str,
    /// What the rule recognises, in one line.
    pub description: &'static str,
}

/// Identifies a built-in rule (its index in [`RULES`]); user rules are numbered after the last one.
macro_rules! rules {
    ($($id:ident $name:literal $replacement:literal $description:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u16)]
        pub(crate) enum Rule { $($id),* }

        pub(crate) static RULES: &[RuleInfo] = &[
            $(RuleInfo { name: $name, replacement: $replacement, description: $description }),*
        ];
    };
}

rules! {
    // What a key, header or place gives away.
    Password "password" "[REDACTED]" "a literal under a password-like name";
    Secret "secret" "[REDACTED]" "a random-looking literal under a secret-, token- or key-like name";
    Field "field" "[REDACTED]" "a literal under a field name that the host added";
    Bearer "bearer" "[REDACTED_BEARER]" "credentials after the scheme word of an authorization header";
    Cookie "cookie" "[REDACTED]" "cookie values and session cookies";
    DbUrl "database_url" "[REDACTED_DB_URL]" "the password in a database or queue URL";
    UrlAuth "url_credentials" "[REDACTED]" "the password or token in front of a URL's host";
    UrlQuery "url_query" "[REDACTED]" "tokens and signatures among a URL's parameters";
    Webhook "webhook_url" "[REDACTED_WEBHOOK]" "the secret path of an incoming webhook";
    PrivateKey "private_key" "[REDACTED_SSH_KEY]" "PEM, OpenSSH, PGP, PuTTY and bare DER private keys, whole or torn";
    CommandLine "command_line" "[REDACTED]" "passwords given as a command's arguments";
    Sql "sql_password" "[REDACTED]" "password literals in SQL statements";
    PasswordHash "password_hash" "[REDACTED]" "a password hash under a password-like name";
    Integers "integer_list" "91, 82, 69, 68, 65, 67, 84, 69, 68, 93" "a secret printed as a list of character codes; the replacement spells [REDACTED]";
    Number "number" "\"[REDACTED]\"" "a number under a password-like name among data, which a string replaces";
    EscapedNumber "escaped_number" "\\\"[REDACTED]\\\"" "the same in data that stands in a string";
    Known "known_secret" "[REDACTED]" "a value that this node knows to be secret";
    OverBudget "over_budget" "[REDACTED]" "every long word of a stretch that took more work than allowed";
    // Vendors' token formats.
    OpenAi "openai_key" "[REDACTED_API_KEY]" "OpenAI keys, and the many vendors that copy the sk- form";
    Anthropic "anthropic_key" "[REDACTED_ANTHROPIC_KEY]" "Anthropic API, admin and OAuth tokens";
    AiVendor "ai_vendor_key" "[REDACTED_API_KEY]" "Groq, xAI, Perplexity, Replicate, Hugging Face, Together and other model vendors";
    Google "google_key" "[REDACTED_GOOGLE_KEY]" "Google API keys, OAuth secrets and tokens";
    AwsKey "aws_access_key" "[REDACTED_AWS_KEY]" "AWS access key ids and Bedrock keys";
    AwsSecret "aws_secret_key" "[REDACTED_AWS_SECRET]" "AWS secret access keys and session tokens";
    Azure "azure_key" "[REDACTED_AZURE_KEY]" "Azure storage, service bus, Entra, OpenAI and DevOps keys";
    GitHub "github_token" "[REDACTED_GITHUB_TOKEN]" "GitHub personal, OAuth, app, installation and refresh tokens";
    GitLab "gitlab_token" "[REDACTED_GITLAB_TOKEN]" "GitLab tokens of every kind";
    Atlassian "atlassian_token" "[REDACTED_ATLASSIAN_TOKEN]" "Bitbucket, Jira and Confluence tokens";
    Slack "slack_token" "[REDACTED_SLACK_TOKEN]" "Slack bot, user, app, session and configuration tokens";
    Discord "discord_token" "[REDACTED_DISCORD_TOKEN]" "Discord bot tokens";
    Telegram "telegram_token" "[REDACTED_TELEGRAM_TOKEN]" "Telegram bot tokens";
    Stripe "stripe_key" "[REDACTED_STRIPE_KEY]" "Stripe secret, restricted and webhook keys";
    Payment "payment_key" "[REDACTED_API_KEY]" "Square, PayPal, Adyen, Plaid, Shopify, Paddle";
    Twilio "twilio_key" "[REDACTED_API_KEY]" "Twilio API key ids";
    Mail "mail_key" "[REDACTED_API_KEY]" "SendGrid, Mailgun, Mailchimp, Brevo, Resend, MailerSend";
    Registry "registry_token" "[REDACTED_REGISTRY_TOKEN]" "npm, PyPI, RubyGems, crates, NuGet, Packagist, Clojars, Docker";
    Cloud "cloud_token" "[REDACTED_API_KEY]" "Heroku, Fly.io, Vercel, Cloudflare, Netlify, Render, DigitalOcean and others";
    Database "database_token" "[REDACTED_API_KEY]" "Supabase, Neon, PlanetScale, Cockroach, Astra, Atlas, Elastic, Databricks";
    SecretStore "secret_store_token" "[REDACTED_API_KEY]" "Vault, Terraform Cloud, Doppler, 1Password, age";
    Observability "observability_key" "[REDACTED_API_KEY]" "New Relic, Sentry, Grafana, Dynatrace, PostHog";
    Productivity "productivity_token" "[REDACTED_API_KEY]" "Linear, Notion, Figma, Airtable, Asana, Postman, HubSpot";
    Ci "ci_token" "[REDACTED_API_KEY]" "CircleCI, Buildkite, Pulumi, SonarQube";
    FeatureFlag "feature_flag_key" "[REDACTED_API_KEY]" "LaunchDarkly and DevCycle SDK keys";
    Network "network_key" "[REDACTED_API_KEY]" "Tailscale, ngrok";
    Social "social_token" "[REDACTED_API_KEY]" "Facebook, Twitter, Twitch";
    Jwt "jwt" "[REDACTED_JWT]" "JSON Web Tokens, also encrypted, unsigned or encoded twice";
    PhoenixToken "phoenix_token" "[REDACTED_JWT]" "Phoenix and Plug signed or encrypted tokens and session cookies";
    Kubernetes "kubernetes_token" "[REDACTED_API_KEY]" "OpenShift and Kubernetes tokens";
    Django "django_secret" "[REDACTED]" "a generated Django secret key";
    Vendor "vendor_token" "[REDACTED_API_KEY]" "tokens of some fifty further vendors";
    Generic "prefixed_token" "[REDACTED_API_KEY]" "lower-case words, an underscore and a long random run: a vendor's token of a form not listed";
}
