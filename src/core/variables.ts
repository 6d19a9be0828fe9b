/*
 * The service's environment variables, by section in docs/settings.md. `npm run generate` writes that page and
 * `.env.example` from these declarations.
 */
import { z } from 'zod';
import type { Unit } from './lib/units.ts';
import { pinnedPathsSchema } from './tenants/pinned-paths.ts';
import {
  ALL_SETTINGS,
  isNumberSetting,
  MAX_TEXT_BYTES,
  type Setting,
  type SettingVariables,
} from './tenants/settings.ts';
import {
  algorithms,
  baseUrl,
  databaseUrl,
  directory,
  flag,
  host,
  httpUrl,
  integer,
  milliseconds,
  networks,
  otlpExporter,
  otlpProtocol,
  publicKey,
  quantity,
  roles,
  text,
  trustedProxies,
  urlWithoutUser,
  type ValueMeta,
} from './variable-schemas.ts';

interface Documentation {
  /** One sentence, without links. */
  readonly effect: string;
  /** Further Markdown, with links relative to `docs`. */
  readonly more?: string;
  /** A value other than the default. */
  readonly example: string;
  /** Markdown for a default that depends on other variables. */
  readonly computed?: string;
  /** Meaning of 0. The table with tenant settings has its own. */
  readonly zero?: string;
}

const documentation = z.registry<Documentation>();

const MEBIBYTE = 1024 * 1024;

/** Returns the schema for the variable that sets a setting's default. */
function settingVariable(setting: Setting): z.ZodType {
  // The service's limit is always set. Its default depends on `MAX_FILE_BYTES`.
  if (setting.variable === 'MAX_BODY_BYTES') return quantity('bytes', 1024, MAX_TEXT_BYTES).optional();
  if (isNumberSetting(setting)) return quantity(setting.unit, 0, setting.max).default(setting.default);
  if (!('choices' in setting))
    return pinnedPathsSchema(setting)
      .meta({ form: `up to ${setting.maxPaths} paths` })
      .default(setting.default);
  const choices = Object.keys(setting.choices);
  const error = `must be ${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`;
  return z.enum(choices, { error }).default(setting.default);
}

