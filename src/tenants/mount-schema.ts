import { z } from 'zod';
import type { Mount } from '../memory/mount.ts';
import { parsePath, ROOT } from '../memory/path.ts';
import { storableText } from '../util/storable-text.ts';
import { TENANT_ID, TENANT_ID_RULE } from './tenant-id.ts';

/** How many mounts a tenant may have. A view of the root reads all of them. */
export const MAX_MOUNTS = 16;
/** In UTF-16 units. */
export const MAX_INSTRUCTIONS = 4096;

export const MOUNT_NAME_RULE =
  'letters, digits, spaces and . _ @ + -, with a letter, a digit or _ at the start and no space or dot at the end, at most 255 bytes; not node_modules';

/** The name of a mount's directory. */
export const mountNameSchema = z
  .string()
  .refine(isNewMountName, `must be ${MOUNT_NAME_RULE}`)
  .meta({ description: 'Of the directory below `/memories`.', examples: ['team'] });

export const mountFields = {
  tenant: z
    .string()
    .regex(TENANT_ID, `must be ${TENANT_ID_RULE}`)
    .meta({ description: 'The tenant whose memory is shown.', examples: ['team'] }),
  access: z
    .enum(['read_only', 'read_write'])
    .default('read_only')
    .meta({ description: 'Applies to every key of the tenant, whatever it may do elsewhere.' }),
  instructions: storableText(MAX_INSTRUCTIONS)
    .default('')
    .meta({
      description: 'What the model should know about the directory: part of `GET /instructions`.',
      examples: ['What the team has learned about the build.'],
    }),
};

/** A mount as JSON sets it. */
export const mountSchema: z.ZodType<Mount> = z.strictObject({ name: mountNameSchema, ...mountFields });

/** The mounts of a tenant as JSON sets all of them. */
export const mountsSchema = z
  .array(mountSchema)
  .max(MAX_MOUNTS)
  .refine(
    (mounts) => new Set(mounts.map(({ name }) => name)).size === mounts.length,
    'has a name more than once',
  );

/** Whether a new mount may have a name: URLs, shells and models carry it unchanged. Existing ones can have other names. */
export function isNewMountName(name: string): boolean {
  if (!/^[\p{L}\p{N}_][\p{L}\p{M}\p{N} ._@+-]*$/u.test(name) || /[ .]$/.test(name)) return false;
  const parsed = parsePath(`${ROOT}/${name}`);
  return parsed.ok && parsed.path === `${ROOT}/${name}` && name !== 'node_modules';
}
