import { placeholder, type Secret } from './secrets.ts';

/** A `Secret` whose kind is known, reported by a detector. Findings may overlap and have any order. */
export interface Finding extends Secret {
  kind: SecretKind;
}

/** Finds one category of secrets. Must take linear time for any `text`. */
export type Detector = (text: string) => Finding[] | Promise<Finding[]>;

const PLACEHOLDERS = [
  /\$\{|\{\{|\$\(/, // ${TOKEN}, {{ token }}, $(pass show token)
  /^\$(?:[A-Za-z_]+|[A-Z0-9_]+)$|^%\w+%$/, // $token, $TOKEN_2, %TOKEN%
  /^[<{[(].*[>}\])]$/, // <API_KEY>
  /^[A-Z]+(?:_[A-Z]+)+$|^(?:your|insert|replace)[-_][a-z_-]+$/, // REPLACE_WITH_PASSWORD, your-api-key
  /^(.)\1{3,}$|([A-Za-z0-9*.])\2{9,}/, // ****, sk_live_xxxxxxxxxxxx
];

export function isPlaceholder(value: string): boolean {
  return PLACEHOLDERS.some((pattern) => pattern.test(value));
}

const EXAMPLE_PASSWORDS = new Set(
  'password passwd pass pwd secret mypassword yourpassword your_password your-password changeme example admin root user username test token'.split(
    ' ',
  ),
);

export function isExamplePassword(value: string): boolean {
  return EXAMPLE_PASSWORDS.has(value.toLowerCase());
}

/**
 * Sorts findings and merges overlapping ones, so that no part of either remains visible. The longer finding's kind
 * wins, and a specific kind wins over a generic one.
 */
export function merge(findings: readonly Finding[], generic: ReadonlySet<SecretKind>): Finding[] {
  const rank = (finding: Finding) => (generic.has(finding.kind) ? 0 : finding.end - finding.start);
  const merged: { span: Finding; best: number }[] = [];
  for (const finding of findings.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = merged.at(-1);
    if (last === undefined || finding.start >= last.span.end) {
      merged.push({ span: { ...finding }, best: rank(finding) });
      continue;
    }
    last.span.end = Math.max(last.span.end, finding.end);
    if (rank(finding) > last.best) {
      last.span.kind = finding.kind;
      last.best = rank(finding);
    }
  }
  return merged.map(({ span }) => span);
}

/**
 * All finding kinds. The set is closed so that only `[REDACTED:{one of these}]` counts as a placeholder. If any name
 * were accepted, a secret between these brackets would remain undetected.
 */
export const SECRET_KINDS = [
  'age_secret_key',
  'airtable_token',
  'alibaba_access_key',
  'anthropic_api_key',
  'api_token',
  'artifactory_token',
  'atlassian_token',
  'aws_access_key',
  'aws_secret_key',
  'aws_session_token',
  'azure_client_secret',
  'azure_storage_key',
  'basic_auth',
  'basic_auth_url',
  'bearer_token',
  'buildkite_token',
  'circleci_token',
  'cloudflare_token',
  'connection_string',
  'databricks_token',
  'digitalocean_token',
  'discord_token',
  'discord_webhook',
  'docker_token',
  'doppler_token',
  'dynatrace_token',
  'facebook_token',
  'figma_token',
  'fly_token',
  'gcp_service_account',
  'generic_secret',
  'github_token',
  'gitlab_token',
  'google_api_key',
  'google_oauth',
  'grafana_token',
  'groq_api_key',
  'heroku_token',
  'huggingface_token',
  'jwt',
  'kept_out',
  'langsmith_api_key',
  'linear_api_key',
  'mailchimp_api_key',
  'mailgun_api_key',
  'memory_service_invitation',
  'memory_service_key',
  'newrelic_key',
  'notion_token',
  'npm_token',
  'onepassword_token',
  'openai_api_key',
  'openrouter_api_key',
  'payment_card',
  'perplexity_api_key',
  'pinecone_api_key',
  'planetscale_token',
  'postman_api_key',
  'private_key',
  'pulumi_token',
  'pypi_token',
  'replicate_token',
  'rubygems_token',
  'sendgrid_api_key',
  'sentry_token',
  'shopify_token',
  'slack_token',
  'slack_webhook',
  'sonarqube_token',
  'square_token',
  'stripe_key',
  'supabase_key',
  'tailscale_key',
  'telegram_bot_token',
  'terraform_token',
  'vault_token',
  'vercel_token',
  'xai_api_key',
] as const;

export type SecretKind = (typeof SECRET_KINDS)[number];

/** Kinds that describe only a secret's notation, not the service it is for; see `merge`. */
export const GENERIC_KINDS: ReadonlySet<SecretKind> = new Set([
  'api_token',
  'bearer_token',
  'generic_secret',
]);

/** Matches the placeholder for every kind. */
export const PLACEHOLDER = new RegExp(
  SECRET_KINDS.map((kind) => placeholder(kind).replace(/[[\]]/g, '\\$&')).join('|'),
  'g',
);