const SETTING_DOCUMENTATION: Readonly<Record<keyof SettingVariables, Documentation>> = {
  MAX_FILE_BYTES: { effect: 'Maximum size of a file, in UTF-8 bytes.', example: '10MB' },
  MAX_TENANT_BYTES: { effect: 'Maximum size of all files of a tenant together.', example: '200MB' },
  MAX_TENANT_FILES: {
    effect: 'Maximum number of files in a tenant.',
    more: 'The number of directories has the same limit.',
    example: '500',
  },
  MAX_VIEW_CHARS: {
    effect: 'Maximum length of a `view` result or a snippet, in UTF-16 units.',
    more:
      'Longer results are truncated, with a note. `16000` matches ' +
      "[Claude's expectation](agents.md#settings-that-match-the-models-expectations).",
    example: '16000',
  },
  RATE_LIMIT_PER_MINUTE: {
    effect: 'Maximum number of requests from a tenant, per minute and replica.',
    more: 'Further requests get 429. See [rate](capacity.md#rate).',
    example: '600',
  },
  MAX_BODY_BYTES: {
    effect: 'Maximum size of a request body.',
    more: "A tenant's own limit can only be lower.",
    computed: '6 × `MAX_FILE_BYTES` + 64 KB',
    example: '10MB',
  },
  MEMORY_TTL_DAYS: {
    effect: 'Days after which files are deleted that were neither read nor written.',
    example: '90d',
  },
  HISTORY_DAYS: {
    effect: 'Days for which the history keeps superseded versions and deleted files.',
    more: 'The last 10 versions of an existing file are kept longer. See [retention](history.md#retention).',
    example: '90d',
  },
  MAX_TENANT_HISTORY_BYTES: {
    effect: "Maximum size of a tenant's history, with its index entries.",
    more: 'A write beyond it deletes the oldest superseded versions of any file; no write is rejected.',
    example: '5GB',
  },
  MAX_TENANT_DRAFTS: {
    effect: 'Maximum number of open drafts in a tenant.',
    more: 'See [drafts](drafts.md#limits).',
    example: '100',
  },
  MAX_TENANT_DRAFT_BYTES: {
    effect: "Maximum size of the files in all of a tenant's open drafts.",
    more: 'The size is counted when a draft is created. Each draft can grow to the size that was available then.',
    example: '1GB',
  },
  DRAFT_DAYS: { effect: 'Days after which an unused draft is closed.', example: '90d' },
  READ_LOG_DAYS: {
    effect: 'Days for which the read trail records which files were read, by whom, and when.',
    more: 'See [read trail](read-trail.md).',
    example: '30d',
  },
  READ_LOG: {
    effect:
      "Records in the read trail: one for a day's reads of a file by an actor (`daily`), or one for each read (`each`).",
    more: 'With `each`, every `tool_use` ID is found, and the trail grows with each read.',
    example: 'each',
  },
  PROVENANCE: {
    effect: 'Whether views and searches say who wrote each line last, and when.',
    more: 'With `on_request`, only for callers that ask for it. See [provenance](provenance.md).',
    example: 'on_request',
  },
  SECRETS: {
    effect: 'Handling of secrets in written text: store them, mask them, or reject the write.',
    more:
      'Known examples, such as `AKIAIOSFODNN7EXAMPLE` and `postgres://u:pass@h/db`, are not detected: ' +
      'try it with `postgres://u:hunter42@h/db`. See [keep secrets out](keep-secrets-out.md).',
    example: 'mask',
  },
  CREATE_EXISTING: {
    effect: 'Effect of `create` on an existing file: reject the call, or overwrite the file.',
    example: 'overwrite',
  },
  MAX_CONTEXT_CHARS: {
    effect: "Maximum length of the snapshot in an agent's [context](context.md), in UTF-16 units.",
    more: 'The snapshot names the files that are left out. `MAX_VIEW_CHARS` applies too.',
    example: '40000',
  },
  PINNED_PATHS: {
    effect: "Files and directories whose contents are in an agent's [context](context.md).",
    more: 'Paths are separated by commas. Files in `/memories/pinned` are always pinned.',
    example: '/memories/user.md,/memories/team/rules',
  },
};

const settingVariables = Object.fromEntries(
  ALL_SETTINGS.map(([, setting]) => {
    const { variable } = setting;
    return [
      variable,
      settingVariable(setting).register(
        documentation,
        SETTING_DOCUMENTATION[variable as keyof SettingVariables],
      ),
    ];
  }),
) as { [name in Exclude<keyof SettingVariables, 'MAX_BODY_BYTES'>]: z.ZodType<SettingVariables[name]> } & {
  MAX_BODY_BYTES: z.ZodOptional<z.ZodType<number>>;
};

const LISTENER = {
  HOST: host.default('127.0.0.1').register(documentation, {
    effect: 'Address to listen on.',
    more: 'Use `0.0.0.0` to accept connections from other machines.',
    example: '0.0.0.0',
  }),
  PORT: integer(0, 65535).default(8080).register(documentation, {
    effect: 'Port to listen on.',
    zero: 'a free port',
    example: '9090',
  }),
  PUBLIC_URL: baseUrl.optional().register(documentation, {
    effect: 'URL at which callers reach the service.',
    more: 'MCP hosts learn from it where to sign in, and the console shows it with a new key.',
    computed: 'the request URL',
    example: 'https://memory.example.com',
  }),
  MCP: z.enum(['on', 'off'], { error: 'must be on or off' }).default('on').register(documentation, {
    effect: 'Whether the service has the MCP endpoint `/mcp`.',
    more: 'See the [MCP server](../clients/mcp/README.md#on-the-service-mcp).',
    example: 'off',
  }),
  TRUST_PROXY: trustedProxies.default(false).register(documentation, {
    effect: 'Proxies whose `X-Forwarded-For` header is trusted.',
    more:
      'Set it behind a proxy, so that limits per address work. Ports and the form `for=` are ignored, and an ' +
      "`unknown` client has its proxy's address. See [reverse proxy](production.md#4-a-reverse-proxy).",
    example: '10.0.0.0/8',
  }),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      error: 'must be fatal, error, warn, info, debug, trace or silent',
    })
    .default('info')
    .register(documentation, {
      effect: 'Lowest level of the log lines to write.',
      more: 'Contents and paths are never logged. See [log](observability.md#log).',
      example: 'debug',
    }),
};

