import { z } from 'zod';
import { parseBound } from '../../core/lib/rfc3339.ts';
import { isName, NAME_RULE } from '../../core/lib/text-forms.ts';
import { MAX_METADATA, metadataPairs } from '../../core/tenants/metadata.ts';
import { isFilePath, PATH_RULE } from '../../core/tenants/store-ids.ts';

/*
 * Parameters and bodies for the API. Unknown query parameters are ignored, and unknown fields in a body are rejected.
 * Null equals a missing field, because the SDKs send null.
 */

export const MAX_PAGE = 100;
/** Item limit for a page with contents. */
export const MAX_FULL_PAGE = 20;
const DEFAULT_PAGE = 20;

const isStorable = (text: string) => text.isWellFormed() && !text.includes('\0');
const NOT_STORABLE = 'must be Unicode text without U+0000';

/** A text whose length is limited in Unicode characters, not in UTF-16 code units. */
const text = (min: number, max: number) =>
  z
    .string()
    .refine((value) => value.length <= 2 * max && [...value].length >= min && [...value].length <= max, {
      error: `it has to have ${min} to ${max} characters`,
      abort: true,
    })
    .refine(isStorable, NOT_STORABLE)
    .meta({ minLength: min, maxLength: max });

const name = text(1, 255)
  .refine(isName, NAME_RULE)
  .meta({
    description: 'Not unique.',
    examples: ['Preferences'],
  });

const description = text(0, 1024).meta({
  description: "The store's contents, described for people and agents.",
});

const metadataKey = text(1, 64);
const metadataValue = text(0, 512);

export const storeCreate = z
  .strictObject({
    name,
    description: description.nullish(),
    metadata: metadataPairs(metadataKey, metadataValue)
      .refine(
        (pairs) => Object.keys(pairs).length <= MAX_METADATA,
        `it must have at most ${MAX_METADATA} pairs`,
      )
      .nullish()
      .meta({ description: `At most ${MAX_METADATA} pairs.` }),
  })
  .meta({ id: 'MemoryStoreCreate' });

export const storeUpdate = z
  .strictObject({
    name: name.nullish(),
    description: description.nullish(),
    metadata: metadataPairs(metadataKey, metadataValue.nullable())
      .nullish()
      .meta({
        description: `Pairs to set; null removes a pair, and omitted pairs stay. At most ${MAX_METADATA} in all.`,
      }),
  })
  .meta({ id: 'MemoryStoreUpdate' });

const path = z
  .string()
  .refine(isFilePath, `it has to be ${PATH_RULE}`)
  .meta({ description: PATH_RULE, examples: ['/projects/notes.md'], maxLength: 1024 });

const content = z.string().refine(isStorable, NOT_STORABLE).meta({
  description: "The text, kept byte for byte. The limit is the store's (`MAX_FILE_BYTES`).",
});

const sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'it has to be 64 hexadecimal digits in lower case')
  .meta({ examples: ['2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'] });

export const memoryCreate = z.strictObject({ path, content }).meta({ id: 'MemoryCreate' });

export const memoryUpdate = z
  .strictObject({
    path: path.nullish(),
    content: content.nullish(),
    precondition: z
      .strictObject({ type: z.literal('content_sha256'), content_sha256: sha256 })
      .nullish()
      .meta({
        description: 'The content that the memory must have, unless it already matches the request.',
      }),
  })
  .refine(({ path, content }) => path != null || content != null, 'the body has neither `content` nor `path`')
  .meta({ id: 'MemoryUpdate', description: '`content`, `path`, or both are required.' });

const view = z.enum(['basic', 'full']).meta({ description: 'With `full`, items have their `content`.' });

/** An ID to look up in the database. Postgres must be able to store the text. */
const term = z.string().max(1000).refine(isStorable, NOT_STORABLE);

const integer = (min: number, max: number) =>
  z.preprocess(
    (given) => (typeof given === 'string' && /^-?\d{1,9}$/.test(given) ? Number(given) : given),
    z.int().min(min).max(max),
  );

const bound = (which: 'since' | 'until') =>
  z
    .string()
    .transform((given, context): string => {
      const at = parseBound(given, which);
      if (at !== undefined) return at;
      context.addIssue({
        code: 'custom',
        message: 'it has to be a time in RFC 3339, of the years 1 to 9999',
      });
      return z.NEVER;
    })
    .meta({ examples: ['2026-11-22T09:30:00Z'] });

const paging = {
  limit: integer(1, 1_000_000)
    .optional()
    .transform((given = DEFAULT_PAGE) => Math.min(given, MAX_PAGE))
    .meta({ description: `Items per page: ${DEFAULT_PAGE} unless given, at most ${MAX_PAGE}.` }),
  // The SDKs may send null, which arrives as an empty text.
  page: z
    .string()
    .optional()
    .transform((given) => given || undefined)
    .meta({ description: 'The `next_page` from the previous page.' }),
};

const created = {
  'created_at[gte]': bound('since').optional().meta({ description: 'Created at this time or later.' }),
  'created_at[lte]': bound('until').optional().meta({ description: 'Created at this time or earlier.' }),
};

export const storeList = z.object({
  ...paging,
  ...created,
  include_archived: z
    .enum(['true', 'false'])
    .optional()
    .transform((given) => given === 'true')
    .meta({ description: 'Whether archived stores are listed.' }),
});

export const memoryList = z.object({
  ...paging,
  path_prefix: z
    .string()
    .refine((prefix) => prefix.endsWith('/') && (prefix === '/' || isFilePath(prefix.slice(0, -1))), {
      error: 'it has to be the path of a directory and end with "/"',
    })
    .optional()
    .meta({ description: 'Only memories below this directory.', examples: ['/projects/'] }),
  depth: z.enum(['0', '1']).optional().meta({
    description:
      '0: all memories below the prefix. 1: only direct children, with a `memory_prefix` for each directory.',
  }),
  view: view.optional(),
});

export const versionList = z.object({
  ...paging,
  ...created,
  memory_id: z.string().optional().meta({ description: "Only this memory's versions." }),
  operation: z.enum(['created', 'modified', 'deleted']).optional(),
  api_key_id: term.optional().meta({ description: 'Only versions that this key wrote.' }),
  session_id: term.optional().meta({
    description: 'Only versions that were imported from the hosted API and written in this session there.',
  }),
  service_account_id: term.optional().meta({
    description: 'Only versions that a JSON Web Token with this subject wrote.',
  }),
  view: view.optional(),
});

export const memoryView = z.object({ view: view.optional() });
export const memoryDelete = z.object({ expected_content_sha256: sha256.optional() });

const storeId = z.string().meta({ examples: ['memstore_5f1d7a84b1c24a0f9d3e7c11'] });
const memoryId = z.string().meta({ examples: ['mem_019aa1b2c3d47e5f8a9b0c1d2e3f4a5b'] });
const versionId = z.string().meta({ examples: ['memver_019aa1b2c3d47e5f8a9b0c1d2e3f4a5b'] });

export const storeParams = z.object({ memory_store_id: storeId });
export const memoryParams = z.object({ memory_store_id: storeId, memory_id: memoryId });
export const versionParams = z.object({ memory_store_id: storeId, memory_version_id: versionId });
