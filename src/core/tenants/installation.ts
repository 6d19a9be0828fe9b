import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import type { Config } from '../config.ts';
import { defineQuery, type QueryExecutor } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import type { KeyedHashes } from '../memory/secrets/kept-out.ts';

/*
 * An installation's secret: `INSTALLATION_SECRET`, or else 32 random bytes in the database, which are created when they
 * are first needed. Keys are derived from the secret by HKDF (RFC 5869). docs/security.md explains the difference.
 */

interface InstallationRow {
  /** Hexadecimal; null if the secret is in `INSTALLATION_SECRET`. */
  secret: string | null;
  secretId: string;
  keptOutChanges: number;
}

const findInstallationQuery = defineQuery<Record<string, never>, InstallationRow>(
  'find_installation',
  `
SELECT encode(secret, 'hex') AS secret, secret_id AS "secretId", kept_out_changes::float8 AS "keptOutChanges"
FROM installation WHERE id = 'installation'
`,
);

const createInstallationQuery = defineQuery<{ secret: string | null; secretId: string }>(
  'create_installation',
  `
INSERT INTO installation (id, secret, secret_id) VALUES ('installation', decode($secret, 'hex'), $secretId)
ON CONFLICT (id) DO NOTHING
`,
);

/** Replaces the secret in an installation that keeps no text out. */
const replaceSecretQuery = defineQuery<{ secret: string | null; secretId: string }>(
  'replace_installation_secret',
  `
UPDATE installation SET secret = decode($secret, 'hex'), secret_id = $secretId
WHERE id = 'installation' AND secret_id <> $secretId AND NOT EXISTS (SELECT FROM kept_out WHERE removed IS NULL)
`,
);

export interface Installation {
  secret: Buffer;
  keptOutChanges: number;
}

/**
 * Reads the installation.
 *
 * @returns undefined until the secret is first needed
 * @throws ServiceError if the configured secret is not the database's secret
 */
export async function findInstallation(
  query: QueryExecutor,
  config: Config,
): Promise<Installation | undefined> {
  const [row] = (await query(findInstallationQuery, {})).rows;
  if (row === undefined) return undefined;
  const secret = configuredSecret(config) ?? Buffer.from(row.secret ?? '', 'hex');
  if (toSecretId(secret) !== row.secretId) throw new ServiceError('installation_secret_differs');
  return { secret, keptOutChanges: row.keptOutChanges };
}

/**
 * Returns the installation, and creates it if it does not exist. A new `INSTALLATION_SECRET` is accepted as long as no
 * text is kept out.
 *
 * @throws ServiceError as for `findInstallation`
 */
export async function requireInstallation(query: QueryExecutor, config: Config): Promise<Installation> {
  const configured = configuredSecret(config);
  const made = configured ?? randomBytes(32);
  const row = {
    secret: configured === undefined ? made.toString('hex') : null,
    secretId: toSecretId(made),
  };
  const isNew = (await query(createInstallationQuery, row)).count === 1;
  const [found] = (await query(findInstallationQuery, {})).rows;
  const isLost = configured === undefined && found?.secret === null;
  if (!isNew && (configured !== undefined || isLost)) await query(replaceSecretQuery, row);
  const installation = await findInstallation(query, config);
  if (installation === undefined) throw new Error('The installation was deleted while it was created.');
  return installation;
}

function configuredSecret({ INSTALLATION_SECRET: secret }: Config): Buffer | undefined {
  return secret === undefined ? undefined : Buffer.from(secret);
}

/**
 * Derives a purpose's own key from the secret. A purpose's text must not change, because hashes made with its key are
 * stored.
 */
export function deriveKey({ secret }: Pick<Installation, 'secret'>, purpose: string, bytes = 32): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `memory-service ${purpose}`, bytes));
}

function toSecretId(secret: Buffer): string {
  return deriveKey({ secret }, 'secret id', 8).toString('hex');
}

/** Returns the hashes for texts that are kept out. */
export function keyedHashes(installation: Pick<Installation, 'secret'>): KeyedHashes {
  const key = deriveKey(installation, 'kept out: text');
  const short = deriveKey(installation, 'kept out: first tokens', 8);
  return {
    sign: (text) => createHmac('sha256', key).update(text).digest('hex'),
    shortKey: [short.readInt32LE(0), short.readInt32LE(4)],
  };
}
