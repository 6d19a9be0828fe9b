import { z } from 'zod';
import { noSuchTenant } from '../../../core/admin/admin-errors.ts';
import { type AdminCall, defineOperation } from '../../../core/admin/admin-operation.ts';
import {
  actor,
  next,
  pageFields,
  readCursor,
  tenantParams,
  text,
  time,
  versionId as uuid,
  writeCursor,
} from '../../../core/admin/fields.ts';
import { ServiceError } from '../../../core/errors/errors.ts';
import { nameText } from '../../../core/lib/text-forms.ts';
import { MAX_TOKENS, MIN_BYTES } from '../../../core/memory/secrets/kept-out.ts';
import {
  addKeptOut,
  FOR_ALL,
  type KeptOutRow,
  listKeptOut,
  MAX_ENTRIES,
  removeKeptOut,
} from '../../../core/tenants/kept-out-entries.ts';

/** Maximum text length in characters. `MAX_TOKENS` limits shorter texts as well. */
const MAX_LENGTH = 16_384;

const keptOutSchema = z
  .object({
    id: z.string(),
    tokens: z.int().meta({ description: 'The number of words and punctuation marks in the text.' }),
    label: z.string(),
    created_at: time,
    created_by: actor,
  })
  .meta({ id: 'KeptOut', description: 'A text that is kept out. The text itself is not stored.' });

const keptOutPage = z.object({ entries: z.array(keptOutSchema), next });

const newEntry = z.strictObject({
  text: text(MAX_LENGTH).meta({
    description: `At most ${MAX_TOKENS} words and punctuation marks, with at least ${MIN_BYTES} bytes of letters and digits. Upper case, white space, and Unicode compatibility forms do not matter.`,
  }),
  label: nameText(255)
    .default('')
    .meta({ description: "The reason or the incident's name, never the text." }),
});

const page = z.strictObject(pageFields(500, 100));
const cursor = z.strictObject({ id: uuid });
const entry = { entry: uuid };
const [full, noSuchEntry] = [
  new ServiceError('too_many_kept_out', MAX_ENTRIES),
  new ServiceError('no_such_kept_out', '0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52'),
];
const invalidTexts = [
  new ServiceError('kept_out_too_short', MIN_BYTES),
  new ServiceError('kept_out_too_long', MAX_TOKENS),
];
/** Errors for an operation that keeps a text out. */
export const keptOutErrors = [full, ...invalidTexts];
const HOLDS =
  'It applies to new writes on every replica within `AUTH_CACHE_SECONDS`. Stored files keep the text.';

function keptOutRecord({ id, tokens, label, createdAt, createdBy }: KeptOutRow) {
  return { id, tokens, label, created_at: createdAt, created_by: createdBy };
}

async function add({ config, database, administrator, body, note }: EntryCall, owner: string) {
  const { text, label } = body;
  const added = await addKeptOut(database, config, owner, { text, label, by: administrator.actor });
  note({ details: { entry: added.id, label: added.label } });
  return keptOutRecord(added);
}

type EntryCall = AdminCall<unknown, unknown, z.output<typeof newEntry>>;

async function list({ database, query }: AdminCall<unknown, z.output<typeof page>>, owner: string) {
  const { limit, after } = query;
  const found = await listKeptOut(database, owner, { after: readCursor(cursor, after)?.id ?? null, limit });
  return { entries: found.rows.map(keptOutRecord), next: writeCursor(found.next) };
}

export const keepOut = defineOperation({
  id: 'keepOut',
  method: 'POST',
  url: '/tenants/:tenant/kept-out',
  summary: "Keep a text out of a tenant's memory",
  description: `A write with the text is rejected, or the text is masked if the tenant masks secrets. ${HOLDS}`,
  tag: 'incidents',
  params: tenantParams,
  body: newEntry,
  status: 201,
  response: { description: 'The entry. If the text is kept out already, its entry.', schema: keptOutSchema },
  errors: [noSuchTenant, full, ...invalidTexts],
  run: async (call) => add(call, call.params.tenant),
});

export const listKeptOutTexts = defineOperation({
  id: 'listKeptOut',
  method: 'GET',
  url: '/tenants/:tenant/kept-out',
  summary: "List the texts that are kept out of a tenant's memory",
  description: 'Without the entries for all tenants.',
  tag: 'incidents',
  params: tenantParams,
  query: page,
  response: { description: 'A page.', schema: keptOutPage },
  errors: [noSuchTenant],
  run: async (call) => list(call, call.params.tenant),
});

export const allowText = defineOperation({
  id: 'removeKeptOut',
  method: 'DELETE',
  url: '/tenants/:tenant/kept-out/:entry',
  summary: 'Allow a text again',
  tag: 'incidents',
  params: tenantParams.extend(entry),
  status: 204,
  response: { description: 'Removed.', schema: z.null() },
  errors: [noSuchTenant, noSuchEntry],
  async run({ database, params, note }) {
    note({ details: { entry: params.entry } });
    await removeKeptOut(database, params.tenant, params.entry);
    return null;
  },
});

export const keepOutOfAll = defineOperation({
  id: 'keepOutOfAll',
  method: 'POST',
  url: '/kept-out',
  summary: "Keep a text out of all tenants' memories",
  description: HOLDS,
  tag: 'incidents',
  body: newEntry,
  status: 201,
  response: { description: 'The entry. If the text is kept out already, its entry.', schema: keptOutSchema },
  errors: [full, ...invalidTexts],
  run: async (call) => add(call, FOR_ALL),
});

export const listKeptOutOfAll = defineOperation({
  id: 'listKeptOutOfAll',
  method: 'GET',
  url: '/kept-out',
  summary: 'List the texts that are kept out of all memories',
  tag: 'incidents',
  query: page,
  response: { description: 'A page.', schema: keptOutPage },
  run: async (call) => list(call, FOR_ALL),
});

export const allowTextInAll = defineOperation({
  id: 'removeKeptOutOfAll',
  method: 'DELETE',
  url: '/kept-out/:entry',
  summary: 'Allow a text again in all memories',
  tag: 'incidents',
  params: z.strictObject(entry),
  status: 204,
  response: { description: 'Removed.', schema: z.null() },
  errors: [noSuchEntry],
  async run({ database, params, note }) {
    note({ details: { entry: params.entry } });
    await removeKeptOut(database, FOR_ALL, params.entry);
    return null;
  },
});