const ADMIN = {
  ADMIN_PORT: integer(0, 65535).optional().register(documentation, {
    effect: 'Port of the admin API and the console.',
    more: 'See [admin API](admin-api.md) and [console](console.md).',
    computed: 'off',
    zero: 'a free port',
    example: '8081',
  }),
  ADMIN_HOST: host.default('127.0.0.1').register(documentation, {
    effect: 'Address of the admin listener.',
    more: 'Without authentication, it must be a loopback address.',
    example: '10.0.0.5',
  }),
};

const SIGN_IN = {
  OIDC_ISSUER: urlWithoutUser.optional().register(documentation, {
    effect: 'URL of your OpenID Connect provider, which enables the sign-in.',
    more: 'It must begin with `https://`, except on this machine.',
    example: 'https://id.example.com/realms/main',
  }),
  OIDC_CLIENT_ID: text('any text').optional().register(documentation, {
    effect: "The console's client ID at the provider.",
    example: 'memory-console',
  }),
  OIDC_CLIENT_SECRET: text('any text').optional().register(documentation, {
    effect: "The console's client secret at the provider.",
    more: 'A new secret ends all sessions.',
    example: 'q7Xw2n0VbR5tLk9s',
  }),
  CONSOLE_URL: baseUrl.optional().register(documentation, {
    effect: 'URL at which browsers reach the console.',
    more: 'It must begin with `https://`, except on this machine.',
    example: 'https://memory-admin.example.com',
  }),
  OIDC_SCOPE: text('scopes, separated by spaces').default('openid profile email').register(documentation, {
    effect: 'Scopes to request.',
    example: 'openid profile email groups',
  }),
  OIDC_ROLES_CLAIM: text('a claim, or the path to it').default('roles').register(documentation, {
    effect: 'ID token claim with the roles.',
    example: 'realm_access.roles',
  }),
  OIDC_ROLES: roles
    .prefault('memory-admin=read_write,memory-operator=operate,memory-viewer=read_only')
    .register(documentation, {
      effect: 'Access of each role.',
      more: 'The access is `read_write`, `operate`, or `read_only`.',
      example: 'admins=read_write,support=operate',
    }),
  OIDC_SESSION_HOURS: quantity('hours', 1, 168).default(8).register(documentation, {
    effect: 'Duration of a session.',
    more: 'See [sessions](sign-in.md#sessions).',
    example: '48h',
  }),
};

const DATABASE = {
  DATABASE_URL: databaseUrl.optional().register(documentation, {
    effect: 'URL of the Postgres database to use instead of the embedded database.',
    more:
      'Special characters are percent-encoded. [Postgres](production.md#1-postgres) explains `sslmode`, ' +
      '`sslrootcert`, and `options`.',
    example: 'postgres://memory:password@db.example.com:5432/memory?sslmode=verify-full',
  }),
  DATA_DIR: directory.default('./data').register(documentation, {
    effect: 'Directory of the embedded database, for evaluation.',
    more: 'It has no effect with `DATABASE_URL`.',
    example: '/var/lib/memory-service',
  }),
  DB_POOL_MAX: integer(1, 1000).default(10).register(documentation, {
    effect: 'Maximum number of connections to Postgres, per replica.',
    more: 'Batches use up to 4 more. See [database](capacity.md#database).',
    example: '20',
  }),
  DB_BATCH_SIZE: integer(1, 1000).default(32).register(documentation, {
    effect: 'Maximum number of calls that share a statement.',
    more: '`1` disables batching. On Citus it is always 1.',
    example: '64',
  }),
  DB_CONNECT_TIMEOUT_MS: milliseconds(1).default(5000).register(documentation, {
    effect: 'Timeout for a new connection, or for a free one from the pool.',
    example: '3s',
  }),
  DB_STATEMENT_TIMEOUT_MS: milliseconds(0).default(10_000).register(documentation, {
    effect: 'Timeout for a statement.',
    more: 'It has no effect on the embedded database.',
    zero: 'no timeout',
    example: '5s',
  }),
  DB_LOCK_TIMEOUT_MS: milliseconds(0).default(5000).register(documentation, {
    effect: 'Timeout for a lock.',
    zero: 'no timeout',
    example: '3s',
  }),
  DB_IDLE_IN_TRANSACTION_TIMEOUT_MS: milliseconds(0).default(10_000).register(documentation, {
    effect: 'Timeout for an idle transaction.',
    zero: 'no timeout',
    example: '30s',
  }),
  DB_START_TIMEOUT_MS: milliseconds(0).default(15_000).register(documentation, {
    effect: 'Time for which a start waits until the database is reachable.',
    zero: 'one attempt',
    example: '60s',
  }),
};

