import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import { type Finding, isPlaceholder } from './finding.ts';
import type { SecretKind } from './kinds.ts';

/*
 * secretlint's rules without @secretlint/core. The core leaks performance entries of every run (fixed in 13, which needs Node 22:
 * secretlint/secretlint#1633, #1653), compares all messages with one another, and lets a `secretlint-disable` comment in the text
 * switch rules off.
 */

/** The part of secretlint's rule interface (`SecretLintRuleCreator` of @secretlint/types) that is used here. */
interface Rule {
  meta: { id: string };
  create(context: RuleContext, options: object): { file?(source: RuleSource): void | Promise<void> };
}
interface RuleContext {
  sharedOptions: object;
  createTranslator(messages: unknown): (messageId: string, data?: Record<string, unknown>) => Message;
  report(descriptor: { message: Message; range: readonly [number, number] }): void;
  ignore(): void;
}
interface Message {
  messageId: string;
  data: Record<string, unknown>;
}
interface RuleSource {
  content: string;
  ext: string;
  contentType: 'text';
}

const LEFT_OUT = new Set([
  // Lets the scanned text switch the other rules off.
  '@secretlint/secretlint-rule-filter-comments',
  // Judges a file by its extension and condemns all of it; the private key inside is found by our own detector.
  '@secretlint/secretlint-rule-gcp',
  // Their matches run on over quotes and commas; url-credentials.ts finds more schemes and ends where the URL does.
  '@secretlint/secretlint-rule-basicauth',
  '@secretlint/secretlint-rule-database-connection-string',
  // Goes back 16,000 times for each start of a key; token-formats.ts has the format that keys have.
  '@secretlint/secretlint-rule-sendgrid',
  // Goes back 96 times for each start of a key; token-formats.ts has the format that keys have.
  '@secretlint/secretlint-rule-linear',
  // Looks 256 characters ahead at each `http://` for what is not reported here; token-formats.ts has its tokens.
  '@secretlint/secretlint-rule-npm',
  // Neither short nor encrypted nor PGP keys; private-keys.ts finds all of them.
  '@secretlint/secretlint-rule-privatekey',
]);

const OPTIONS: Record<string, object> = { '@secretlint/secretlint-rule-aws': { enableIDScanRule: true } };

/** secretlint's message ids. `undefined`: not a secret, or found better elsewhere. A match that fails `only` is dropped. */
const KINDS: Record<string, { kind: SecretKind; only?: RegExp } | undefined> = {
  AWSAccountID: undefined,
  // AIDA, AROA, AGPA and the like name users, roles and groups: they open nothing.
  AWSAccessKeyID: { kind: 'aws_access_key', only: /^(?:AKIA|ASIA|A3T)/ },
  AWSSecretAccessKey: { kind: 'aws_secret_key' },
  SLACK_TOKEN: { kind: 'slack_token', only: /\d/ },
  IncomingWebhook: { kind: 'slack_webhook' },
  SHOPIFY_KEY: { kind: 'shopify_token' },
  GITHUB_TOKEN: { kind: 'github_token' },
  OPENAI_TOKEN: { kind: 'openai_api_key' },
  ANTHROPIC_API_KEY: { kind: 'anthropic_api_key' },
  OPS_TOKEN: { kind: 'onepassword_token' },
};

/** Detects what secretlint's recommended rules find. */
export async function findBySecretlint(text: string): Promise<Finding[]> {
  const findings: Finding[] = [];
  const source: RuleSource = { content: text, ext: '.txt', contentType: 'text' };
  for (const rule of rules as readonly Rule[]) {
    if (LEFT_OUT.has(rule.meta.id)) continue;
    const context: RuleContext = {
      sharedOptions: {},
      createTranslator:
        () =>
        (messageId, data = {}) => ({ messageId, data }),
      report: ({ message, range }) => {
        // A rule that a later version brings is worth having before it is named here.
        const as = message.messageId in KINDS ? KINDS[message.messageId] : { kind: 'api_token' as const };
        if (as === undefined) return;
        const [start, end] = secretRange(text, message, range);
        const secret = text.slice(start, end);
        if (as.only?.test(secret) === false || isPlaceholder(secret)) return;
        findings.push({ kind: as.kind, start, end });
      },
      ignore: () => {},
    };
    await rule.create(context, OPTIONS[rule.meta.id] ?? {}).file?.(source);
  }
  return findings;
}

/**
 * Returns the position of the secret. A rule whose pattern has the secret in a group (`aws_secret_access_key = …`) reports the start
 * of the whole match with the length of the group: good enough for a linter, but masking that would leave the tail of
 * the secret. What it is comes with the message.
 */
function secretRange(text: string, { data }: Message, range: readonly [number, number]): [number, number] {
  const values = Object.values(data).filter((value) => typeof value === 'string' && value !== '');
  const inRange = text.slice(range[0], range[1]);
  if (values.length === 0 || values.includes(inRange)) return [range[0], range[1]];
  const secret = (values as string[]).reduce((a, b) => (b.length > a.length ? b : a));
  const start = text.indexOf(secret, range[0]);
  return start === -1 ? [range[0], range[1]] : [start, start + secret.length];
}
