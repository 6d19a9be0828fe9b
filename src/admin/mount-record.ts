import { z } from 'zod';
import { tenantId } from './fields.ts';

/** A mount as it is shown. */
export const mountRecord = z
  .object({
    name: z.string(),
    tenant: tenantId.nullable().meta({
      description: 'Null for a tenant outside the scope of the admin key.',
    }),
    access: z.enum(['read_only', 'read_write']),
    instructions: z.string(),
  })
  .meta({ id: 'Mount', description: 'Another memory that a tenant shows as a directory.' });
