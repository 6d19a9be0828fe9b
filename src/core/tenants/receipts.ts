import { randomUUID } from 'node:crypto';
import type { Config } from '../config.ts';
import { databaseInstant } from '../database/clock.ts';
import type { Database } from '../database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { cutPage, type Page, type TimePosition } from '../lib/pages.ts';
import { DAY_MS } from '../lib/units.ts';
import { type Actor, storedActor } from '../memory/origin.ts';
import { requireInstallation } from './installation.ts';
import { publicKeyPem, type Receipt, type SignedReceipt, signingKey, signReceipt } from './receipt.ts';

/** A stored receipt, with the public key for its signature. */
export interface StoredReceipt extends SignedReceipt {
  publicKey: string;
}

interface ReceiptRow {
  id: string;
  at: string;
  body: Receipt;
  signature: string;
  keyId: string;
  publicKey: string;
}

/** Owner of the receipt for a job over many tenants. */
const NO_TENANT = '';

const COLUMNS = `id::text, ${time('at')} AS at, body, signature, key_id AS "keyId", public_key AS "publicKey"`;

const addReceiptQuery = defineQuery<{
  id: string;
  at: string;
  subject: string;
  body: string;
  signature: string;
  keyId: string;
  publicKey: string;
}>(
  'add_receipt',
  `
INSERT INTO receipts (id, at, tenant_id, body, signature, key_id, public_key)
VALUES ($id::text::uuid, $at::text::timestamptz, $subject, $body::text::jsonb, $signature, $keyId, $publicKey)
ON CONFLICT (id) DO NOTHING
`,
);

const findReceiptQuery = defineQuery<{ id: string }, ReceiptRow>(
  'find_receipt',
  `SELECT ${COLUMNS} FROM receipts WHERE id = $id::text::uuid`,
);

const listReceiptsQuery = defineQuery<
  {
    subject: string | null;
    job: string | null;
    subjects: string[] | null;
    beforeAt: string;
    beforeId: string;
    limit: number;
  },
  ReceiptRow
>(
  'list_receipts',
  `
SELECT ${COLUMNS} FROM receipts AS r
WHERE ($subject::text IS NULL OR tenant_id = $subject) AND ($job::text IS NULL OR body -> 'subject' ->> 'job' = $job)
  AND ($subjects::text[] IS NULL OR tenant_id = ANY ($subjects::text[]))
  AND (r.at, r.id) < ($beforeAt::text::timestamptz, $beforeId::text::uuid)
ORDER BY r.at DESC, r.id DESC LIMIT $limit::bigint
`,
);

const forgetReceiptsQuery = defineQuery<{ subject: string }>(
  'forget_receipts',
  'DELETE FROM receipts WHERE tenant_id = $subject',
);

/** Erasure for which a receipt is made. */
export type Erasure = Pick<Receipt, 'kind' | 'tenant' | 'searched' | 'subject' | 'erased'> & {
  by: Actor;
  /** A repeated call with the same ID adds no second receipt. The default is a random ID. */
  id?: string;
  /** A forgotten tenant's ID and salt. They are part of the result, and are not stored. */
  proof?: { tenant: string; salt: string };
};

/** Time for which a replica keeps the files from recent searches in memory. */
const SEARCH_CACHE_MS = 60_000;

/** Creates, signs, and stores the receipt for an erasure. */
export async function addReceipt(
  database: Pick<Database, 'query'>,
  config: Config,
  { by, proof, ...erasure }: Erasure,
): Promise<SignedReceipt> {
  const key = signingKey(await requireInstallation(database.query, config));
  const at = await databaseInstant(database);
  const timeAfter = (ms: number) => new Date(Date.parse(at) + ms).toISOString();
  const signed = signReceipt(
    {
      ...erasure,
      id: erasure.id ?? randomUUID(),
      at,
      by: JSON.parse(storedActor(by)),
      remaining: [
        { place: 'audit_trail', until: timeAfter(config.AUDIT_DAYS * DAY_MS) },
        { place: 'backups', until: null },
        { place: 'exports', until: null },
        ...(erasure.kind === 'text_erased'
          ? [{ place: 'hashes_of_requests', until: timeAfter((config.IDEMPOTENCY_HOURS * DAY_MS) / 24) }]
          : []),
        { place: 'logs', until: null },
        { place: 'memory_of_replicas', until: timeAfter(SEARCH_CACHE_MS) },
        { place: 'unused_space_of_the_database', until: null },
        { place: 'write_ahead_log', until: null },
      ],
    },
    key,
  );
  await database.query(addReceiptQuery, {
    id: signed.receipt.id,
    at,
    subject: erasure.tenant ?? NO_TENANT,
    body: JSON.stringify(signed.receipt),
    signature: signed.signature,
    keyId: signed.key_id,
    publicKey: publicKeyPem(key),
  });
  return proof === undefined ? signed : { ...signed, proof };
}

function toStoredReceipt({ body, signature, keyId, publicKey }: ReceiptRow): StoredReceipt {
  return { receipt: body, signature, key_id: keyId, publicKey };
}

/** @throws ServiceError if the receipt does not exist */
export async function findReceipt({ query }: Pick<Database, 'query'>, id: string): Promise<StoredReceipt> {
  const [row] = (await query(findReceiptQuery, { id })).rows;
  if (row === undefined) throw new ServiceError('no_such_receipt', id);
  return toStoredReceipt(row);
}

const AFTER_ALL: TimePosition = { time: 'infinity', id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };

/**
 * Lists receipts, latest first.
 *
 * @param filter.scope tenants that the caller may see. With `job`, which the caller may see, the job's receipt is
 * listed too
 */
export async function listReceipts(
  { query }: Pick<Database, 'query'>,
  { tenant: subject, job, scope }: { tenant: string | null; job: string | null; scope: string[] | null },
  { after, limit }: { after: TimePosition | null; limit: number },
): Promise<Page<StoredReceipt, TimePosition>> {
  const { time: beforeAt, id: beforeId } = after ?? AFTER_ALL;
  const subjects = scope === null ? null : [...scope, ...(job === null ? [] : [NO_TENANT])];
  const { rows } = await query(listReceiptsQuery, {
    subject,
    job,
    subjects,
    beforeAt,
    beforeId,
    limit: limit + 1,
  });
  const page = cutPage(rows, limit, ({ at: time, id }) => ({ time, id }));
  return { ...page, rows: page.rows.map(toStoredReceipt) };
}

/** Deletes the receipts that contain a tenant's ID. */
export async function forgetReceipts(query: QueryExecutor, tenant: string): Promise<void> {
  await query(forgetReceiptsQuery, { subject: tenant });
}

/** Returns the installation's public key as PEM. */
export async function receiptKey(database: Pick<Database, 'query'>, config: Config): Promise<string> {
  return publicKeyPem(signingKey(await requireInstallation(database.query, config)));
}