const AUTHENTICATION = {
  AUTH: z
    .enum(['none', 'keys', 'jwt'], { error: 'must be none, keys or jwt' })
    .optional()
    .register(documentation, {
      effect: 'Credentials of callers.',
      more: '`keys` means API keys, and `jwt` means tokens of your issuer.',
      computed: '`keys` if `DATABASE_URL` is set or `HOST` is not a loopback address, otherwise `none`',
      example: 'jwt',
    }),
  ALLOW_UNAUTHENTICATED: flag.default(false).register(documentation, {
    effect: 'Whether `AUTH=none` is allowed on an address that other machines can reach.',
    example: 'true',
  }),
  AUTO_CREATE_TENANTS: flag.optional().register(documentation, {
    effect: 'Whether the first write to an unknown tenant creates it.',
    computed: '`true` for service keys and `AUTH=none`',
    example: 'false',
  }),
  BOOTSTRAP: text('JSON').optional().register(documentation, {
    effect: 'Tenants and keys to create at the start.',
    more: 'See [initial tenants](lifecycle.md#initial-tenants-and-keys).',
    example: '{"tenants":[{"id":"acme"}]}',
  }),
  BOOTSTRAP_FILE: text('a file with JSON').optional().register(documentation, {
    effect: 'File with the JSON of `BOOTSTRAP`.',
    more: 'Set this or `BOOTSTRAP`.',
    example: '/etc/memory-service/bootstrap.json',
  }),
  INSTALLATION_SECRET: z
    .string()
    .min(32, { error: 'must have at least 32 characters' })
    .meta({ form: 'a text of at least 32 characters' } satisfies ValueMeta)
    .optional()
    .register(documentation, {
      effect: 'Secret that protects the hashes of texts that are kept out.',
      more:
        'All replicas and commands need the same value. See ' +
        '[texts that are kept out](security.md#texts-that-are-kept-out).',
      computed: 'created in the database',
      example: 'a4c1f6b0e8d24b7f9c3a5e1d7b2f8c60',
    }),
  AUTH_CACHE_SECONDS: quantity('seconds', 1, 30).default(10).register(documentation, {
    effect: 'Time for which keys and tenant settings are cached.',
    more: 'A revoked key stops working within this time.',
    example: '20s',
  }),
  AUTH_FAILURES_PER_MINUTE: integer(0).default(30).register(documentation, {
    effect: 'Failed attempts per minute and address before unknown keys are rejected without a lookup.',
    more: 'Also the number of wrong [invitations](sharing.md) per minute and tenant.',
    zero: 'no limit',
    example: '100',
  }),
};

