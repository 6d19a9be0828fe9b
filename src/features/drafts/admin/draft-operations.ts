import { z } from 'zod';
import { archived, incomplete, noSuchTenant } from '../../../core/admin/admin-errors.ts';
import { type AdminCall, defineOperation } from '../../../core/admin/admin-operation.ts';
import {
  givenTime,
  next,
  pageFields,
  readCursor,
  readTimes,
  tenantParams,
  time,
  writeCursor,
} from '../../../core/admin/fields.ts';
import { ServiceError } from '../../../core/errors/errors.ts';
import { storedTime } from '../../../core/lib/rfc3339.ts';
import { nameText } from '../../../core/lib/text-forms.ts';
import { closeDraft } from '../close.ts';
import { createDraft } from '../create-draft.ts';
import { countDrafts, type DraftFilter, findDraft, readDraftPage } from '../drafts.ts';
import { draftRecord, draftRecords } from '../records.ts';
import { draftClosed, draftParams, draftSchema, noSuchDraft, stateFilter } from './draft-schemas.ts';

const counted = z.int().min(0);
const listQuery = z.strictObject({ state: stateFilter, ...pageFields(100, 50) });
const position = z.strictObject({ time: storedTime, id: z.string() });
const listSchema = z.object({
  drafts: z.array(draftSchema).meta({ description: 'The newest first.' }),
  total: counted.meta({ description: 'Drafts in this state, on all pages.' }),
  tenants: counted.meta({ description: 'Tenants that have such drafts.' }),
  oldest_created_at: time.nullable().meta({ description: 'When the oldest such draft was created.' }),
  next,
});

const newDraft = z.strictObject({
  title: nameText(200)
    .min(1)
    .meta({ description: "The draft's purpose.", examples: ['Tidy up the notes on travel'] }),
  at: givenTime
    .optional()
    .meta({ description: 'The draft starts from the memory at this time. Default: now.' }),
});

const tooMany = [
  new ServiceError('too_many_drafts', 'acme', 20),
  new ServiceError('drafts_too_large', 'acme', 99, 100, 20),
  new ServiceError('draft_of_draft', 'draft_6f1c2d7a9b3e4c5d8e0f1a2b3c4d5e6f'),
];

type ListCall = Pick<
  AdminCall<unknown, z.output<typeof listQuery>, unknown>,
  'config' | 'database' | 'query'
>;

async function listPage(
  { config, database, query: { state, limit, after } }: ListCall,
  of: Pick<DraftFilter, 'tenant' | 'scope'>,
) {
  const filter = { ...of, state };
  const page = await readDraftPage(database, filter, readCursor(position, after), limit);
  const { count: total, tenants, oldestAt } = await countDrafts(database, filter);
  return {
    drafts: await draftRecords(database.query, config, page.rows),
    total,
    tenants,
    oldest_created_at: oldestAt,
    next: writeCursor(page.next),
  };
}

export const listAllDrafts = defineOperation({
  id: 'listAllDrafts',
  method: 'GET',
  url: '/drafts',
  summary: 'List the drafts in all tenants, a page at a time',
  description: 'With a key for certain tenants: only drafts in these tenants.',
  tag: 'drafts',
  scope: 'handler',
  query: listQuery,
  response: { description: 'A page.', schema: listSchema },
  run: (call) => listPage(call, { tenant: null, scope: call.administrator.onlyTenants }),
});

export const listDrafts = defineOperation({
  id: 'listDrafts',
  method: 'GET',
  url: '/tenants/:tenant/drafts',
  summary: "List a tenant's drafts, a page at a time",
  tag: 'drafts',
  params: tenantParams,
  query: listQuery,
  response: { description: 'A page.', schema: listSchema },
  errors: [noSuchTenant],
  run: (call) => listPage(call, { tenant: call.params.tenant, scope: null }),
});

export const createTenantDraft = defineOperation({
  id: 'createDraft',
  method: 'POST',
  url: '/tenants/:tenant/drafts',
  summary: 'Create a draft: a copy of the memory to work on',
  description:
    'The draft is a separate memory, with this ID as its tenant: `/execute`, search, the Memory Stores API and this API work on it. Copying the memory does not block other requests.',
  tag: 'drafts',
  params: tenantParams,
  body: newDraft,
  response: { description: 'The draft.', schema: draftSchema },
  errors: [noSuchTenant, incomplete, archived, ...tooMany],
  isHeavy: true,
  async run({ config, database, params: { tenant }, body: { title, at: givenAt }, administrator, note }) {
    const { at } = await readTimes(database, { at: givenAt });
    const draft = await createDraft(database, config, tenant, { title, author: administrator.actor, at });
    note({ details: { draft: draft.id } });
    return draftRecord(database.query, config, draft);
  },
});

export const getDraft = defineOperation({
  id: 'getDraft',
  method: 'GET',
  url: '/tenants/:tenant/drafts/:draft',
  summary: 'Get a draft, open or closed',
  tag: 'drafts',
  params: draftParams,
  response: { description: 'The draft.', schema: draftSchema },
  errors: [noSuchTenant, noSuchDraft],
  async run({ config, database, params: { tenant, draft } }) {
    return draftRecord(database.query, config, await findDraft(database.query, tenant, draft));
  },
});

export const rejectDraft = defineOperation({
  id: 'closeDraft',
  method: 'POST',
  url: '/tenants/:tenant/drafts/:draft/close',
  summary: 'Reject a draft: only its record remains',
  tag: 'drafts',
  params: draftParams,
  response: { description: 'The draft.', schema: draftSchema },
  errors: [noSuchTenant, noSuchDraft, draftClosed],
  async run({ config, database, params: { tenant, draft }, administrator, note }) {
    note({ details: { draft } });
    const by = administrator.actor;
    const closed = await closeDraft(database, { tenant, draft }, { state: 'rejected', by });
    return draftRecord(database.query, config, closed);
  },
});
