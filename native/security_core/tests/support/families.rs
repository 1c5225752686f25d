//! Token families: the public prefix of each kind of token, the shape of its body, and whether it
//! is recognisable alone.
//!
//! A prefix is a family of its own. Lengths follow vendors' documents and public rule sets; since
//! vendors lengthen their tokens, some samples get a longer body than documented (see
//! [`Family::bare`]).

use super::rng::Rng;

pub struct Family {
    pub name: &'static str,
    pub shape: &'static str,
    /// Where a token of this family gives itself away.
    pub place: Place,
}

pub enum Place {
    /// Anywhere, and a longer body than documented is still one token.
    Open,
    /// Anywhere, at this length only.
    Exact,
    /// Only beside one of these: templates in which `@` stands for the token.
    Context(&'static [&'static str]),
}

use Place::{Context, Exact, Open};

const fn open(name: &'static str, shape: &'static str) -> Family {
    Family {
        name,
        shape,
        place: Open,
    }
}

const fn exact(name: &'static str, shape: &'static str) -> Family {
    Family {
        name,
        shape,
        place: Exact,
    }
}

const fn beside(
    name: &'static str,
    shape: &'static str,
    contexts: &'static [&'static str],
) -> Family {
    Family {
        name,
        shape,
        place: Context(contexts),
    }
}

