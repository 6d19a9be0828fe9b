import { z } from 'zod';
import { spoolArchive } from '../../archive/export.ts';
import { findPathsQuery } from '../../archive/import-transaction.ts';
import { ServiceError } from '../../errors.ts';
import { departureOf } from '../../http/departure.ts';
import { type MemoryPath, ROOT } from '../../memory/path.ts';
import type { Database } from '../../postgres/database.ts';
import { adminRoutes } from '../context.ts';
import { flag, pathOrRoot, tenantParams } from '../fields.ts';
import { nothingThere } from '../file-schemas.ts';
import { errorResponses, noSuchTenant } from '../responses.ts';
import { Turns } from '../turns.ts';

/** `GET …/export`: a tenant's memory as an archive. */
export const exportRoutes = adminRoutes((app, { database }) => {
  const turns = new Turns();

  app.get(
    '/tenants/:tenant/export',
    {
      // HEAD would make the whole archive.
      exposeHeadRoute: false,
      schema: {
        operationId: 'exportMemory',
        summary: 'Download a memory, or a directory of it, as of one moment',
        description:
          'A tar archive with a folder `memories/`. It is complete before the first byte is sent, so a 200 response with its full `Content-Length` is a complete archive. It contains what agents wrote, under the names they chose: a `.git` directory can name commands that `git` runs in the unpacked folder.',
        tags: ['memory'],
        params: tenantParams,
        querystring: z
          .strictObject({
            path: pathOrRoot,
            history: flag.default(false).meta({ description: 'Whether to include the history.' }),
          })
          .refine(({ path, history }) => path === ROOT || !history, {
            error: 'is available only for the whole memory.',
            path: ['history'],
          }),
        response: {
          200: {
            description: 'The archive.',
            headers: {
              'Content-Length': { schema: { type: 'integer' }, description: 'The size of the archive.' },
            },
            content: {
              'application/x-tar': { schema: z.any().meta({ type: 'string', format: 'binary' }) },
            },
          },
          ...errorResponses('reads', [noSuchTenant, nothingThere]),
        },
      },
    },
    async (request, reply) => {
      const { tenant: id } = request.params;
      const { path, history } = request.query;
      const signal = departureOf(request, reply);
      await checkExists(database, id, path);
      const archive = await turns.run(id, signal, () =>
        spoolArchive(database, id, { path, history, signal }),
      );
      reply.headers({
        'Content-Length': archive.bytes,
        // An id is safe in a quoted string: it has neither quotes nor backslashes. A path may have them.
        'Content-Disposition': `attachment; filename="${id}.tar"`,
      });
      return reply.type('application/x-tar').send(archive.content);
    },
  );
});

async function checkExists(database: Database, tenant: string, path: MemoryPath): Promise<void> {
  if (path === ROOT) return;
  const { rows } = await database.query(findPathsQuery, { tenant, paths: [path] });
  if (rows.length === 0) throw new ServiceError('nothing_at', tenant, path);
}
