import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { character, fuzzParameters } from '../../../test/support/arbitraries.ts';
import { KEPT_OUT } from '../../core/lib/secret-kinds.ts';
import { SECRET_KINDS } from '../../core/memory/secrets/finding.ts';
import { mask, placeholder, type Secret } from '../../core/memory/secrets/secrets.ts';
import { createSecretScanner } from './scanner.ts';

const scanner = createSecretScanner();
const kindsIn = async (text: string) => (await scanner.scan(text)).map(({ kind }) => kind);
const redact = async (text: string) => mask(text, await scanner.scan(text));

/*
 * Samples are generated at run time, so that no secret scanner reports this file. Each has a prefix, and a body
 * drawn from an alphabet by a generator with a fixed seed.
 */
const DIGIT = '0123456789';
const HEX = `${DIGIT}abcdef`;
const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const UPPER_32 = `${UPPER}234567`;
const ALNUM = `${UPPER}${UPPER.toLowerCase()}${DIGIT}`;
const BASE64 = `${ALNUM}+/`;
const BASE64URL = `${ALNUM}-_`;

let state = 20261120;
function made(alphabet: string, length: number): string {
  const text = random(alphabet, length);
  // Starts and ends with a letter or digit, and contains a digit, as nearly all real tokens do.
  return `${text.slice(0, -2).replace(/^\W|^_/, 'a')}7${alphabet.includes('k') ? 'k' : '9'}`.slice(-length);
}

/** Returns random characters, which may lack a digit. */
function random(alphabet: string, length: number): string {
  let text = '';
  while (text.length < length) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    text += alphabet[(state >>> 16) % alphabet.length];
  }
  return text;
}

const lines = (body: string, newline = '\n') => (body.match(/.{1,64}/g) ?? []).join(newline);
const pem = (label: string, body: string, newline = '\n') =>
  `${'-'.repeat(5)}BEGIN ${label}${'-'.repeat(5)}${newline}${lines(body, newline)}${newline}${'-'.repeat(5)}END ${label}${'-'.repeat(5)}`;
const putty = (length: number) => {
  const body = (made(BASE64, length).match(/.{1,64}/g) ?? []).join('\n');
  const part = (name: string) => `${name}-Lines: ${Math.ceil(length / 64)}\n${body}\n`;
  return `PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nComment: ana@laptop\n${part('Public')}${part('Private')}Private-MAC: ${made(HEX, 64)}`;
};
const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const url = (scheme: string, user: string, password: string, rest: string) =>
  `${scheme}://${user}:${password}@${rest}`;

type Context = (secret: string) => string;
const inProse: Context = (secret) => `The key for staging is ${secret}, ask Ana before using it.`;
const inMarkdown: Context = (secret) => `- token: \`${secret}\`\n- owner: Ana`;
const inJson: Context = (secret) => `{"service":"billing","value":"${secret}","retries":3}`;
const inEnv: Context = (secret) => `LOG_LEVEL=debug\nVALUE=${secret}\nPORT=8080\n`;