pub const FAMILIES: &[Family] = &[
    open("openai-project", "sk-proj-{u:74}T3BlbkFJ{u:74}"),
    open("openai-project-124", "sk-proj-{u:58}T3BlbkFJ{u:58}"),
    open("openai-service-account", "sk-svcacct-{u:74}T3BlbkFJ{u:74}"),
    open("openai-admin", "sk-admin-{u:74}T3BlbkFJ{u:74}"),
    open("openai-legacy", "sk-{a:20}T3BlbkFJ{a:20}"),
    open("openai-plain-body", "sk-{a:48}"),
    open("anthropic-api", "sk-ant-api03-{u:93}AA"),
    open("anthropic-admin", "sk-ant-admin01-{u:93}AA"),
    open("anthropic-oauth-access", "sk-ant-oat01-{u:95}"),
    open("anthropic-oauth-refresh", "sk-ant-ort01-{u:95}"),
    open("anthropic-session", "sk-ant-sid01-{u:95}"),
    open("openrouter", "sk-or-v1-{h:64}"),
    exact("deepseek", "sk-{h:32}"),
    open("groq", "gsk_{a:52}"),
    open("xai", "xai-{a:80}"),
    open("perplexity", "pplx-{a:48}"),
    exact("google-api", "AIza{u:35}"),
    open("google-ai-studio", "AQ.Ab8RN6{u:44}"),
    open("google-oauth-client", "GOCSPX-{u:28}"),
    open("google-oauth-access", "ya29.a0{u:120}"),
    open("google-oauth-refresh", "1//0{u:60}"),
    open("hugging-face-user", "hf_{L:34}"),
    open("hugging-face-org", "api_org_{L:34}"),
    open("replicate", "r8_{a:37}"),
    open("nvidia", "nvapi-{u:64}"),
    open("cerebras", "csk-{n:48}"),
    open("together", "tgp_v1_{u:43}"),
    open("langsmith-personal", "lsv2_pt_{h:32}_{h:10}"),
    open("langsmith-service", "lsv2_sk_{h:32}_{h:10}"),
    exact("langfuse", "sk-lf-{uuid}"),
    open("pinecone", "pcsk_{a:6}_{a:63}"),
    open("tavily", "tvly-{a:32}"),
    open("tavily-dev", "tvly-dev-{a:32}"),
    exact("firecrawl", "fc-{h:32}"),
    open("jina", "jina_{a:60}"),
    open("llamacloud", "llx-{a:48}"),
    open("wandb", "wandb_v1_{a:77}"),
    exact("fireworks", "fw_{a:24}"),
    open("elevenlabs", "sk_{h:48}"),
    exact("aws-key-id-long-lived", "AKIA{2:16}"),
    exact("aws-key-id-temporary", "ASIA{2:16}"),
    exact("aws-key-id-bearer", "ABIA{2:16}"),
    exact("aws-key-id-context", "ACCA{2:16}"),
    exact("aws-key-id-a3t", "A3TX{2:16}"),
    beside(
        "aws-secret-key",
        "{b:40}",
        &[
            "AWS_SECRET_ACCESS_KEY=@",
            "aws_secret_access_key = @",
            "secret_access_key: \"@\",",
            "\"SecretAccessKey\": \"@\",",
            "[default]\naws_access_key_id = §=AKIA{2:16}§\naws_secret_access_key = @\nregion = eu-west-1",
        ],
    ),
    open("aws-session-token", "IQoJb3JpZ2lu{b:400}"),
    open("aws-session-token-older", "FwoGZXIvYXdz{b:360}"),
    open("aws-bedrock", "ABSK{b:124}"),
    open("aws-bedrock-short-lived", "bedrock-api-key-{b:180}"),
    beside(
        "aws-presigned-url",
        "{h:64}",
        &[
            "https://bucket.s3.amazonaws.com/a.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20261101T000000Z&X-Amz-Signature=@",
        ],
    ),
    beside(
        "azure-storage",
        "{b:86}==",
        &[
            "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=@;EndpointSuffix=core.windows.net",
            "AZURE_STORAGE_KEY=@",
            "az storage blob list --account-name acme --account-key @",
        ],
    ),
    beside(
        "azure-service-bus",
        "{b:43}=",
        &["Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=@"],
    ),
    exact("azure-entra-client", "{a:3}8Q~{t:34}"),
    exact("azure-ai", "{a:52}JQQJ99{a:18}ACYeBj{a:2}"),
    beside(
        "azure-sas",
        "{a:43}%3D",
        &[
            "https://acme.blob.core.windows.net/c/f?sv=2024-11-04&se=2026-12-01T00%3A00%3A00Z&sr=b&sp=r&sig=@",
        ],
    ),
    open("github-classic", "ghp_{a:36}"),
    open("github-oauth", "gho_{a:36}"),
    open("github-user-to-server", "ghu_{a:36}"),
    open("github-refresh", "ghr_{a:76}"),
    open("github-installation", "ghs_{a:36}"),
    open("github-installation-2026", "ghs_{d:7}_{jwt}"),
    open("github-fine-grained", "github_pat_{a:22}_{a:59}"),
    open("gitlab-personal", "glpat-{u:20}"),
    open("gitlab-personal-routable", "glpat-{u:27}.01.{n:9}"),
    open("gitlab-deploy", "gldt-{u:20}"),
    open("gitlab-runner", "glrt-{u:20}"),
    open("gitlab-runner-routable", "glrt-t1_{u:27}.01.{n:9}"),
    open("gitlab-job", "glcbt-64_{u:20}"),
    open("gitlab-trigger", "glptt-{h:40}"),
    open("gitlab-feed", "glft-{u:20}"),
    open("gitlab-scim", "glsoat-{u:20}"),
    open("gitlab-oauth-app", "gloas-{h:64}"),
    open("gitlab-agent", "glagent-{u:50}"),
    open("gitlab-mail", "glimt-{n:25}"),
    open("gitlab-feature-flags", "glffct-{u:20}"),
    open("gitlab-runner-registration", "GR1348941{u:20}"),
    beside(
        "gitlab-session",
        "{h:32}",
        &[
            "Cookie: _gitlab_session=@; theme=dark",
            "curl -b '_gitlab_session=@' https://gitlab.acme.test/",
        ],
    ),
    open("bitbucket-app-password", "ATBB{a:32}"),
    open("atlassian-api", "ATATT3xFf{u:174}={H:8}"),
    open("atlassian-repo", "ATCTT3xFf{u:174}={H:8}"),
    open("bitbucket-data-center", "BBDC-{b:44}"),
    open("slack-bot", "xoxb-{d:12}-{d:13}-{a:24}"),
    open("slack-user", "xoxp-{d:12}-{d:12}-{d:12}-{h:32}"),
    open("slack-config-refresh", "xoxe-1-{a:146}"),
    open("slack-config-access", "xoxe.xoxp-1-{a:166}"),
    open("slack-app-level", "xapp-1-A{N:10}-{d:13}-{h:64}"),
    open("slack-workspace", "xoxa-2-{d:12}-{d:12}-{h:32}"),
    open("slack-refresh", "xoxr-{d:12}-{d:12}-{a:24}"),
    open("slack-session", "xoxs-{d:12}-{d:12}-{d:12}-{h:32}"),
    open("slack-client", "xoxc-{d:12}-{d:12}-{d:12}-{h:64}"),
    open("slack-session-cookie", "xoxd-{a:40}%2B{a:60}%2F{a:40}%3D"),
    open(
        "slack-webhook",
        "https://hooks.slack.com/services/T{N:10}/B{N:10}/{a:24}",
    ),
    open(
        "discord-webhook",
        "https://discord.com/api/webhooks/{d:18}/{u:68}",
    ),
    open(
        "teams-webhook",
        "https://acme.webhook.office.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/{h:32}/{uuid}",
    ),
    open(
        "zapier-webhook",
        "https://hooks.zapier.com/hooks/catch/{d:7}/{n:8}/",
    ),
    exact(
        "google-chat-webhook",
        "https://chat.googleapis.com/v1/spaces/AAAA{a:7}/messages?key=AIza{u:35}&token={u:43}",
    ),
    exact("discord-bot", "{discord}.{u:6}.{u:38}"),
    exact("telegram-bot", "{d:10}:AA{u:33}"),
    open("stripe-live", "sk_live_{a:24}"),
    open("stripe-live-long", "sk_live_51{a:97}"),
    open("stripe-test", "sk_test_{a:24}"),
    open("stripe-restricted", "rk_live_{a:24}"),
    open("stripe-restricted-test", "rk_test_51{a:97}"),
    open("stripe-org", "sk_org_{a:32}"),
    open("stripe-webhook", "whsec_{b:32}"),
    open("square-access", "EAAA{u:60}"),
    open("square-oauth", "sq0csp-{u:43}"),
    exact("plaid", "access-production-{uuid}"),
    open("shopify-admin", "shpat_{h:32}"),
    open("shopify-custom", "shpca_{h:32}"),
    open("shopify-private", "shppa_{h:32}"),
    open("shopify-shared", "shpss_{h:32}"),
    open("paddle", "pdl_live_apikey_{n:26}_{a:22}_{a:3}"),
    exact("twilio-key-sid", "SK{h:32}"),
    beside(
        "twilio-auth-token",
        "{h:32}",
        &[
            "TWILIO_AUTH_TOKEN=@",
            "config :acme, twilio_auth_token: \"@\"",
            "\"authToken\": \"@\"",
        ],
    ),
    open("sendgrid", "SG.{u:22}.{u:43}"),
    exact("mailgun", "key-{h:32}"),
    exact("mailgun-sending", "{h:32}-{h:8}-{h:8}"),
    exact("mailchimp", "{h:32}-us12"),
    open("brevo", "xkeysib-{h:64}-{a:16}"),
    open("resend", "re_{a:8}_{a:24}"),
    beside(
        "postmark",
        "{uuid}",
        &[
            "X-Postmark-Server-Token: @",
            "POSTMARK_API_KEY=@",
            "config :acme, Mailer, api_key: \"@\"",
        ],
    ),
    open("mailersend", "mlsn.{h:64}"),
    open("npm", "npm_{a:36}"),
    open("pypi", "pypi-AgEIcHlwaS5vcmc{u:160}"),
    open("pypi-test", "pypi-AgENdGVzdC5weXBpLm9yZw{u:160}"),
    open("rubygems", "rubygems_{h:48}"),
    exact("cargo-registry", "cio{a:32}"),
    exact("nuget", "oy2{n:43}"),
    open("packagist", "packagist_ack_{h:40}"),
    open("clojars", "CLOJARS_{h:60}"),
    beside(
        "hex-key",
        "{h:32}",
        &[
            "HEX_API_KEY=@",
            "{'$write_key',<<\"@\">>}.",
            "{'$read_key',<<\"@\">>}.",
            "mix hex.organization auth acme --key @",
            "mix hex.repo add acme https://hex.acme.test --auth-key @",
            "{<<\"hexpm:acme\">>,#{auth_key => <<\"@\">>,trusted => true}}",
        ],
    ),
    beside(
        "oban-licence",
        "{n:40}",
        &[
            "OBAN_LICENSE_KEY=@",
            "OBAN_AUTH_KEY=@",
            "mix hex.repo add oban https://getoban.pro/repo --fetch-public-key SHA256:4/OSKi0NRF91QVVXlGAhb/BIMLnK8NHcx/EWs+aIWPc --auth-key @",
        ],
    ),
    open("docker-personal", "dckr_pat_{u:27}"),
    open("docker-organisation", "dckr_oat_{u:32}"),
    open("docker-swarm-join", "SWMTKN-1-{n:50}-{n:25}"),
    open("docker-swarm-unlock", "SWMKEY-1-{b:43}"),
    open("heroku", "HRKU-AA{u:58}"),
    beside(
        "heroku-older",
        "{uuid}",
        &[
            "HEROKU_API_KEY=@",
            "machine api.heroku.com\n  login jane\n  password @",
        ],
    ),
    open("fly", "FlyV1 fm2_{b:180},fm2_{b:140}"),
    open("fly-macaroon", "fm2_{b:180}"),
    open("fly-older", "fo1_{u:43}"),
    open("vercel-personal", "vcp_{u:56}"),
    open("vercel-access", "vca_{u:56}"),
    open("vercel-refresh", "vcr_{u:56}"),
    open("vercel-integration", "vci_{u:56}"),
    open("vercel-key", "vck_{u:56}"),
    open("cloudflare-global", "cfk_{a:40}{h:8}"),
    open("cloudflare-user", "cfut_{a:40}{h:8}"),
    open("cloudflare-account", "cfat_{a:40}{h:8}"),
    open("cloudflare-origin-ca", "v1.0-{h:24}-{h:146}"),
    beside(
        "cloudflare-older",
        "{u:40}",
        &[
            "CLOUDFLARE_API_TOKEN=@",
            "export CF_API_TOKEN=\"@\"",
            "cloudflare_api_token: '@'",
            "Authorization: Bearer @",
        ],
    ),
    open("netlify", "nfp_{a:40}"),
    open("render", "rnd_{a:28}"),
    open("supabase-personal", "sbp_{h:40}"),
    open("supabase-secret", "sb_secret_{u:31}"),
    open("neon", "napi_{n:64}"),
    open("planetscale-token", "pscale_tkn_{u:43}"),
    open("planetscale-password", "pscale_pw_{u:43}"),
    open("planetscale-oauth", "pscale_oauth_{u:43}"),
    open("cockroach", "CCDB1_{a:22}_{a:40}"),
    open("astra", "AstraCS:{a:24}:{h:64}"),
    open("atlas", "mdb_sa_sk_{u:40}"),
    open("elastic", "essu_{b:60}"),
    open("digitalocean-personal", "dop_v1_{h:64}"),
    open("digitalocean-oauth", "doo_v1_{h:64}"),
    open("digitalocean-refresh", "dor_v1_{h:64}"),
    open("vault-service", "hvs.{u:96}"),
    open("vault-batch", "hvb.{u:150}"),
    open("vault-recovery", "hvr.{u:96}"),
    exact("vault-older", "s.{a:24}"),
    open("terraform-cloud", "{a:14}.atlasv1.{u:67}"),
    open("doppler-personal", "dp.pt.{a:43}"),
    open("doppler-service", "dp.st.prd.{a:43}"),
    open("doppler-cli", "dp.ct.{a:43}"),
    open("doppler-service-account", "dp.sa.{a:43}"),
    open("doppler-scim", "dp.scim.{a:43}"),
    open("doppler-audit", "dp.audit.{a:43}"),
    open("onepassword-service", "ops_eyJ{u:260}"),
    open(
        "onepassword-secret-key",
        "A3-{2:6}-{2:6}-{2:5}-{2:5}-{2:5}-{2:5}",
    ),
    exact("age-identity", "AGE-SECRET-KEY-1{x:58}"),
    open("infisical", "st.{uuid}.{h:32}.{h:32}"),
    open("newrelic-user", "NRAK-{N:27}"),
    open("newrelic-insights", "NRII-{u:32}"),
    exact("newrelic-licence", "{h:36}NRAL"),
    open("sentry-user", "sntryu_{h:64}"),
    open("sentry-org", "sntrys_eyJ{b:120}_{b:43}"),
    open("grafana-service-account", "glsa_{a:32}_{h:8}"),
    open("grafana-cloud", "glc_{b:100}"),
    open("dynatrace", "dt0c01.{N:24}.{N:64}"),
    open("posthog-personal", "phx_{a:43}"),
    beside(
        "datadog-api",
        "{h:32}",
        &["DD_API_KEY=@", "DD-API-KEY: @", "datadog_api_key: \"@\""],
    ),
    beside(
        "datadog-app",
        "{h:40}",
        &[
            "DD_APP_KEY=@",
            "DD-APPLICATION-KEY: @",
            "datadog_app_key = \"@\"",
        ],
    ),
    beside(
        "honeycomb",
        "{a:22}",
        &["X-Honeycomb-Team: @", "HONEYCOMB_API_KEY=@"],
    ),
    exact("pagerduty", "u+{u:18}"),
    open("linear", "lin_api_{a:40}"),
    open("notion", "ntn_{d:11}{a:35}"),
    exact("notion-older", "secret_{a:43}"),
    open("figma", "figd_{u:40}"),
    exact("airtable", "pat{a:14}.{h:64}"),
    beside(
        "asana",
        "1/{d:16}:{h:32}",
        &["ASANA_ACCESS_TOKEN=@", "Authorization: Bearer @"],
    ),
    open("postman", "PMAK-{h:24}-{h:34}"),
    exact("hubspot-na", "pat-na1-{uuid}"),
    exact("hubspot-eu", "pat-eu1-{uuid}"),
    open("circleci", "CCIPAT_{a:22}_{h:40}"),
    open("buildkite", "bkua_{h:40}"),
    open("pulumi", "pul-{h:40}"),
    open("sonar-user", "squ_{h:40}"),
    open("sonar-project", "sqp_{h:40}"),
    open("sonar-global", "sqa_{h:40}"),
    beside(
        "codecov",
        "{uuid}",
        &["CODECOV_TOKEN=@", "codecov_token: @"],
    ),
    beside("snyk", "{uuid}", &["SNYK_TOKEN=@", "snyk_token: \"@\""]),
    exact("launchdarkly-sdk", "sdk-{uuid}"),
    exact("launchdarkly-api", "api-{uuid}"),
    exact("launchdarkly-mobile", "mob-{uuid}"),
    open("devcycle", "dvc_server_{a:32}"),
    exact("configcat", "configcat-sdk-1/{u:22}/{u:22}"),
    open("tailscale-auth", "tskey-auth-k{a:11}CNTRL-{a:32}"),
    open("tailscale-api", "tskey-api-k{a:11}CNTRL-{a:32}"),
    open("tailscale-client", "tskey-client-k{a:11}CNTRL-{a:32}"),
    beside(
        "ngrok",
        "2{a:26}_{a:21}",
        &[
            "NGROK_AUTHTOKEN=@",
            "ngrok config add-authtoken @",
            "authtoken: @",
        ],
    ),
    beside(
        "wireguard",
        "{b:42}A=",
        &[
            "[Interface]\nPrivateKey = @\nAddress = 10.0.0.2/24",
            "[Peer]\nPresharedKey = @\nAllowedIPs = 0.0.0.0/0",
        ],
    ),
    exact("databricks", "dapi{h:32}"),
    exact("databricks-numbered", "dapi{h:32}-2"),
    open("facebook-access", "EAAC{a:160}"),
    beside(
        "facebook-app",
        "{d:15}|{u:27}",
        &[
            "FACEBOOK_ACCESS_TOKEN=@",
            "https://graph.facebook.com/me?access_token=@",
        ],
    ),
    open(
        "twitter-bearer",
        "AAAAAAAAAAAAAAAAAAAAAA{a:30}%2B{a:30}%3D{a:24}",
    ),
    beside(
        "twitch-stream",
        "live_{d:9}_{a:30}",
        &["TWITCH_STREAM_KEY=@", "stream_key: \"@\""],
    ),
    open("jwt", "{jwt}"),
    open(
        "jwe",
        "eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.{u:120}.{u:16}.{u:80}.{u:22}",
    ),
    exact("jwt-unsigned", "eyJhbGciOiJub25lIn0.eyJzdWIiOiI{u:60}."),
    open("jwt-in-base64", "ZXlKaGJHY2lPaUpJVXpJMU5pSjku{b:160}"),
    open("phoenix-token", "SFMyNTY.g2gDbQAAACR{u:60}.{u:43}"),
    open(
        "phoenix-encrypted",
        "QTEyOEdDTQ.{u:24}.{u:16}.{u:90}.{u:22}",
    ),
    beside(
        "kubernetes-bootstrap",
        "{n:6}.{n:16}",
        &["kubeadm join 10.0.0.1:6443 --token @", "token: @"],
    ),
    beside(
        "kubeconfig-key",
        "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo{b:600}",
        &["    client-key-data: @", "client-key-data: @"],
    ),
    open("openshift", "sha256~{u:43}"),
    beside(
        "django",
        "django-insecure-{p:50}",
        &[
            "SECRET_KEY = '@'",
            "SECRET_KEY = \"@\"",
            "DJANGO_SECRET_KEY='@'",
        ],
    ),
    beside(
        "cohere",
        "{a:40}",
        &["COHERE_API_KEY=@", "cohere_api_key: \"@\""],
    ),
    beside(
        "mistral",
        "{a:32}",
        &["MISTRAL_API_KEY=@", "config :acme, mistral_api_key: \"@\""],
    ),
    beside(
        "deepgram",
        "{h:40}",
        &["DEEPGRAM_API_KEY=@", "Authorization: Token @"],
    ),
    beside(
        "assemblyai",
        "{h:32}",
        &["ASSEMBLYAI_API_KEY=@", "\"assemblyai_api_key\": \"@\""],
    ),
];

