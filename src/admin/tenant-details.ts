import { z } from 'zod';
import { metadataPairs } from '../tenants/metadata-schema.ts';
import { MAX_METADATA, type StoreDetailsChange } from '../tenants/stores.ts';
import { nameText } from '../util/names.ts';
import { text } from './fields.ts';

const name = nameText(255).min(1).meta({ description: 'A display name, not unique. By default, the id.' });
const description = text(1024).meta({ description: 'What the memory contains, for people and agents.' });
const metadataKey = text(64).min(1);
const metadataValue = text(512);
const tooMany = `must have at most ${MAX_METADATA} pairs.`;

/** What people say of a tenant, as it is shown. */
export const detailsSchema = { name, description, metadata: z.record(z.string(), z.string()) };

/** What people say of a new tenant. */
export const newDetails = {
  name: name.optional(),
  description: description.optional(),
  metadata: metadataPairs(metadataKey, metadataValue)
    .refine((pairs) => Object.keys(pairs).length <= MAX_METADATA, tooMany)
    .optional()
    .meta({
      description: `Pairs for your own use, such as \`{"plan": "pro"}\`. At most ${MAX_METADATA} pairs.`,
    }),
};

/** What changes of that. */
export const detailsChange = {
  ...newDetails,
  metadata: metadataPairs(metadataKey, metadataValue.nullable())
    .optional()
    .meta({
      description: `Pairs to set; null removes a pair, and omitted pairs stay. At most ${MAX_METADATA} in all.`,
    }),
};

/** The details in a body, without what it leaves out. */
export function detailsOf({ name, description, metadata }: StoreDetailsChange): StoreDetailsChange {
  return Object.fromEntries(
    Object.entries({ name, description, metadata }).filter(([, value]) => value !== undefined),
  );
}