/** 36 of the 40 samples are found, and masked completely without changing other text. */
const FOUND: [kind: string, what: string, secret: string, context: Context][] = [
  ['aws_access_key', 'AWS access key id', `AKIA${made(UPPER_32, 16)}`, inProse],
  ['aws_access_key', 'AWS temporary access key id', `ASIA${made(UPPER_32, 16)}`, inJson],
  [
    'aws_secret_key',
    'AWS secret key',
    made(BASE64, 40),
    (s) => `aws_secret_access_key = ${s}\nregion = eu-west-1`,
  ],
  ['aws_session_token', 'AWS session token', `IQoJb3JpZ2luX2Vj${made(BASE64, 300)}`, inEnv],
  ['github_token', 'GitHub personal token', `ghp_${made(ALNUM, 36)}`, inProse],
  ['github_token', 'GitHub fine-grained token', `github_pat_${made(ALNUM, 22)}_${made(ALNUM, 59)}`, inEnv],
  ['gitlab_token', 'GitLab token', `glpat-${made(BASE64URL, 20)}`, inMarkdown],
  ['npm_token', 'npm token', `npm_${made(ALNUM, 36)}`, (s) => `//registry.npmjs.org/:_authToken=${s}\n`],
  ['pypi_token', 'PyPI token', `pypi-AgEIcHlwaS5vcmc${made(BASE64URL, 150)}`, inProse],
  ['slack_token', 'Slack bot token', `xoxb-${made(DIGIT, 12)}-${made(DIGIT, 12)}-${made(ALNUM, 24)}`, inJson],
  [
    'slack_webhook',
    'Slack webhook',
    `https://hooks.slack.com/services/T${made(UPPER, 8)}/B${made(UPPER, 8)}/${made(ALNUM, 24)}`,
    inMarkdown,
  ],
  ['anthropic_api_key', 'Anthropic API key', `sk-ant-api03-${made(BASE64URL, 93)}AA`, inEnv],
  [
    'openai_api_key',
    'OpenAI project key',
    `sk-proj-${made(BASE64URL, 74)}T3BlbkFJ${made(BASE64URL, 74)}`,
    inEnv,
  ],
  ['google_api_key', 'Google API key', `AIza${made(BASE64URL, 35)}`, inJson],
  [
    'gcp_service_account',
    'GCP service account',
    pem('PRIVATE KEY', `MIIEvQIBADANBgkqhkiG9w0BAQEF${made(BASE64, 1590)}`, '\\n'),
    (s) =>
      `{\n  "type": "service_account",\n  "private_key": "${s}\\n",\n  "client_email": "ci@example.iam"\n}`,
  ],
  ['huggingface_token', 'Hugging Face token', `hf_${made(ALNUM, 34)}`, inProse],
  ['stripe_key', 'Stripe secret key', `sk_live_${made(ALNUM, 24)}`, inMarkdown],
  ['sendgrid_api_key', 'SendGrid key', `SG.${made(BASE64URL, 22)}.${made(BASE64URL, 43)}`, inEnv],
  ['shopify_token', 'Shopify token', `shpat_${made(HEX, 32)}`, inProse],
  ['digitalocean_token', 'DigitalOcean token', `dop_v1_${made(HEX, 64)}`, inJson],
  [
    'azure_storage_key',
    'Azure storage key',
    `${made(BASE64, 86)}==`,
    (s) => `DefaultEndpointsProtocol=https;AccountName=logs;AccountKey=${s};EndpointSuffix=core.windows.net`,
  ],
  ['vault_token', 'HashiCorp Vault token', `hvs.${made(BASE64URL, 95)}`, inMarkdown],
  ['linear_api_key', 'Linear key', `lin_api_${made(ALNUM, 40)}`, inProse],
  ['telegram_bot_token', 'Telegram bot token', `${made(DIGIT, 10)}:AA${made(BASE64URL, 33)}`, inEnv],
  [
    'discord_token',
    'Discord bot token',
    `MT${made(ALNUM, 24)}.G${made(ALNUM, 5)}.${made(BASE64URL, 38)}`,
    inProse,
  ],
  [
    'jwt',
    'signed JWT',
    `${base64url({ alg: 'HS256', typ: 'JWT' })}.${base64url({ sub: '42', exp: 1800000000 })}.${made(BASE64URL, 43)}`,
    (s) => `curl -H 'Authorization: Bearer ${s}' https://api.example.com`,
  ],
  ['private_key', 'RSA key, PEM', pem('RSA PRIVATE KEY', `MIIEpAIBAAKCAQEA${made(BASE64, 1580)}`), inProse],
  [
    'private_key',
    'Ed25519 key, PKCS #8',
    pem('PRIVATE KEY', `MC4CAQAwBQYDK2VwBCIEI${made(BASE64, 43)}`),
    inMarkdown,
  ],
  [
    'private_key',
    'PGP key',
    pem('PGP PRIVATE KEY BLOCK', `lQOYBF${made(BASE64, 900)}`).replace('\n', '\nVersion: GnuPG v2\n\n'),
    inProse,
  ],
  [
    'connection_string',
    'postgres URL',
    url('postgres', 'app', made(ALNUM, 12), 'db.internal:5432/shop'),
    inEnv,
  ],
  [
    'connection_string',
    'mongodb+srv URL',
    url(
      'mongodb+srv',
      'svc',
      `p%40ss/w#${made(ALNUM, 6)}`,
      'cluster0.ab1cd.mongodb.net/?retryWrites=true&w=majority',
    ),
    inJson,
  ],
  ['connection_string', 'redis URL', url('rediss', '', made(ALNUM, 20), 'cache.internal:6380/0'), inMarkdown],
  [
    'basic_auth_url',
    'git over https',
    url('https', 'deploy', made(ALNUM, 16), 'git.example.com/shop.git'),
    inProse,
  ],
  ['payment_card', 'Visa, in one piece', `453957876${'3621486'}`, inProse],
  [
    'payment_card',
    'American Express, in groups',
    `3782 ${'822463'} 10005`,
    (s) => `card ${s} exp 12/27 cvv 1234`,
  ],
  ['memory_service_key', "this service's key", `msk_${made(BASE64URL, 43)}${made(ALNUM, 6)}`, inEnv],
];