/// Shapes of tokens that need no company: used wherever a context says "any token".
pub fn recognisable(rng: &mut Rng) -> &'static str {
    loop {
        let family = &FAMILIES[rng.below(FAMILIES.len())];
        // Bodies with quotes, spaces or slashes would change the context that they are put into.
        if matches!(family.place, Open)
            && !family.shape.contains([' ', '/', ':', '%'])
            && !family.shape.contains("{b:")
        {
            return family.shape;
        }
    }
}

impl Family {
    /// Templates for tokens of this family.
    pub fn templates(&self, rng: &mut Rng) -> Vec<String> {
        match self.place {
            Context(contexts) => contexts
                .iter()
                .map(|c| c.replace('@', &format!("§={}§", self.shape)))
                .collect(),
            Exact => CARRIERS
                .iter()
                .map(|c| c.replace('@', &format!("§={}§", self.shape)))
                .collect(),
            Open => CARRIERS
                .iter()
                .map(|carrier| {
                    let shape = if rng.chance(5) {
                        longer(self.shape, rng)
                    } else {
                        self.shape.to_string()
                    };
                    carrier.replace('@', &format!("§={shape}§"))
                })
                .collect(),
        }
    }
}

/// The same shape with up to 40 more characters of its last set, where it ends in one.
fn longer(shape: &str, rng: &mut Rng) -> String {
    match (shape.rfind('{'), shape.ends_with('}')) {
        (Some(open), true) if shape[open..].contains(':') => {
            let set = shape[open + 1..].split(':').next().unwrap_or("a");
            format!("{shape}{{{set}:{}}}", rng.range(1, 40))
        }
        _ => shape.to_string(),
    }
}

/// Places without any key name in which tokens turn up.
const CARRIERS: &[&str] = &[
    "@",
    "@\n",
    "found @ in the output\n",
    "\"@\"",
    "'@'",
    "`@`",
    "(@)",
    "[\"ok\", \"@\", 3]",
    "<@>",
    "pushed with @.",
    "one,@,three",
    "a; @; b",
    "§time§ [info] upload done using @ after §n§ms",
    "+  @",
    "§path§:§n§:  \"@\"",
    "{\"note\":\"first line\\n@\\nlast\"}",
    "{\"note\":\"tab\\t@\"}",
    "\u{1b}[31m@\u{1b}[0m",
    "    (acme 0.1.0) lib/acme/client.ex:§n§: Acme.Client.call(\"@\", 5000)",
    "** (MatchError) no match of right hand side value: {:error, \"@\"}",
    "{:ok, \"@\"}",
    "[<<\"@\">>,undefined]",
    "| §id§ | @ | active |",
    "naïve – @ – ende",
    "$ acme login @\nLogged in.",
];
