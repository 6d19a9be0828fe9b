import { type Finding, isPlaceholder, type SecretKind } from '../../core/memory/secrets/finding.ts';

interface Format {
  kind: SecretKind;
  pattern: RegExp;
  /**
   * Strings that identify the format: every match contains at least one. The pattern runs only on texts that contain
   * one.
   */
  hints: readonly string[];
  /** Additional pattern that a match must satisfy. */
  only?: RegExp;
}

/**
 * Tokens with a fixed prefix. The formats are documented by their issuers and collected in gitleaks' rules
 * (https://github.com/gitleaks/gitleaks). docs/decisions/0017-own-secret-formats.md explains why this list does not use
 * a library.
 *
 * To add a format: add a kind in finding.ts, an entry here, and a sample and a look-alike in
 * src/features/secrets/scanner.test.ts. A pattern must take linear time. It must begin with the prefix, and must not
 * require text after an unbounded repetition that can also match this text.
 */
const FORMATS: readonly Format[] = [
  // Keys issued by this service: 32 random bytes in base64url and a 6-character checksum.
  {
    kind: 'memory_service_key',
    hints: ['msk_'],
    pattern: /(?<![A-Za-z0-9])msk_[\w-]{43}[A-Za-z0-9]{6}(?![A-Za-z0-9])/g,
  },
  // Invitations by this service: 32 random bytes in base64url.
  {
    kind: 'memory_service_invitation',
    hints: ['msi_'],
    pattern: /(?<![A-Za-z0-9])msi_[\w-]{43}(?![\w-])/g,
  },

  // AI services
  { kind: 'anthropic_api_key', hints: ['sk-ant-'], pattern: /sk-ant-[a-z]{2,10}\d{2}-[\w-]{60,}/g },
  { kind: 'openai_api_key', hints: ['sk-'], pattern: /sk-(?:proj|svcacct|admin)-[\w-]{40,}/g },
  { kind: 'openrouter_api_key', hints: ['sk-or-'], pattern: /sk-or-v1-[0-9a-f]{64}/g },
  { kind: 'api_token', hints: ['sk-'], pattern: /(?<![\w-])sk-[A-Za-z0-9]{32,}/g, only: /\d/ }, // DeepSeek, Moonshot, …
  { kind: 'openai_api_key', hints: ['T3BlbkFJ'], pattern: /sk-[\w-]{20,100}T3BlbkFJ[\w-]{20,}/g },
  { kind: 'groq_api_key', hints: ['gsk_'], pattern: /gsk_[A-Za-z0-9]{40,}/g },
  { kind: 'huggingface_token', hints: ['hf_'], pattern: /(?<![A-Za-z0-9])hf_[A-Za-z0-9]{34,}/g },
  { kind: 'langsmith_api_key', hints: ['lsv2_'], pattern: /lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}/g },
  { kind: 'perplexity_api_key', hints: ['pplx-'], pattern: /pplx-[A-Za-z0-9]{40,}/g },
  { kind: 'pinecone_api_key', hints: ['pcsk_'], pattern: /pcsk_\w{40,}/g },
  { kind: 'replicate_token', hints: ['r8_'], pattern: /(?<![A-Za-z0-9])r8_[A-Za-z0-9]{37}(?![A-Za-z0-9])/g },
  { kind: 'xai_api_key', hints: ['xai-'], pattern: /(?<![A-Za-z0-9])xai-[A-Za-z0-9]{60,}/g },

  // Clouds and hosting
  {
    kind: 'alibaba_access_key',
    hints: ['LTAI'],
    pattern: /(?<![A-Za-z0-9])LTAI[A-Za-z0-9]{12,20}(?![A-Za-z0-9])/g,
  },
  {
    // AIDA, AROA, AGPA, and similar prefixes identify users, roles, and groups, and grant no access.
    kind: 'aws_access_key',
    hints: ['AKIA', 'ASIA', 'A3T'],
    pattern: /(?<![A-Za-z0-9])(?:AKIA|ASIA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])/g,
    // Excludes the example in the AWS documentation.
    only: /^(?!.{13}EXAMPLE)/,
  },
  {
    kind: 'aws_session_token',
    hints: ['IQoJb3JpZ2luX2Vj', 'GZXIvYXdzE'],
    pattern: /(?:IQoJb3JpZ2luX2Vj|F[wQ]oGZXIvYXdzE)[A-Za-z0-9/+=]{50,}/g,
  },
  {
    kind: 'azure_storage_key',
    hints: ['AccountKey=', 'AccessKey='],
    pattern: /(?<=(?:AccountKey|SharedAccessKey)=)[A-Za-z0-9+/]{43,86}={1,2}/g,
  },
  { kind: 'azure_storage_key', hints: ['sig='], pattern: /(?<=[?&]sig=)[A-Za-z0-9%+/]{43,}/g },
  {
    kind: 'azure_client_secret',
    hints: ['Q~'],
    pattern: /(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])/g,
  },
  {
    kind: 'cloudflare_token',
    hints: ['cfat_', 'cfut_', 'cfk_'],
    pattern: /(?<![A-Za-z0-9])cf(?:at|ut|k)_[A-Za-z0-9]{40,}/g,
  },
  {
    kind: 'databricks_token',
    hints: ['dapi'],
    pattern: /(?<![A-Za-z0-9])dapi[0-9A-Fa-f]{32}(?:-\d)?(?![A-Za-z0-9])/g,
  },
  { kind: 'digitalocean_token', hints: ['_v1_'], pattern: /do[opr]_v1_[0-9a-f]{64}/g },
  {
    kind: 'fly_token',
    hints: ['fm1', 'fm2_'],
    pattern: /(?<![A-Za-z0-9])fm(?:1[ar]|2)_[A-Za-z0-9+/=_-]{60,}/g,
  },
  { kind: 'google_api_key', hints: ['AIza'], pattern: /(?<![A-Za-z0-9])AIza[\w-]{35}(?![\w-])/g },
  {
    kind: 'google_oauth',
    hints: ['GOCSPX-', 'ya29.', '1//0'],
    pattern: /GOCSPX-[\w-]{28}|ya29\.[\w-]{30,}|(?<![\w/:])1\/\/0[\w-]{40,}/g,
  },
  { kind: 'heroku_token', hints: ['HRKU-'], pattern: /HRKU-[\w-]{30,}/g },
  { kind: 'planetscale_token', hints: ['pscale_'], pattern: /pscale_(?:tkn|pw|oauth)_[\w=.-]{32,}/g },
  { kind: 'supabase_key', hints: ['sbp_', 'sb_secret_'], pattern: /sbp_[0-9a-f]{40}|sb_secret_[\w-]{20,}/g },
  {
    kind: 'terraform_token',
    hints: ['.atlasv1.'],
    pattern: /(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}/g,
  },
  { kind: 'vault_token', hints: ['hvs.', 'hvb.', 'hvr.'], pattern: /(?<![A-Za-z0-9])hv[sbr]\.[\w-]{24,}/g },
  {
    kind: 'vercel_token',
    hints: ['vcp_', 'vci_', 'vca_', 'vcr_', 'vck_'],
    pattern: /(?<![A-Za-z0-9])vc[piark]_[A-Za-z0-9]{24,}/g,
  },

  // Code, packages, builds
  { kind: 'artifactory_token', hints: ['AKCp'], pattern: /(?<![A-Za-z0-9])AKCp[A-Za-z0-9]{69,}/g },
  { kind: 'buildkite_token', hints: ['bkua_'], pattern: /bkua_[0-9a-f]{40}/g },
  {
    kind: 'circleci_token',
    hints: ['CCIPAT_', 'CCIPRJ_'],
    pattern: /CCI(?:PAT|PRJ)_[A-Za-z0-9]{22}_[0-9a-f]{40}/g,
  },
  { kind: 'docker_token', hints: ['dckr_'], pattern: /dckr_[op]at_[\w-]{20,}/g },
  {
    kind: 'github_token',
    hints: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_'],
    pattern: /gh[opusr]_[A-Za-z0-9_]{36,}|github_pat_[A-Za-z0-9_]{82,}/g,
  },
  {
    kind: 'gitlab_token',
    hints: [
      'glpat-',
      'gldt-',
      'glrt-',
      'glrtr-',
      'glcbt-',
      'glptt-',
      'glft-',
      'glimt-',
      'glagent-',
      'gloas-',
      'glsoat-',
      'glffct-',
    ],
    pattern: /gl(?:pat|dt|rtr?|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[\w.-]{20,}/g,
  },
  // Environment variables such as npm_config_… can be as long as a token. Tokens contain no `_`, but do contain digits.
  {
    kind: 'npm_token',
    hints: ['npm_'],
    pattern: /(?<!\p{L})npm_[A-Za-z0-9]{36}(?![A-Za-z0-9_])/gu,
    only: /\d/,
  },
  { kind: 'pulumi_token', hints: ['pul-'], pattern: /(?<![A-Za-z0-9])pul-[0-9a-f]{40}/g },
  { kind: 'pypi_token', hints: ['pypi-AgE'], pattern: /pypi-AgE[\w-]{50,}/g },
  { kind: 'rubygems_token', hints: ['rubygems_'], pattern: /rubygems_[0-9a-f]{48}/g },
  {
    kind: 'sonarqube_token',
    hints: ['sqp_', 'squ_', 'sqa_'],
    pattern: /(?<![A-Za-z0-9])sq[pua]_[0-9a-f]{40}/g,
  },

  // Messages and mail
  {
    kind: 'discord_webhook',
    hints: ['/api/webhooks/'],
    pattern: /https:\/\/(?:\w{1,10}\.)?discord(?:app)?\.com\/api\/webhooks\/\d{15,22}\/[\w-]{50,}/g,
  },
  {
    kind: 'mailchimp_api_key',
    hints: ['-us'],
    pattern: /(?<![A-Za-z0-9])[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9])/g,
  },
  { kind: 'mailgun_api_key', hints: ['key-'], pattern: /(?<![A-Za-z0-9])key-[0-9a-f]{32}(?![A-Za-z0-9])/g },
  { kind: 'sendgrid_api_key', hints: ['SG.'], pattern: /(?<![A-Za-z0-9])SG\.[\w-]{20,24}\.[\w-]{39,}/g },
  { kind: 'shopify_token', hints: ['shp'], pattern: /shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}/g },
  {
    kind: 'slack_webhook',
    hints: ['hooks.slack.com/'],
    pattern: /https:\/\/hooks\.slack\.com\/(?:services|workflows|triggers)\/[A-Za-z0-9+/]{40,}/g,
  },
  {
    kind: 'slack_token',
    hints: ['xox', 'xapp-'],
    pattern: /(?:xox[a-z](?:\.xox[a-z])?|xapp-\d)-[A-Za-z0-9%-]{20,}/g,
    only: /\d/,
  },
  { kind: 'telegram_bot_token', hints: [':AA'], pattern: /(?<![A-Za-z0-9])\d{8,10}:AA[\w-]{33}(?![\w-])/g },

  // Other services
  { kind: 'age_secret_key', hints: ['AGE-SECRET-KEY-1'], pattern: /AGE-SECRET-KEY-1[A-Z0-9]{58}/g },
  { kind: 'airtable_token', hints: ['pat'], pattern: /(?<![A-Za-z0-9])pat[A-Za-z0-9]{14}\.[0-9a-f]{64}/g },
  {
    kind: 'atlassian_token',
    hints: ['ATATT3', 'ATCTT3', 'ATBB'],
    pattern: /AT[AC]TT3[\w=-]{60,}|(?<![A-Za-z0-9])ATBB[A-Za-z0-9]{32}/g,
  },
  {
    kind: 'doppler_token',
    hints: ['dp.'],
    pattern: /(?<![A-Za-z0-9])dp\.(?:pt|st|sa|ct|scim|audit)\.[\w.-]{40,}/g,
  },
  { kind: 'dynatrace_token', hints: ['dt0'], pattern: /dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}/g },
  {
    kind: 'facebook_token',
    hints: ['EAA'],
    pattern: /(?<![A-Za-z0-9+/])EAA[A-Za-z0-9]{90,}(?![A-Za-z0-9+/=])/g,
  },
  { kind: 'figma_token', hints: ['fig'], pattern: /fig[dour]_[\w-]{40,}/g },
  {
    kind: 'grafana_token',
    hints: ['glsa_', 'glc_'],
    pattern: /glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/=]{40,}/g,
  },
  { kind: 'linear_api_key', hints: ['lin_api_'], pattern: /(?<![A-Za-z0-9])lin_api_[A-Za-z0-9]{32,}/g },
  { kind: 'newrelic_key', hints: ['NRAK-'], pattern: /NRAK-[A-Z0-9]{27}/g },
  {
    kind: 'notion_token',
    hints: ['ntn_', 'secret_'],
    pattern: /(?<![A-Za-z0-9])(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}(?![A-Za-z0-9]))/g,
  },
  { kind: 'onepassword_token', hints: ['ops_eyJ'], pattern: /ops_eyJ[\w+/-]{200,}={0,3}/g },
  { kind: 'postman_api_key', hints: ['PMAK-'], pattern: /PMAK-[0-9a-f]{24}-[0-9a-f]{34}/g },
  { kind: 'sentry_token', hints: ['sntry'], pattern: /sntrys_eyJ[\w+/=.-]{60,}|sntryu_[0-9a-f]{64}/g },
  {
    kind: 'square_token',
    hints: ['sq0', 'EAAA'],
    pattern: /sq0(?:atp|csp|idp)-[\w-]{22,}|(?<![A-Za-z0-9+/])EAAA[\w-]{60}(?![\w+/=-])/g,
  },
  {
    kind: 'stripe_key',
    hints: ['k_live_', 'k_test_', 'k_prod_', 'whsec_'],
    pattern: /(?<![A-Za-z0-9])(?:[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{24,}={0,2})/g,
  },
  { kind: 'tailscale_key', hints: ['tskey-'], pattern: /tskey-[a-z]{2,12}-[\w-]{20,}/g },
];