/** The other 4 of the 40 samples are known misses, because only their meaning distinguishes them from harmless text. */
const MISSED: [what: string, text: string, why: string][] = [
  ['a password in prose', `log in as ana with correct-horse-${made(DIGIT, 2)}`, 'any word can be a password'],
  ['an Ethereum key', `wallet ${made(HEX, 64)}`, 'looks like a SHA-256'],
  [
    'a seed phrase',
    'legal winner thank year wave sausage worth useful legal winner thank yellow',
    'is made of ordinary words',
  ],
  ['an AWS secret key without its name', `the secret is ${made(BASE64, 40)}`, 'looks like any other base64'],
];

/** More known misses, in addition to the 40 samples. */
const ALSO_MISSED: [what: string, text: string][] = [
  ['a key from the AWS documentation', `AKIA${'IOSFODNN7EXAMPLE'}`],
  ['a token broken by a newline', `ghp_${made(ALNUM, 18)}\n${made(ALNUM, 18)}`],
  ['a token in base64', Buffer.from(`ghp_${made(ALNUM, 36)}`).toString('base64')],
  ['a card number in groups of two', '45 39 57 87 63 62 14 86'],
  ['a card number in full-width digits', '４５３９５７８７６３６２１４８６'],
  ['a password commonly used in examples', url('postgres', 'app', 'changeme', 'db.internal/shop')],
  ['a password shorter than 4 characters', url('postgres', 'app', 'pw1', 'db.internal/shop')],
  ['a short password in a setting', 'password: hunter2'],
  ['an API key that is a UUID', 'heroku_api_key = 123e4567-e89b-42d3-a456-426614174000'],
  ['a private JWK', `{"kty":"OKP","crv":"Ed25519","d":"${made(BASE64URL, 43)}"}`],
];

/** Further secrets, which are recognizable only by their context. */
const BY_CONTEXT: [kind: string, what: string, secret: string, context: Context][] = [
  ['generic_secret', 'named in YAML', made(HEX, 32), (s) => `twilio:\n  auth_token: "${s}"\n`],
  [
    'generic_secret',
    'named in an environment variable',
    made(ALNUM, 32),
    (s) => `DD_API_KEY=${s}\nDD_SITE=datadoghq.eu\n`,
  ],
  ['bearer_token', 'in a header', made(ALNUM, 40), (s) => `Authorization: Bearer ${s}\nAccept: */*`],
  [
    'basic_auth',
    'in a header',
    Buffer.from(`deploy:${made(ALNUM, 9)}`).toString('base64'),
    (s) => `Authorization: Basic ${s}\n`,
  ],
  [
    'connection_string',
    'ADO.NET',
    `Xy7;`.slice(0, 3) + made(ALNUM, 9),
    (s) => `Server=db;User Id=sa;Password=${s};Encrypt=true`,
  ],
  [
    'connection_string',
    'libpq',
    made(ALNUM, 9),
    (s) => `host=db.internal user=app password=${s} dbname=shop`,
  ],
  ['connection_string', 'amqp', url('amqps', 'svc', made(ALNUM, 9), 'mq.internal/%2f'), inProse],
  ['connection_string', 'jdbc', url('jdbc:mysql', 'svc', 'p@ss:w0rd', 'db/shop?useSSL=true'), inMarkdown],
  [
    'npm_token',
    '.npmrc for another registry',
    made(ALNUM, 30),
    (s) => `//npm.example.com/:_authToken="${s}"\n`,
  ],
  [
    'private_key',
    'cut off',
    pem('EC PRIVATE KEY', made(BASE64, 160)).split('\n').slice(0, 3).join('\n'),
    inMarkdown,
  ],
  [
    'private_key',
    'encrypted, with headers',
    pem('RSA PRIVATE KEY', made(BASE64, 800)).replace(
      '\n',
      '\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,AB\n\n',
    ),
    inProse,
  ],
  ['private_key', 'for PuTTY', putty(200), inMarkdown],
  ['private_key', 'for PuTTY, in JSON', putty(1000).replaceAll('\n', '\\n'), inJson],
  ['slack_token', 'of an app', `xapp-1-A${made(UPPER_32, 10)}-${made(DIGIT, 13)}-${made(HEX, 64)}`, inEnv],
  [
    'connection_string',
    'JDBC with parameters',
    'correcthorsebattery',
    (s) => `jdbc:postgresql://db.internal:5432/shop?user=app&password=${s}&ssl=true`,
  ],
  [
    'connection_string',
    'JDBC of SQL Server',
    made(ALNUM, 12),
    (s) => `jdbc:sqlserver://db:1433;databaseName=shop;user=sa;password=${s};encrypt=true`,
  ],
  [
    'connection_string',
    'JDBC of Oracle',
    made(ALNUM, 9),
    (s) => `url=jdbc:oracle:thin:app/${s}@//db:1521/shop`,
  ],
  [
    'connection_string',
    'ODBC',
    '{p@ss;word}',
    (s) => `Driver={ODBC Driver 18 for SQL Server};Server=db;Uid=sa;Pwd=${s};Encrypt=yes`,
  ],
  ['connection_string', 'ODBC with a DSN', 'swordfish', (s) => `DSN=shop;UID=app;PWD=${s}`],
  ['payment_card', 'with dots', '4539.5787.6362.1486', inProse],
  ['payment_card', 'with thin spaces', '4539\u20095787\u20096362\u20091486', inProse],
  ['payment_card', 'with narrow spaces', '4539\u202f5787\u202f6362\u202f1486', inProse],
  ['api_token', 'sk- prefix of an unknown service', `sk-${made(HEX, 32)}`, inEnv],
  ['anthropic_api_key', 'OAuth', `sk-ant-oat01-${made(BASE64URL, 95)}`, inEnv],
  ['payment_card', 'followed by expiry and code', '4539 5787 6362 1486', (s) => `${s} 12 27 123`],
  ['payment_card', 'after a word and a dash', '5500-0000-0000-0004', (s) => `mastercard-${s}.`],
];

