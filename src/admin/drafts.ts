import { z } from 'zod';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { closeDraft } from '../drafts/close.ts';
import { createDraft } from '../drafts/create.ts';
import { countDrafts, type DraftFilter, findDraft, listDrafts } from '../drafts/drafts.ts';
import { draftRecords } from '../drafts/records.ts';
import { ServiceError } from '../errors/errors.ts';
import { departureOf } from '../http/access-log.ts';
import { storedTime } from '../lib/rfc3339.ts';
import { nameText } from '../lib/text.ts';
import { noteAudit } from './audit.ts';
import { administratorOf, scopeOf } from './authentication.ts';
import { adminRoutes } from './context.ts';
import { draftClosed, draftParams, draftSchema, noSuchDraft, stateFilter } from './draft-schemas.ts';
import { givenTime, next, pageFields, readCursor, readTimes, tenantParams, writeCursor } from './fields.ts';
import { incomplete } from './files.ts';
import { archived, errorResponses, json, noSuchTenant } from './responses.ts';

const counted = z.int().min(0);
const listQuery = z.strictObject({ state: stateFilter, ...pageFields(100, 50) });
const position = z.strictObject({ time: storedTime, id: z.string() });
const listSchema = z.object({
  drafts: z.array(draftSchema).meta({ description: 'The newest first.' }),
  total: counted.meta({ description: 'Drafts in this state, on all pages.' }),
  tenants: counted.meta({ description: 'Tenants that have such drafts.' }),
  next,
});

const newDraft = z.strictObject({
  title: nameText(200)
    .min(1)
    .meta({ description: 'What it is for.', examples: ['Tidy up the notes on travel'] }),
  at: givenTime
    .optional()
    .meta({ description: 'The draft starts from the memory at this time. Default: now.' }),
});

const tooMany = [
  new ServiceError('too_many_drafts', 'acme', 20),
  new ServiceError('drafts_too_large', 'acme', 99, 100, 20),
  new ServiceError('draft_of_draft', 'draft_6f1c2d7a9b3e4c5d8e0f1a2b3c4d5e6f'),
];

/** The drafts of all tenants. */
export const fleetDraftRoutes = adminRoutes((app, { config, database }) => {
  app.get(
    '/drafts',
    {
      config: { scope: 'handler' },
      schema: {
        operationId: 'listAllDrafts',
        summary: 'List the drafts of all tenants, a page at a time',
        description: 'With a key for certain tenants: only the drafts of its tenants.',
        tags: ['drafts'],
        querystring: listQuery,
        response: { 200: json('A page.', listSchema), ...errorResponses('reads') },
      },
    },
    (request) => listPage({ config, database }, { tenant: null, scope: scopeOf(request) }, request.query),
  );
});

async function listPage(
  { config, database }: { config: Config; database: Database },
  of: Pick<DraftFilter, 'tenant' | 'scope'>,
  { state, limit, after }: z.output<typeof listQuery>,
) {
  const filter = { ...of, state };
  const { drafts, next: more } = await listDrafts(database, filter, readCursor(position, after), limit);
  const { count: total, tenants } = await countDrafts(database, filter);
  return {
    drafts: await draftRecords(database.query, config, drafts),
    total,
    tenants,
    next: writeCursor(more),
  };
}

/** The drafts of a tenant. */
export const draftRoutes = adminRoutes((app, { config, database, heavyWork }) => {
  app.get(
    '/tenants/:tenant/drafts',
    {
      schema: {
        operationId: 'listDrafts',
        summary: "List a tenant's drafts, a page at a time",
        tags: ['drafts'],
        params: tenantParams,
        querystring: listQuery,
        response: { 200: json('A page.', listSchema), ...errorResponses('reads', [noSuchTenant]) },
      },
    },
    (request) =>
      listPage({ config, database }, { tenant: request.params.tenant, scope: null }, request.query),
  );

  app.post(
    '/tenants/:tenant/drafts',
    {
      schema: {
        operationId: 'createDraft',
        summary: 'Create a draft: a copy of the memory to work on',
        description:
          'The draft is a memory of its own, with this id as its tenant: `/execute`, search, the Memory Stores API and this API work on it. Copying the memory blocks nobody.',
        tags: ['drafts'],
        params: tenantParams,
        body: newDraft,
        response: {
          200: json('The draft.', draftSchema),
          ...errorResponses('takes JSON', [noSuchTenant, incomplete, archived, ...tooMany]),
        },
      },
    },
    async (request, reply) => {
      const { tenant } = request.params;
      const { title } = request.body;
      const { at } = await readTimes(database, { at: request.body.at });
      const author = administratorOf(request).actor;
      const draft = await heavyWork.run(tenant, departureOf(request, reply), () =>
        createDraft(database, config, tenant, { title, author, at }),
      );
      noteAudit(request, { details: { draft: draft.id } });
      return (await draftRecords(database.query, config, [draft]))[0];
    },
  );

  app.get(
    '/tenants/:tenant/drafts/:draft',
    {
      schema: {
        operationId: 'getDraft',
        summary: 'Get a draft, open or closed',
        tags: ['drafts'],
        params: draftParams,
        response: {
          200: json('The draft.', draftSchema),
          ...errorResponses('reads', [noSuchTenant, noSuchDraft]),
        },
      },
    },
    async ({ params: { tenant, draft } }) =>
      (await draftRecords(database.query, config, [await findDraft(database.query, tenant, draft)]))[0],
  );

  app.post(
    '/tenants/:tenant/drafts/:draft/close',
    {
      schema: {
        operationId: 'closeDraft',
        summary: 'Reject a draft: only its record remains',
        tags: ['drafts'],
        params: draftParams,
        response: {
          200: json('The draft.', draftSchema),
          ...errorResponses('changes', [noSuchTenant, noSuchDraft, draftClosed]),
        },
      },
    },
    async (request) => {
      const { tenant, draft } = request.params;
      const by = administratorOf(request).actor;
      noteAudit(request, { details: { draft } });
      const closed = await closeDraft(database, { tenant, draft }, { state: 'rejected', by });
      return (await draftRecords(database.query, config, [closed]))[0];
    },
  );
});