/** Matches all hints in one pass, which is several times faster than `includes` for each hint. */
const HINTS = new RegExp(
  [...new Set(FORMATS.flatMap(({ hints }) => hints))]
    .toSorted((a, b) => b.length - a.length)
    .map((hint) => hint.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'))
    .join('|'),
  'g',
);

// RFC 7519: header and payload are JSON objects (`eyJ` is `{"`), and the third part is the signature. Unsigned tokens
// grant no access, so they are ignored. The look-behind prevents an attempt at each `eyJ` in a long run.
const JWT = /(?<![\w-])eyJ[\w-]{8,2048}\.eyJ[\w-]{8,}\.[\w-]{16,}/g;

// The bot's ID, a timestamp, and a signature, in base64url. There is no fixed prefix, but a distinctive shape.
const DISCORD_TOKEN = /(?<![\w.-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])/g;

/** Detects tokens by their prefix or shape. */
export function findTokens(text: string): Finding[] {
  const findings: Finding[] = [];
  const collect = (kind: SecretKind, pattern: RegExp, accept: (token: string) => boolean) => {
    for (const { 0: token, index } of text.matchAll(pattern)) {
      if (accept(token)) findings.push({ kind, start: index, end: index + token.length });
    }
  };
  const seen = [...new Set(text.match(HINTS))];
  for (const { kind, hints, pattern, only } of FORMATS) {
    // Uses `includes`, because only the longer of two overlapping hints was matched.
    if (!hints.some((hint) => seen.some((longer) => longer.includes(hint)))) continue;
    collect(kind, pattern, (token) => !isPlaceholder(token) && only?.test(token) !== false);
  }
  collect('jwt', JWT, isJwt);
  collect('discord_token', DISCORD_TOKEN, (token) => /\d/.test(token) && !isPlaceholder(token));
  return findings;
}

function isJwt(token: string): boolean {
  const header = token.slice(0, token.indexOf('.'));
  return Buffer.from(header, 'base64url').toString('latin1').includes('"alg"');
}
