import { createPublicKey } from 'node:crypto';
import { z } from 'zod';
import { type AdminCall, defineOperation } from '../../../core/admin/admin-operation.ts';
import {
  next,
  pageFields,
  readCursor,
  tenantId,
  text,
  timePosition,
  versionId as uuid,
  writeCursor,
} from '../../../core/admin/fields.ts';
import { requireInScope } from '../../../core/admin/permissions.ts';
import { ServiceError } from '../../../core/errors/errors.ts';
import { requireInstallation } from '../../../core/tenants/installation.ts';
import { signedReceiptSchema, toKeyId } from '../../../core/tenants/receipt.ts';
import { findReceipt, listReceipts, receiptKey, type StoredReceipt } from '../../../core/tenants/receipts.ts';
import { MAX_TEXT } from '../erase-job.ts';
import { textHmac } from '../erase-receipt.ts';
import { findJob } from '../jobs.ts';

const storedReceipt = signedReceiptSchema.extend({
  public_key: z.string().meta({ description: 'The public key for the signature, as PEM.' }),
});

function record({ publicKey, ...signed }: StoredReceipt) {
  return { ...signed, public_key: publicKey };
}

export const listErasureReceipts = defineOperation({
  id: 'listReceipts',
  method: 'GET',
  url: '/receipts',
  summary: 'List erasure receipts, latest first',
  tag: 'incidents',
  scope: 'handler',
  query: z.strictObject({
    ...pageFields(200, 50),
    tenant: tenantId.optional().meta({ description: 'Only receipts for this tenant, or for this hash.' }),
    job: uuid.optional().meta({ description: 'Only receipts from this job.' }),
  }),
  response: { description: 'A page.', schema: z.object({ receipts: z.array(storedReceipt), next }) },
  async run({ database, query: { limit, after, tenant = null, job = null }, administrator }) {
    const scope = administrator.onlyTenants;
    if (scope !== null && job !== null) await findJob(database, job, scope);
    const page = await listReceipts(
      database,
      { tenant, job, scope },
      { limit, after: readCursor(timePosition, after) },
    );
    return { receipts: page.rows.map(record), next: writeCursor(page.next) };
  },
});

export const getReceipt = defineOperation({
  id: 'getReceipt',
  method: 'GET',
  url: '/receipts/:receipt',
  summary: 'Get an erasure receipt',
  tag: 'incidents',
  scope: 'handler',
  params: z.strictObject({ receipt: uuid }),
  response: { description: 'The receipt.', schema: storedReceipt },
  errors: [new ServiceError('no_such_receipt', '0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52')],
  run: async (context) => record(await visibleReceipt(context)),
});

/** @throws ServiceError if the receipt does not exist, or the caller may not see its tenant or job */
async function visibleReceipt({
  database,
  params: { receipt: id },
  administrator: { onlyTenants },
}: AdminCall<{ receipt: string }>): Promise<StoredReceipt> {
  const found = await findReceipt(database, id);
  const { tenant, subject } = found.receipt;
  if (tenant === null && onlyTenants !== null) await findJob(database, subject.job ?? '', onlyTenants);
  else requireInScope(onlyTenants, tenant);
  return found;
}

export const checkReceiptText = defineOperation({
  id: 'checkReceiptText',
  method: 'POST',
  url: '/receipts/:receipt/text',
  summary: 'Check whether an erasure receipt is about a text',
  description: 'Compares the keyed hash in the receipt. The text is neither stored nor logged.',
  tag: 'incidents',
  access: 'operate',
  scope: 'handler',
  params: z.strictObject({ receipt: uuid }),
  body: z.strictObject({ text: text(MAX_TEXT) }),
  response: { description: 'The result.', schema: z.object({ matches: z.boolean() }) },
  errors: [new ServiceError('no_such_receipt', '0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52')],
  async run(context) {
    const { database, config, params, body, note } = context;
    note({ details: { receipt: params.receipt } });
    const { subject } = (await visibleReceipt(context)).receipt;
    const installation = await requireInstallation(database.query, config);
    return { matches: subject.text_hmac === textHmac(installation, body.text) };
  },
});

export const getReceiptKey = defineOperation({
  id: 'getReceiptKey',
  method: 'GET',
  url: '/receipt-key',
  summary: 'Get the public key with which receipts are verified',
  description:
    'Store the key outside the service, so that a receipt can be verified without trust in the service.',
  tag: 'incidents',
  response: {
    description: 'The key.',
    schema: z.object({
      key_id: z.string(),
      public_key: z.string().meta({ description: 'An Ed25519 key as PEM (SPKI).' }),
    }),
  },
  async run({ database, config }) {
    const pem = await receiptKey(database, config);
    return { key_id: toKeyId(createPublicKey(pem)), public_key: pem };
  },
});