const TOKENS = {
  JWKS_URL: urlWithoutUser.optional().register(documentation, {
    effect: "URL of the issuer's keys.",
    more: 'Set this or `JWT_PUBLIC_KEY`.',
    example: 'https://id.example.com/jwks',
  }),
  JWT_PUBLIC_KEY: publicKey.optional().register(documentation, {
    effect: "The issuer's public key as PEM.",
    example:
      '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAWRVt2TAC04q9Lg9S7m4DImt6La2VqO+VyIYZGXrUlmw=\n' +
      '-----END PUBLIC KEY-----',
  }),
  JWT_ISSUER: text('any text').optional().register(documentation, {
    effect: 'Required `iss` claim.',
    example: 'https://id.example.com',
  }),
  JWT_AUDIENCE: text('any text').optional().register(documentation, {
    effect: 'Required `aud` claim.',
    example: 'memory',
  }),
  JWT_TENANT_CLAIM: text('the name of a claim').default('tenant').register(documentation, {
    effect: 'Claim that names the tenant.',
    example: 'memory_id',
  }),
  JWT_RIGHTS_CLAIM: text('the name of a claim').optional().register(documentation, {
    effect: 'Claim with the [rights by path](rights.md).',
    more: 'Unset: tokens have no rights by path. A token with a malformed claim is rejected.',
    example: 'memory_rights',
  }),
  JWT_SHARE_CLAIM: text('the name of a claim').optional().register(documentation, {
    effect: 'Claim that is `true` if the caller may [share](sharing.md).',
    more: 'Unset: tokens cannot share. A token with another value, or with rights by path and `true`, is rejected.',
    example: 'memory_share',
  }),
  JWT_ALGORITHMS: algorithms.default(['RS256', 'ES256', 'EdDSA']).register(documentation, {
    effect: 'Accepted signature algorithms.',
    example: 'ES256,EdDSA',
  }),
  JWT_CLOCK_SKEW_SECONDS: quantity('seconds', 0, 60).default(5).register(documentation, {
    effect: 'Accepted clock skew.',
    zero: 'none',
    example: '20s',
  }),
};

const RETENTION = {
  IDEMPOTENCY_HOURS: quantity('hours', 1, 8760).default(24).register(documentation, {
    effect: 'Time for which the results of writes are stored for retries.',
    more: 'See [idempotency](idempotency.md#duration).',
    example: '48h',
  }),
  MAX_TENANT_STORED_RESULTS: integer(0, 1_000_000_000).default(50_000).register(documentation, {
    effect: 'Maximum number of stored results in a tenant.',
    more: 'The oldest are deleted first.',
    zero: 'no limit',
    example: '10000',
  }),
  AUDIT_DAYS: quantity('days', 1, 36_500).default(365).register(documentation, {
    effect: 'Days for which the audit trail of administrative changes is kept.',
    more: 'See [audit trail](admin-api.md#audit-trail).',
    example: '90d',
  }),
  CHANGE_LOG_DAYS: quantity('days', 0, 7).default(7).register(documentation, {
    effect: "Days for which the log of all tenants' changes is kept, at least.",
    more: 'Rows are removed after at most one and a half times as many days.',
    zero: 'no log',
    example: '2d',
  }),
  USAGE_DAYS: quantity('days', 1, 36_500).default(400).register(documentation, {
    effect: 'Days for which the usage by day is kept, of each tenant and in total.',
    more: 'See [usage by day](admin-api.md#usage-by-day).',
    example: '90d',
  }),
};

const WEBHOOKS = {
  WEBHOOK_ALLOWED_ADDRESSES: networks.optional().register(documentation, {
    effect: 'Private addresses to which webhooks may be sent, also over plain HTTP.',
    more: 'All other private addresses are rejected. See [webhooks](webhooks.md#addresses).',
    example: '10.0.0.0/8,fd00::/8',
  }),
};

const SHARING = {
  SHARING: z.enum(['on', 'off'], { error: 'must be on or off' }).default('off').register(documentation, {
    effect: "Whether tenants' keys with `can_share` may share memories without an operator.",
    more: 'Without it, no invitation can be created or accepted; existing shares can be listed and ended. See [sharing](sharing.md).',
    example: 'on',
  }),
  SHARING_SAME_METADATA: text('a metadata key').optional().register(documentation, {
    effect: 'Metadata key whose value both tenants must have in common to share.',
    more: 'A tenant without a value shares with no tenant. Shares without a match end within an hour. See [sharing](sharing.md#limit-sharing-to-one-customer).',
    example: 'customer',
  }),
};

