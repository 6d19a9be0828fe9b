import { createHash, createHmac } from 'node:crypto';
import type { Config } from '../../core/config.ts';
import type { Database } from '../../core/database/database.ts';
import { readPages } from '../../core/lib/pages.ts';
import { amount } from '../../core/lib/units.ts';
import { deriveKey, type Installation, requireInstallation } from '../../core/tenants/installation.ts';
import { addReceipt, type Erasure } from '../../core/tenants/receipts.ts';
import { comparisonKind } from './compared-text.ts';
import { type Counts, isExact, type JobOutcome, type RunningJob, readOutcomePage } from './jobs.ts';

/* Receipts for an erased text: one for each tenant that had the text, and one for the job. */

const SEARCHED = [
  'current files',
  'superseded versions',
  'open drafts',
  'paths',
  'past directories',
  'titles and comments of drafts',
  'stored results',
];

/** Adds a receipt for the changes in one tenant, unless an interrupted attempt has added it. */
export function addTenantReceipt(
  database: Database,
  config: Config,
  job: RunningJob,
  tenant: string,
  erased: Counts,
  text: string,
): Promise<unknown> {
  return add(database, config, job, { tenant, erased }, text);
}

/** Adds the receipt for the whole job. */
export async function addJobReceipt(
  database: Pick<Database, 'query'>,
  config: Config,
  job: RunningJob,
  names: readonly string[],
  text: string,
): Promise<unknown> {
  const { tenantsDone, tenantsFailed, counts } = job;
  const erased = {
    tenants: await countChanged(database, job.id, names),
    failed_tenants: tenantsFailed,
    left: counts.left ?? 0,
    ...Object.fromEntries(names.map((name) => [name, counts[name] ?? 0])),
  };
  const searched = [amount(tenantsDone, 'tenant'), ...SEARCHED];
  return add(database, config, job, { tenant: null, searched, erased }, text);
}

const TENANTS_A_PAGE = 500;

/** Counts the tenants in which a job changed something. */
async function countChanged(
  database: Pick<Database, 'query'>,
  job: string,
  names: readonly string[],
): Promise<number> {
  const outcomes = readPages<JobOutcome>(
    (last) =>
      readOutcomePage(database, { job, after: last?.tenant ?? '', scope: null, limit: TENANTS_A_PAGE }),
    TENANTS_A_PAGE,
  );
  let tenants = 0;
  for await (const { counts } of outcomes) if (names.some((name) => (counts[name] ?? 0) > 0)) tenants++;
  return tenants;
}

async function add(
  database: Pick<Database, 'query'>,
  config: Config,
  job: RunningJob,
  { tenant, searched = SEARCHED, erased }: Pick<Erasure, 'tenant' | 'erased'> & { searched?: string[] },
  text: string,
): Promise<unknown> {
  const installation = await requireInstallation(database.query, config);
  const { foundBy, foundByState = 'done' } = job.selection;
  return addReceipt(database, config, {
    kind: 'text_erased',
    id: receiptId(job.id, tenant, erased),
    tenant,
    by: job.createdBy,
    searched,
    subject: {
      job: job.id,
      text_hmac: textHmac(installation, text),
      comparison: comparisonKind(job.request as Parameters<typeof comparisonKind>[0]),
      ...(foundBy !== undefined && { found_by: foundBy, found_by_state: foundByState }),
      ...(tenant === null && { is_exact: String(isExact(job)) }),
    },
    erased,
  });
}

/** Returns the keyed hash with which anyone who has the secret can prove that a receipt is about a text. */
export function textHmac(installation: Pick<Installation, 'secret'>, text: string): string {
  return createHmac('sha256', deriveKey(installation, 'receipts: text')).update(text).digest('hex');
}

/** Derives the same ID each time, so that a repeated attempt adds no second receipt for the same changes. */
function receiptId(job: string, tenant: string | null, erased: Counts): string {
  const hex = createHash('sha256')
    .update(`${job} ${tenant === null ? '' : `${tenant} ${JSON.stringify(erased)}`}`)
    .digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
