import { z } from 'zod';
import { ServiceError } from '../../errors.ts';
import { moveAt } from '../../files/changes.ts';
import { originOf } from '../authentication.ts';
import { adminRoutes } from '../context.ts';
import { memoryPath, tenantParams } from '../fields.ts';
import { nothingThere } from '../file-schemas.ts';
import { tenantOf } from '../required-tenant.ts';
import { errorResponses, json, noSuchTenant, overQuota } from '../responses.ts';

const movedSchema = z
  .object({
    from: z.string(),
    path: z.string(),
    message: z.string().meta({ description: 'The message that an agent would read.' }),
  })
  .meta({ id: 'Moved' });

/** `POST …/move`: a file or a directory to another path. */
export const moveRoutes = adminRoutes((app, { config, database }) => {
  app.post(
    '/tenants/:tenant/move',
    {
      schema: {
        operationId: 'move',
        summary: 'Move or rename a file, or a directory and everything below it',
        description:
          'Nothing is overwritten, and the history follows each file. Missing directories above the new path are made. Moving it back undoes it.',
        tags: ['memory'],
        params: tenantParams,
        body: z.strictObject({ from: memoryPath, to: memoryPath }),
        response: {
          200: json('It is moved.', movedSchema),
          ...errorResponses('takes JSON', [
            noSuchTenant,
            nothingThere,
            new ServiceError('destination_exists', '/memories/notes.md'),
            overQuota('change'),
          ]),
        },
      },
    },
    async (request) => {
      const { from, to } = request.body;
      const session = { config, database, tenant: tenantOf(request), origin: originOf(request) };
      const message = await moveAt(session, from, to);
      return { from, path: to, message };
    },
  );
});