/** A sample for each remaining kind. */
const OTHER_FORMATS: [kind: string, secret: string][] = [
  ['age_secret_key', `AGE-SECRET-KEY-1${made(UPPER_32, 58)}`],
  ['airtable_token', `pat${made(ALNUM, 14)}.${made(HEX, 64)}`],
  ['alibaba_access_key', `LTAI${made(ALNUM, 20)}`],
  ['artifactory_token', `AKCp${made(ALNUM, 69)}`],
  ['atlassian_token', `ATATT3xFfGF0${made(BASE64URL, 180)}`],
  ['azure_client_secret', `${made(ALNUM, 3)}8Q~${made(ALNUM, 34)}`],
  ['buildkite_token', `bkua_${made(HEX, 40)}`],
  ['circleci_token', `CCIPAT_${made(ALNUM, 22)}_${made(HEX, 40)}`],
  ['cloudflare_token', `cfut_${made(ALNUM, 48)}`],
  ['databricks_token', `dapi${made(HEX, 32)}-2`],
  ['discord_webhook', `https://discord.com/api/webhooks/${made(DIGIT, 19)}/${made(BASE64URL, 68)}`],
  ['docker_token', `dckr_pat_${made(BASE64URL, 27)}`],
  ['doppler_token', `dp.pt.${made(ALNUM, 43)}`],
  ['dynatrace_token', `dt0c01.${made(UPPER_32, 24)}.${made(UPPER_32, 64)}`],
  ['facebook_token', `EAA${made(ALNUM, 180)}`],
  ['figma_token', `figd_${made(BASE64URL, 40)}`],
  ['fly_token', `fm2_${made(BASE64, 200)}`],
  ['google_oauth', `GOCSPX-${made(BASE64URL, 28)}`],
  ['grafana_token', `glsa_${made(ALNUM, 32)}_${made(HEX, 8)}`],
  ['groq_api_key', `gsk_${made(ALNUM, 52)}`],
  ['heroku_token', `HRKU-AA${made(BASE64URL, 58)}`],
  ['langsmith_api_key', `lsv2_pt_${made(HEX, 32)}_${made(HEX, 10)}`],
  ['mailchimp_api_key', `${made(HEX, 32)}-us14`],
  ['mailgun_api_key', `key-${made(HEX, 32)}`],
  ['memory_service_invitation', `msi_${made(BASE64URL, 43)}`],
  ['newrelic_key', `NRAK-${made(UPPER_32, 27)}`],
  ['notion_token', `ntn_${made(DIGIT, 11)}${made(ALNUM, 35)}`],
  [
    'onepassword_token',
    `ops_${Buffer.from(`{"email":"ci@example.com","k":"${made(ALNUM, 400)}"}`).toString('base64')}`,
  ],
  ['openrouter_api_key', `sk-or-v1-${made(HEX, 64)}`],
  ['perplexity_api_key', `pplx-${made(ALNUM, 48)}`],
  ['pinecone_api_key', `pcsk_${made(ALNUM, 6)}_${made(ALNUM, 63)}`],
  ['planetscale_token', `pscale_tkn_${made(BASE64URL, 43)}`],
  ['postman_api_key', `PMAK-${made(HEX, 24)}-${made(HEX, 34)}`],
  ['pulumi_token', `pul-${made(HEX, 40)}`],
  ['replicate_token', `r8_${made(ALNUM, 37)}`],
  ['rubygems_token', `rubygems_${made(HEX, 48)}`],
  ['sentry_token', `sntryu_${made(HEX, 64)}`],
  ['sonarqube_token', `squ_${made(HEX, 40)}`],
  ['square_token', `sq0atp-${made(BASE64URL, 22)}`],
  ['supabase_key', `sb_secret_${made(BASE64URL, 31)}`],
  ['tailscale_key', `tskey-auth-${made(ALNUM, 12)}-${made(ALNUM, 24)}`],
  ['terraform_token', `${made(ALNUM, 14)}.atlasv1.${made(BASE64URL, 67)}`],
  ['vercel_token', `vcp_${made(ALNUM, 40)}`],
  ['xai_api_key', `xai-${made(ALNUM, 80)}`],
];

