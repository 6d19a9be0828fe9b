import { z } from 'zod';
import { MAX_METADATA, pairsProblem } from '../tenants/metadata.ts';
import { TENANT_STATUSES } from '../tenants/tenant-listing.ts';
import { repeatable, text } from './fields.ts';

/* Tenant filters, shared by tenant lists and by jobs over many tenants. */

export const tenantStatus = z.enum(TENANT_STATUSES).meta({
  description:
    '`suspended`: all requests are rejected. `archived`: files can only be read and deleted. A tenant that is both is `suspended`.',
});

/** As long as the longest name. */
export const tenantSearch = text(255)
  .optional()
  .meta({ description: 'Part of the id or the name, case-insensitive.' });

/** Metadata pairs in a query string. `parsePairs` converts them to an object. */
export const metadataQuery = repeatable(z.string(), MAX_METADATA)
  .superRefine((texts, context) => {
    const message = pairsProblem(texts);
    if (message !== null) context.addIssue({ code: 'custom', message });
  })
  .optional()
  .meta({
    description: 'Only tenants whose metadata contains this pair. May be repeated: all pairs must match.',
    examples: [['plan=pro']],
  });
