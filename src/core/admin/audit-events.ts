import { z } from 'zod';
import { soughtPart } from '../database/contains-text.ts';
import { type AuditEvent, listAudit } from '../tenants/audit.ts';
import { defineOperation } from './admin-operation.ts';
import {
  actor,
  givenTime,
  next,
  pageFields,
  readCursor,
  readTimes,
  repeatable,
  tenantId,
  text,
  time,
  timePosition,
  writeCursor,
} from './fields.ts';

const eventSchema = z
  .object({
    id: z.guid(),
    at: time,
    actor,
    action: z.string().meta({
      description: 'The operation, by its name in this document.',
      examples: ['updateTenant'],
    }),
    channel: z.enum(['admin_api', 'console', 'command_line', 'memory_stores_api', 'sharing_api']),
    address: z.string().meta({
      description: "The caller's IP address, or the host that ran the command.",
      examples: ['192.0.2.7'],
    }),
    request_id: z.string().nullable().meta({ description: 'Identifies the request in the log.' }),
    dry_run: z.boolean(),
    tenant: z.string().nullable(),
    key: z.string().nullable().meta({ description: "The created or changed key's ID." }),
    details: z.record(z.string(), z.unknown()).meta({
      description:
        'The changes: `{ "old", "new" }` for each field that had a value before. Never contents, paths, or secrets.',
      examples: [{ max_bytes: { old: null, new: 1000000 } }],
    }),
    outcome: z
      .string()
      .nullable()
      .meta({
        description:
          '`ok`, or the error code. Null while the change runs, or if the service ended during it.',
        examples: ['ok'],
      }),
  })
  .meta({ id: 'AuditEvent' });

/** Maximum number of events on a page. */
export const MAX_PAGE = 200;

const listQuery = z.strictObject({
  tenant: tenantId.optional(),
  tenant_contains: text(128).optional().meta({ description: 'Part of the tenant ID, case-insensitive.' }),
  key: text(255).optional().meta({ description: "A created or changed key's ID." }),
  by: text(255).min(1).optional().meta({
    description: "A key's or user's ID or label, a token's subject, or an operator's name.",
  }),
  by_contains: text(255).optional().meta({ description: 'Part of the same texts, case-insensitive.' }),
  action: repeatable(text(255), 100)
    .optional()
    .meta({
      description: 'Only this operation. May be repeated: each of the operations matches.',
      examples: [['createKey', 'rotateKey']],
    }),
  outcome: text(64).optional().meta({ description: '`ok`, `failed` for any error, or an error code.' }),
  since: givenTime.optional(),
  until: givenTime.optional(),
  ...pageFields(MAX_PAGE, 50),
});

export const listAuditEvents = defineOperation({
  id: 'listAudit',
  method: 'GET',
  url: '/audit',
  summary: 'List administrative changes, newest first, a page at a time',
  description:
    'Changes by this API, the console, and the command line, including rejected ones. Kept for `AUDIT_DAYS`. A key limited to certain tenants sees only their events.',
  tag: 'audit',
  scope: 'handler',
  query: listQuery,
  response: { description: 'A page.', schema: z.object({ events: z.array(eventSchema), next }) },
  async run({ database, query, administrator }) {
    const { limit, after, since: from, until: to, ...filter } = query;
    const { since, until } = await readTimes(database, { since: from, until: to });
    const page = await listAudit(
      database,
      {
        tenant: filter.tenant ?? null,
        tenantContains: soughtPart(filter.tenant_contains),
        key: filter.key ?? null,
        by: filter.by ?? null,
        byContains: soughtPart(filter.by_contains),
        actions: filter.action ?? null,
        outcome: filter.outcome ?? null,
        since: since ?? null,
        until: until ?? null,
        scope: administrator.onlyTenants,
      },
      { limit, after: readCursor(timePosition, after) },
    );
    return { events: page.rows.map(eventRecord), next: writeCursor(page.next) };
  },
});

function eventRecord({ requestId, dryRun, ...event }: AuditEvent) {
  return { ...event, request_id: requestId, dry_run: dryRun };
}