/** 40 look-alikes without a secret. */
const HARMLESS: [what: string, text: string][] = [
  ['a UUID', 'order 550e8400-e29b-41d4-a716-446655440000'],
  ['a UUID of digits', '41111111-1111-4111-8111-111111111111'],
  ['a git commit', `fixed in ${made(HEX, 40)}`],
  ['a SHA-256', `sha256sum: ${made(HEX, 64)}  image.iso`],
  ['an image digest', `postgres@sha256:${made(HEX, 64)}`],
  ['npm integrity', `"integrity": "sha512-${made(BASE64, 86)}=="`],
  ['an image in base64', `data:image/png;base64,iVBORw0KGgo${made(BASE64, 4000)}=`],
  ['a trace context', 'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
  ['an ISBN', 'ISBN 978-3-16-148410-0 and 9783161484100'],
  ['an EAN that passes Luhn', 'EAN 4006381333931 and 4000417025005'],
  ['an order number that fails Luhn', 'order 4539578763621487'],
  ['an order number in groups that fails Luhn', 'order 4539 5787 6362 1487'],
  ['a number that belongs to no issuer', 'account 1234567812345670'],
  ['a number longer than a card number', '94532015112830366123456'],
  ['phone numbers', 'call +49 151 2345 6789 or (415) 555-2671 or 0800 123 4567 89'],
  ['an IMEI', 'IMEI 490154203237518'],
  ['an IBAN', 'IBAN DE89 3704 0044 0532 0130 00'],
  ['a Unix time', 'at 1732133333123 ms, 1732133333123456 us, 1732133333123456789 ns'],
  ['an ISO time', '2026-11-20T20:38:14.123456789Z'],
  ['a decimal', 'pi is 3.1415926535897932384, ratio 0.4532015112830366'],
  ['a table', 'counts: 4024 0071 0903 6127 4532 0151 1283 0366 4556 7375 8689 9855'],
  ['a snowflake', 'message 1174023498723409920 in channel 987654321098765432'],
  ['a URL without a user', 'postgres://localhost/db and redis://cache:6379/0'],
  ['a URL without a password', 'postgres://app@db.internal:5432/shop, https://git@github.com/a/b.git'],
  ['a URL with a placeholder', `postgres://app:\${DB_PASSWORD}@db/shop, mysql://app:<password>@db/shop`],
  ['a URL with a port and an @', 'https://registry.example.com:8080/@scope/pkg@1.2.3'],
  ['an e-mail address', 'mailto:ana@example.com?subject=key:value'],
  ['placeholders', `API_KEY=<API_KEY> TOKEN=\${TOKEN} SECRET={{ secret }} PASSWORD=$PASSWORD`],
  ['a token masked with x characters', `ghp_${'x'.repeat(36)} sk_live_${'x'.repeat(24)}`],
  ['a Slack placeholder', 'xoxb-your-bot-token-here'],
  ['redacted text', 'token [REDACTED:github_token], url [REDACTED:connection_string]'],
  ['a public key', `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${made(BASE64, 43)} ana@laptop`],
  ['a certificate', pem('CERTIFICATE', `MIID${made(BASE64, 1000)}`)],
  [
    'a PEM placeholder',
    `${'-'.repeat(5)}BEGIN PRIVATE KEY${'-'.repeat(5)}\n...\n${'-'.repeat(5)}END PRIVATE KEY${'-'.repeat(5)}`,
  ],
  ['a publishable key', `pk_live_${made(ALNUM, 24)}`],
  ['an AWS role id', `role AROA${made(UPPER_32, 16)}`],
  ['a JWT header alone', `a JWT begins with ${base64url({ alg: 'HS256', typ: 'JWT' })}.`],
  ['code', 'const token = process.env.GITHUB_TOKEN; connect(host=HOST, password=settings.DB_PASSWORD)'],
  ['counts of tokens', 'max_tokens: 4096, token: 1234567890123456, next_token = page-2026-11-20'],
  ['names', 'secret: prod/billing/database-credentials, npm_config_registry_authentication_type'],
];

/** Known false positives, which have the same form as a secret. */
const FALSE_POSITIVES: [what: string, text: string, kind: string][] = [
  ['an order number with an issuer prefix that passes Luhn', 'order 4539578763621486', 'payment_card'],
  ["the networks' test cards", 'test with 4242 4242 4242 4242', 'payment_card'],
  ['a URL in a manual', url('postgres', 'scott', 'tiger', 'localhost/test'), 'connection_string'],
];

describe('samples with secrets and look-alikes', () => {
  it('contains 40 secrets and 40 look-alikes as samples', () => {
    expect([FOUND.length, MISSED.length, HARMLESS.length]).toStrictEqual([36, 4, 40]);
  });

  it.each([...FOUND, ...BY_CONTEXT])(
    'masks a secret with the kind %s: %s',
    async (kind, _what, secret, context) => {
      expect(await redact(context(secret))).toBe(context(`[REDACTED:${kind}]`));
      expect(await kindsIn(await redact(context(secret)))).toStrictEqual([]);
    },
  );

  it.each(OTHER_FORMATS)('masks a secret with the kind %s in another format', async (kind, secret) => {
    expect(await redact(inProse(secret))).toBe(inProse(`[REDACTED:${kind}]`));
  });

  it('contains a sample for every kind of secret', () => {
    const sampled = new Set([...FOUND, ...BY_CONTEXT, ...OTHER_FORMATS].map(([kind]) => kind));
    expect([...sampled, KEPT_OUT].toSorted()).toStrictEqual([...SECRET_KINDS].toSorted());
  });

  it.each(MISSED)('does not mask the secret, as a known limitation: %s', async (_what, text) => {
    expect(await kindsIn(text)).toStrictEqual([]);
  });

  it.each(ALSO_MISSED)('does not mask another secret, as a known limitation: %s', async (_what, text) => {
    expect(await kindsIn(text)).toStrictEqual([]);
  });

  it.each(HARMLESS)('ignores the harmless text %s', async (_what, text) => {
    expect(await kindsIn(text)).toStrictEqual([]);
  });

  it.each(FALSE_POSITIVES)('masks a harmless text, as a known limitation: %s', async (_what, text, kind) => {
    expect(await kindsIn(text)).toStrictEqual([kind]);
  });
});

describe('generated values', () => {
  it.each<[string, number, () => string]>([
    ['password: 16 to 20 letters and digits', 290, () => `password: ${random(ALNUM, 16 + (state % 5))}`],
    ['Authorization: Bearer 43 of base64url', 297, () => `Authorization: Bearer ${random(BASE64URL, 43)}`],
    ['jdbc: … password=', 300, () => `jdbc:mysql://db/shop?user=app&password=${random(ALNUM, 12)}`],
    ['ODBC', 300, () => `Driver={MySQL};Server=db;Uid=app;Pwd={${random(ALNUM, 12)}};`],
  ])('masks nearly all of 300 random values: %s', async (_, least, text) => {
    let found = 0;
    for (let i = 0; i < 300; i++) found += (await scanner.scan(text())).length;
    expect(found).toBeGreaterThanOrEqual(least);
  });

  it.each([
    'password: userPasswordFromEnvironment, token: getAccessTokenFromRequest',
    'access_token: XMLHttpRequestConfiguration',
    'Authorization: Bearer your-personal-access-token-here',
    'secret: internationalization, api_key: config.services.billing.apiKey',
    `jdbc:postgresql://localhost/db?user=app&password=\${DB_PASSWORD}`,
    'Driver={ODBC Driver 18};Server=db;Uid=sa;Pwd={db_password};',
    'version 4111.1111.1111.1112, ratio 4.5395787636214860 and 1.4539578763621486',
  ])('ignores ordinary words: %s', async (text) => {
    expect(await scanner.scan(text)).toStrictEqual([]);
  });
});

describe('masking secrets', () => {
  it('masks the whole secret if two detectors match different parts', async () => {
    const token = `ghp_${made(ALNUM, 36)}`;
    expect(await redact(`clone ${url('https', token, 'x-oauth-basic', 'github.com/a/b')} now`)).toBe(
      'clone [REDACTED:basic_auth_url] now',
    );
    expect(await redact(`API_KEY=${token}\n`)).toBe('API_KEY=[REDACTED:github_token]\n');
  });

  it('covers a password that contains URL delimiters', async () => {
    for (const password of ['p@ss@word', 'a/b/c/d', 'x#y#z#', 'w?h?y?', 'q:w:e:r']) {
      expect(await redact(`db ${url('postgres', 'app', password, 'db/x?sslmode=require')} end`)).toBe(
        'db [REDACTED:connection_string] end',
      );
    }
  });

  it('masks adjacent secrets completely', async () => {
    const tokens = [`ghp_${made(ALNUM, 36)}`, `AKIA${made(UPPER_32, 16)}`, `ghp_${made(ALNUM, 36)}`];
    expect(await redact(`${tokens.join('')} ${tokens.join('.')}`)).toBe(
      '[REDACTED:github_token] [REDACTED:github_token].[REDACTED:aws_access_key].[REDACTED:github_token]',
    );
    expect(await redact('4539578763621486 5500000000000004\n4539 5787 6362 1486 3782 822463 10005')).toBe(
      '[REDACTED:payment_card] [REDACTED:payment_card]\n[REDACTED:payment_card] [REDACTED:payment_card]',
    );
  });

  it('leaves the text after a URL unchanged in JSON, Markdown, and escaped JSON', async () => {
    const dsn = url('postgres', 'app', made(ALNUM, 10), 'db/x');
    for (const [before, after] of [
      ['{"a":"', '","b":[1,2]}'],
      ['[db](', ') and more'],
      ['| ', ' | owner |'],
      ['{\\"a\\":\\"', '\\",\\"b\\":1}'],
      ['', '.\nNext line'],
      ['<', '>'],
    ]) {
      expect(await redact(`${before}${dsn}${after}`)).toBe(`${before}[REDACTED:connection_string]${after}`);
    }
  });
});

describe('evading the masking', () => {
  const token = `ghp_${made(ALNUM, 36)}`;

  it('masks a secret even if secretlint comments before it disable the check', async () => {
    expect(await redact(`// secretlint-disable\n# secretlint-disable-next-line\n${token}`)).toBe(
      '// secretlint-disable\n# secretlint-disable-next-line\n[REDACTED:github_token]',
    );
  });

  it('masks a secret in or after a forged placeholder', async () => {
    expect(await redact(`[REDACTED:${token}]`)).toBe('[REDACTED:[REDACTED:github_token]]');
    expect(await redact(`[REDACTED:jwt]${token}`)).toBe('[REDACTED:jwt][REDACTED:github_token]');
  });

  it('masks the right characters after a byte order mark, which shifts offsets in @secretlint/core', async () => {
    expect(await redact(`\ufeff${token}`)).toBe('\ufeff[REDACTED:github_token]');
  });
});

describe('scanner properties', () => {
  const secret = fc.constantFrom(
    ...[...FOUND, ...BY_CONTEXT].map(([, , value, context]) => ({ value, text: context(value) })),
  );
  const noise = fc.oneof(
    fc.string({ unit: character, maxLength: 30 }),
    fc.string({ unit: 'grapheme', maxLength: 30 }),
    fc.constantFrom(
      '😀',
      '𝒜𝒷',
      'e\u0301',
      '\ufeff',
      '\r\n',
      '\ud83d',
      '://',
      '@',
      ':',
      '"',
      '\\n',
      ' = ',
      'Bearer ',
      'password=',
    ),
    fc.constantFrom(...HARMLESS.map(([, text]) => text)),
    fc.constantFrom(...SECRET_KINDS.map(placeholder)),
  );

  it('masks every secret among random text', { tags: 'random' }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(noise, secret), { maxLength: 6 }), noise, async (pieces, last) => {
        const masked = await redact(
          [...pieces.flatMap(([text, { text: sample }]) => [text, sample]), last].join('\n'),
        );
        for (const [, { value }] of pieces) expect(masked).not.toContain(value);
      }),
      fuzzParameters(300),
    );
  });

  it('finds no secret in text that was masked before', { tags: 'random' }, async () => {
    const piece = fc.oneof(
      noise,
      secret.map(({ value }) => value),
      secret.map(({ text }) => text),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 10 }),
        fc.constantFrom('', ' ', '-', '.', '\n'),
        async (pieces, glue) => {
          const masked = await redact(pieces.join(glue));
          expect(await scanner.scan(masked)).toStrictEqual([]);
        },
      ),
      fuzzParameters(1000),
    );
  });

  it('returns sorted findings that neither overlap nor split a character, and keeps all other text', {
    tags: 'random',
  }, async () => {
    const piece = fc.oneof(
      noise,
      secret.map(({ value }) => value),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 10 }),
        fc.constantFrom('', '😀', ' '),
        async (pieces, glue) => {
          const text = pieces.join(glue);
          const secrets = await scanner.scan(text);
          let end = 0;
          const kept: string[] = [];
          for (const found of secrets) {
            expect(found.start).toBeGreaterThanOrEqual(end);
            expect(found.end).toBeGreaterThan(found.start);
            expect(SECRET_KINDS).toContain(found.kind);
            for (const offset of [found.start, found.end]) expect(splitsCharacter(text, offset)).toBe(false);
            kept.push(text.slice(end, found.start), `[REDACTED:${found.kind}]`);
            end = found.end;
          }
          expect(end).toBeLessThanOrEqual(text.length);
          expect(mask(text, secrets)).toBe([...kept, text.slice(end)].join(''));
        },
      ),
      fuzzParameters(500),
    );
  });

  it('counts offsets in UTF-16 code units', async () => {
    const token = `ghp_${made(ALNUM, 36)}`;
    expect(await scanner.scan(`😀😀 ${token} 😀`)).toStrictEqual<Secret[]>([
      { kind: 'github_token', start: 5, end: 45 },
    ]);
  });
});

