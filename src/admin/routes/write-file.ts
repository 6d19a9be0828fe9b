import fp from 'fastify-plugin';
import { z } from 'zod';
import { ServiceError } from '../../errors.ts';
import { createAt, replaceAt } from '../../files/changes.ts';
import { utf8Problem } from '../../http/utf8-body.ts';
import { noteAudit } from '../audit.ts';
import { originOf } from '../authentication.ts';
import { adminRoutes } from '../context.ts';
import { memoryPath, tenantParams } from '../fields.ts';
import { changedSchema, changedSince, etagHeader, ifMatch, ifNoneMatch } from '../file-schemas.ts';
import { entityTag, readPrecondition } from '../preconditions.ts';
import { tenantOf } from '../required-tenant.ts';
import { archived, errorResponses, json, noSuchTenant, overQuota } from '../responses.ts';

/** Lets the routes of a scope take text, and nothing else: UTF-8, byte for byte. */
const textBody = fp(
  async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('text/plain', { parseAs: 'buffer' }, (request, body, done) => {
      const problem = utf8Problem(request.headers, body as Buffer);
      if (problem !== undefined) done(problem);
      else done(null, body.toString('utf8'));
    });
  },
  { name: 'text-body' },
);

/** `PUT …/file`: its body is the content. */
export const writeFileRoutes = adminRoutes((app, { config, database }) => {
  app.register(textBody);

  app.put(
    '/tenants/:tenant/file',
    {
      config: { bodyType: 'text/plain' },
      schema: {
        operationId: 'writeFile',
        summary: 'Create or replace a file',
        description:
          'The rules and limits of agents apply: secrets may be masked, so the `ETag` of the response is that of the content as written. Send `If-None-Match: *` to create a file or `If-Match` to replace one; without either, the response is 428.',
        tags: ['memory'],
        consumes: ['text/plain'],
        params: tenantParams,
        headers: z.object({ 'if-match': ifMatch, 'if-none-match': ifNoneMatch }),
        querystring: z.strictObject({ path: memoryPath }),
        body: z.string().meta({ description: 'The whole content, in UTF-8.' }),
        response: {
          200: { ...json('The file was replaced.', changedSchema), headers: etagHeader },
          201: { ...json('The file was created.', changedSchema), headers: etagHeader },
          ...errorResponses('takes text', [
            noSuchTenant,
            changedSince,
            new ServiceError('precondition_required'),
            new ServiceError('file_too_large', '/memories/notes.md', 1048576),
            overQuota('change'),
            archived,
          ]),
        },
      },
    },
    async (request, reply) => {
      const { path } = request.query;
      const expected = readPrecondition(request.headers);
      const session = { config, database, tenant: tenantOf(request), origin: originOf(request) };
      const isNew = expected === 'absent';
      const written = isNew
        ? await createAt(session, path, request.body)
        : await replaceAt(session, path, request.body, expected);
      if (written === undefined) throw new ServiceError('no_file_to_replace', path);
      noteAudit(request, { details: { file: written.action } });
      reply.code(isNew ? 201 : 200).header('ETag', entityTag(written.sha256));
      return { path, action: written.action, message: written.message };
    },
  );
});
