import { z } from 'zod';
import { noSuchTenant } from '../../core/admin/admin-errors.ts';
import { defineOperation } from '../../core/admin/admin-operation.ts';
import { tenantId, tenantParams } from '../../core/admin/fields.ts';
import { effectiveSettings } from '../../core/tenants/effective-settings.ts';
import { kinds, MAX_ITEMS } from './findings.ts';

const counted = z.int().min(0);

const findingSchema = z
  .object({
    kind: z.enum(kinds),
    title: z.string().meta({ examples: ['Same content as another file'] }),
    total: counted,
    items: z
      .array(
        z.object({
          path: z.string(),
          detail: z.string().meta({
            description:
              'The other file, the missing path, the kinds of secrets, the last use, or the size, depending on the kind.',
            examples: ['/memories/notes.md'],
          }),
        }),
      )
      .meta({ description: `The first ${MAX_ITEMS}, by path.` }),
    command: z
      .string()
      .nullable()
      .meta({
        description: 'A command that helps; null without items.',
        examples: ["memory-service drafts create acme --title 'Delete duplicates'"],
      }),
  })
  .meta({ id: 'HealthFinding' });

export const getHealth = defineOperation({
  id: 'getHealth',
  method: 'GET',
  url: '/tenants/:tenant/health',
  summary: "Examine a memory's files, and list the files that need attention",
  description:
    'Reads every file. Files beyond 50,000 entries or 256 MB are not examined: `examined` is then less than `files`. Detected secrets are listed by kind, without their text.',
  tag: 'memory',
  params: tenantParams,
  response: {
    description: 'The findings, with each kind in the same order.',
    schema: z
      .object({
        tenant: tenantId,
        files: counted.meta({ description: "The memory's files." }),
        examined: counted.meta({ description: 'The files that were examined.' }),
        findings: z.array(findingSchema),
      })
      .meta({ id: 'MemoryHealth' }),
  },
  errors: [noSuchTenant],
  isHeavy: true,
  async run({ config, database, services, tenant, signal }) {
    // The import is deferred because few commands need it.
    const { memoryHealth } = await import('./memory-health.ts');
    const health = (await services()).featureService(memoryHealth);
    const { maxContextChars } = effectiveSettings(tenant, config);
    const { findings, examined } = await health.examine(database, tenant, { maxContextChars, signal });
    const files = Math.max(tenant.files, examined);
    return { tenant: tenant.id, files, examined, findings: findings.report(tenant.id) };
  },
});