const CAPACITY = {
  MAX_IN_FLIGHT: integer(0).default(64).register(documentation, {
    effect: 'Maximum number of requests that run at the same time.',
    more: 'Further requests wait for up to `MAX_QUEUE_MS`, then get 503.',
    zero: 'no limit',
    example: '100',
  }),
  MAX_IN_FLIGHT_PER_TENANT: integer(0).default(32).register(documentation, {
    effect: 'Maximum number of requests of one tenant that run at the same time.',
    more: 'Further requests wait for up to `MAX_QUEUE_MS`, then get 429.',
    zero: 'no limit',
    example: '50',
  }),
  MAX_STREAMS: integer(0).default(1000).register(documentation, {
    effect: 'Maximum number of open streams on each listener: event streams and MCP subscriptions.',
    more: 'Further streams get 503. A stream takes about 60 KB of memory and no slot. See [streams](capacity.md#streams).',
    zero: 'no limit',
    example: '5000',
  }),
  MAX_STREAMS_PER_TENANT: integer(0).default(100).register(documentation, {
    effect: 'Maximum number of open streams of one tenant, or of one admin key.',
    more: 'Further streams get 429.',
    zero: 'no limit',
    example: '500',
  }),
  MAX_IN_FLIGHT_BYTES: quantity('bytes', 0)
    .default(128 * MEBIBYTE)
    .register(documentation, {
      effect: 'Maximum size of the request bodies and responses in memory, as sent.',
      more:
        'One tenant may use a quarter of it. A request for contents reserves room for its response first. ' +
        'See [bytes](capacity.md#bytes).',
      zero: 'no limit',
      example: '256MB',
    }),
  MAX_QUEUE_MS: milliseconds(0, 60_000).default(1000).register(documentation, {
    effect: 'Time for which a request waits when the service or its tenant is at capacity.',
    zero: 'no wait',
    example: '3s',
  }),
  SEARCH_CACHE_BYTES: quantity('bytes', 0)
    .default(64 * MEBIBYTE)
    .register(documentation, {
      effect: 'Maximum size of the files that each replica keeps in memory between searches.',
      more:
        'Files are kept for up to a minute after the last search of their tenant. A memory that does not fit is ' +
        'read for each search.',
      zero: 'no cache',
      example: '256MB',
    }),
  REQUEST_TIMEOUT_MS: milliseconds(0).default(30_000).register(documentation, {
    effect: 'Timeout for receiving a request.',
    zero: 'no timeout',
    example: '60s',
  }),
  TRANSFER_TIMEOUT_MS: milliseconds(1)
    .default(5000)
    .register(documentation, {
      effect: 'Time in which a client must send or receive each 64 KiB of a body or response.',
      more:
        'A whole response may take 12 times as long, and once more for each MiB. ' +
        'See [slow clients](capacity.md#slow-clients).',
      example: '10s',
    }),
  HANDLER_TIMEOUT_MS: milliseconds(1).default(20_000).register(documentation, {
    effect: "Timeout for handling a request, and for the wait of an admin's heavy operation for its slot.",
    example: '30s',
  }),
  KEEP_ALIVE_MS: milliseconds(1000)
    .default(72_000)
    .register(documentation, {
      effect: 'Time for which an idle connection stays open.',
      more:
        'It must exceed the idle time of the [load balancer](production.md#load-balancers), which otherwise uses ' +
        'connections that the service has closed.',
      example: '620s',
    }),
  SHUTDOWN_DELAY_MS: milliseconds(0).default(0).register(documentation, {
    effect: 'Time between becoming unready and closing the listener.',
    more: 'See [load balancer](lifecycle.md#behind-a-load-balancer).',
    zero: 'no delay',
    example: '5s',
  }),
  SHUTDOWN_TIMEOUT_MS: milliseconds(1).default(10_000).register(documentation, {
    effect: 'Timeout for running requests during shutdown.',
    example: '30s',
  }),
};