function splitsCharacter(text: string, offset: number): boolean {
  return /[\ud800-\udbff]/.test(text[offset - 1] ?? '') && /[\udc00-\udfff]/.test(text[offset] ?? '');
}

/** A backtracking pattern would take minutes on one of the texts, and the test would time out. */
const LINEAR = 'scans 1 MiB of %s in linear time';

async function scanRepeated(_what: string, piece: string): Promise<void> {
  const masked = await redact(piece.repeat(Math.ceil(2 ** 20 / piece.length)));
  expect(masked.length).toBeGreaterThan(0);
}

it.each([
  ['letters', 'A'],
  ['near-URLs', 'a://b:c/'],
])(LINEAR, scanRepeated);

it.each([
  ['digits', '4'],
  ['groups of digits', '4111 '],
  ['single digits', '1 '],
  ['digits and dashes', '4111-'],
  ['card numbers', '4539578763621486 '],
  ['key ids', `AKIA${made(UPPER_32, 16)} `],
  ['base64', made(BASE64, 5000)],
  ['hexadecimal', made(HEX, 5000)],
  ['token prefixes', 'ghp_'],
  ['Slack token prefixes', 'xoxb-'],
  ['PuTTY files', 'PuTTY-User-Key-File-3'],
  ['PuTTY keys without a MAC', `Private-Lines: 9999\n${made(BASE64, 160)}\n`],
  ['Oracle URLs', 'jdbc:oracle:thin:a/'],
  ['passwords in braces', 'Server=a;pwd={'],
  ['OpenAI key prefixes', 'sk-proj-'],
  ['JWT prefixes', 'eyJ'],
  ['parts of JWTs', 'eyJabcdefgh.'],
  ['PEM headers', '-----BEGIN PRIVATE KEY-----'],
  ['PEM headers with a body', `-----BEGIN PRIVATE KEY-----\n${made(BASE64, 160)}\n`],
  ['URL prefixes', '://'],
  ['URL prefixes with credentials', 'postgres://a:b'],
  ['secret names', 'api_key: '],
  ['passwords', 'password='],
  ['upper case and underscores', 'A_'],
  ['placeholders', '[REDACTED:jwt]'],
  ['GitHub tokens joined by dots', `ghp_${made(ALNUM, 36)}.`],
  ['SendGrid key prefixes', `SG.a.${'_'.repeat(258)} `],
  ['Linear key prefixes', 'lin_api_'],
  ['npm token prefixes', 'npm_'],
  ['1Password token prefixes', `ops_ey${'fQ'.repeat(641)}`],
  ['AWS secret prefixes', `secretkey${' '.repeat(5000)}`],
  ['GitHub URL prefixes', 'http://:x-oauth-basic@github.co'],
  ['unterminated JWTs', `eyJabcdefgh.eyJ${'a'.repeat(2000)}.`],
  ['libpq connection strings', 'host=a password=x1y2z3 '],
  ['quoted passwords', 'password="'],
])(LINEAR, { tags: 'long' }, scanRepeated);

it.each([
  ['punctuation after a URL', 'https://u:pa55word1@h', ')', 'x'],
  ['whitespace after a PEM header', '-----BEGIN PRIVATE KEY-----', '\n', ''],
  ['body fragments after a PEM header', '-----BEGIN PRIVATE KEY-----\n', 'aaaaaaaaaaaaaaaa ', '-'],
  ['whitespace after PEM header fields', '-----BEGIN PRIVATE KEY-----abc: '.repeat(100), ' ', ''],
  ['letters after a JWT prefix', 'eyJabcdefgh.eyJ', 'a', ''],
])(LINEAR, { tags: 'long' }, async (_what, start, piece, end) => {
  const text = start + piece.repeat(2 ** 20 / piece.length) + end;
  expect((await redact(text)).length).toBeGreaterThan(0);
});

it.each(['.', ')', ').', '!?', '}}*_'])(
  'keeps the punctuation %s after a masked URL',
  async (punctuation) => {
    expect(await redact(`(see https://u:pa55word1@h/p${punctuation} more`)).toBe(
      `(see [REDACTED:basic_auth_url]${punctuation} more`,
    );
  },
);