const TELEMETRY = {
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional().register(documentation, {
    effect: 'URL of a collector that receives OTLP over HTTP, without `/v1/traces`.',
    more: 'Without an endpoint, traces and audit logs are off.',
    example: 'http://collector:4318',
  }),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl.optional().register(documentation, {
    effect: 'Whole URL for traces.',
    computed: '`OTEL_EXPORTER_OTLP_ENDPOINT` with `/v1/traces`',
    example: 'http://collector:4318/v1/traces',
  }),
  OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: httpUrl.optional().register(documentation, {
    effect: 'Whole URL for audit logs.',
    computed: '`OTEL_EXPORTER_OTLP_ENDPOINT` with `/v1/logs`',
    example: 'http://collector:4318/v1/logs',
  }),
  OTEL_EXPORTER_OTLP_PROTOCOL: otlpProtocol.default('http/protobuf').register(documentation, {
    effect: 'Encoding of traces and audit logs.',
    example: 'http/json',
  }),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: otlpProtocol.optional().register(documentation, {
    effect: 'Encoding of traces.',
    computed: '`OTEL_EXPORTER_OTLP_PROTOCOL`',
    example: 'http/json',
  }),
  OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: otlpProtocol.optional().register(documentation, {
    effect: 'Encoding of audit logs.',
    computed: '`OTEL_EXPORTER_OTLP_PROTOCOL`',
    example: 'http/json',
  }),
  OTEL_TRACES_EXPORTER: otlpExporter.default('otlp').register(documentation, {
    effect: 'Exporter of traces; `none` disables them.',
    example: 'none',
  }),
  OTEL_LOGS_EXPORTER: otlpExporter.default('otlp').register(documentation, {
    effect: 'Exporter of audit logs; `none` disables them.',
    example: 'none',
  }),
  OTEL_SDK_DISABLED: flag.default(false).register(documentation, {
    effect: 'Whether traces and audit logs are disabled.',
    example: 'true',
  }),
};

export const environment = z.object({
  ...LISTENER,
  ...ADMIN,
  ...SIGN_IN,
  ...DATABASE,
  ...AUTHENTICATION,
  ...TOKENS,
  ...settingVariables,
  ...RETENTION,
  ...WEBHOOKS,
  ...SHARING,
  ...CAPACITY,
  ...TELEMETRY,
});

export const VARIABLES: readonly string[] = Object.keys(environment.shape);

/** Variables by their section in docs/settings.md. */
const SECTIONS: Readonly<Record<string, Readonly<Record<string, z.ZodType>>>> = {
  Listener: LISTENER,
  'Admin API and console': ADMIN,
  'Sign-in to the console': SIGN_IN,
  Database: DATABASE,
  Authentication: AUTHENTICATION,
  'JSON Web Tokens': TOKENS,
  'Tenant settings': settingVariables,
  Retention: RETENTION,
  Webhooks: WEBHOOKS,
  Sharing: SHARING,
  'Capacity and timeouts': CAPACITY,
  'Traces and audit logs': TELEMETRY,
};

/** A variable's type, default, range, and documentation. */
export interface VariableDescription extends Documentation {
  readonly name: string;
  /** The default as the service uses it. Undefined if the variable has none, or if it depends on other variables. */
  readonly default: unknown;
  /** A choice's values. */
  readonly choices: readonly string[] | undefined;
  /** A number's unit and range. */
  readonly quantity: { readonly unit: Unit; readonly min: number; readonly max: number } | undefined;
  /** A text's values, in words. */
  readonly form: string | undefined;
}

/** Returns all variables' descriptions by section, ordered as in docs/settings.md. */
export function describeVariables(): [section: string, variables: VariableDescription[]][] {
  return Object.entries(SECTIONS).map(([section, variables]) => [
    section,
    Object.entries(variables).map(([name, schema]) => describe(name, schema)),
  ]);
}

function describe(name: string, schema: z.ZodType): VariableDescription {
  const documented = documentation.get(schema);
  if (documented === undefined) throw new Error(`${name} has no documentation.`);
  const { inner, value } = unwrap(schema);
  const start = inner instanceof z.ZodPipe ? inner.in : inner;
  const choices = start instanceof z.ZodEnum ? start.options.map(String) : undefined;
  const meta = z.globalRegistry.get(inner) as ValueMeta | undefined;
  const [quantity, form] = meta && 'unit' in meta ? [meta, undefined] : [undefined, meta?.form];
  return { ...documented, name, default: value, choices, quantity, form };
}

/** Returns the schema for a variable's values, and its default. */
function unwrap(schema: z.ZodType): { inner: z.ZodType; value?: unknown } {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return { inner: schema.unwrap() as z.ZodType, value: schema.def.defaultValue };
  if (schema instanceof z.ZodOptional) return { inner: schema.unwrap() as z.ZodType };
  return { inner: schema };
}
