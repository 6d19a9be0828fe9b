import type { IncomingMessage } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { spoolArchive } from '../archive/export.ts';
import { importEntries } from '../archive/import.ts';
import { readTar } from '../archive/tar.ts';
import type { Database } from '../database/database.ts';
import { ServiceError } from '../errors/errors.ts';
import { findPathsQuery } from '../files/read-queries.ts';
import { prefers } from '../http/accept.ts';
import { departureOf } from '../http/access-log.ts';
import { logFault, problemFor, problemOf } from '../http/problem-details.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import { finishAudit, noteAudit } from './audit.ts';
import { originOf, scopeOf } from './authentication.ts';
import { adminRoutes } from './context.ts';
import { count, flag, memoryPath, pathOrRoot, tenantParams } from './fields.ts';
import { nothingThere } from './files.ts';
import { tenantOf } from './required-tenant.ts';
import { archived, errorResponses, noSuchTenant, overQuota } from './responses.ts';

/** `GET …/export`: a tenant's memory as an archive. */
export const exportRoutes = adminRoutes((app, { database, heavyWork }) => {
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
      const archive = await heavyWork.run(id, signal, () =>
        spoolArchive(database, id, { path, history, scope: scopeOf(request), signal }),
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

const ARCHIVE = 'application/x-tar';
const JSON_LINES = 'application/x-ndjson';

type WriteLine = (line: object) => void;

/** Files between two lines of progress. */
const PROGRESS_STEP = 100;

const counted = z.int().min(0);
const resultFields = {
  dry_run: z.boolean(),
  files: counted,
  bytes: counted,
  directories: z.array(z.string()).meta({ description: 'Directories that were created.' }),
  versions: counted.nullable().meta({ description: 'Versions in the history; null without one.' }),
  history_left_out: z.string().nullable().meta({ description: "Why the archive's history was left out." }),
  masked: z
    .array(z.object({ name: z.string(), kinds: z.array(z.string()) }))
    .meta({ description: 'Files in which secrets were masked, with the kinds of secrets.' }),
};
const importedSchema = z.object(resultFields).meta({ id: 'Imported' });
const lines = z.any().meta({
  type: 'string',
  description:
    'Lines of JSON: `{"type": "progress", "step": "check", "files", "bytes"}` while the archive arrives, `{"type": "progress", "step": "write", "files", "of"}` while its files are written, then `{"type": "result", …}` with the fields of the JSON response, or `{"type": "error", "problem"}`.',
});

/** `POST …/import`: an archive into a tenant's memory. */
export const importRoutes = adminRoutes((app, { config, database, heavyWork }) => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(ARCHIVE, (_request, body, done) => done(null, body));

  app.post(
    '/tenants/:tenant/import',
    {
      config: { bodyType: ARCHIVE },
      schema: {
        operationId: 'importMemory',
        summary: 'Import an archive into a memory, all or nothing',
        description: `A tar archive, not compressed. Nothing is imported if any entry is invalid or already exists; the rules and limits of agents apply. With \`Accept: ${JSON_LINES}\`, the response is a stream of JSON lines with the progress; the last line has the result or the error.`,
        tags: ['memory'],
        consumes: [ARCHIVE],
        params: tenantParams,
        querystring: z.strictObject({
          into: memoryPath.optional().meta({
            description:
              'The directory to import into; required for an archive without a folder `memories/`.',
          }),
          strip: count(0, 99)
            .optional()
            .meta({ description: 'How many leading segments to remove from each path.' }),
          dry_run: flag.default(false),
        }),
        body: z.any().meta({ type: 'string', format: 'binary' }),
        response: {
          200: {
            description: 'What was imported, or would be with `dry_run`.',
            content: {
              'application/json': { schema: importedSchema },
              [JSON_LINES]: { schema: lines },
            },
          },
          ...errorResponses('takes an archive', [
            noSuchTenant,
            new ServiceError('paths_in_use', ['/memories/notes.md'], 1),
            new ServiceError('secrets_setting_changed', 'acme'),
            overQuota('import'),
            archived,
          ]),
        },
      },
    },
    async (request, reply) => {
      const tenant = tenantOf(request);
      const { into, strip, dry_run: dryRun } = request.query;
      const signal = departureOf(request, reply);
      const inTurn = <T>(write: () => Promise<T>) => heavyWork.run(tenant.id, signal, write);
      const work = async (write?: WriteLine) => {
        const masked: { name: string; kinds: string[] }[] = [];
        const onChanged = (name: string, kinds: string[]) => masked.push({ name, kinds });
        const options = {
          origin: originOf(request),
          dryRun,
          into,
          strip,
          onChanged,
          ...progressIn(signal, write),
        };
        const { files, bytes, directories, versions, historyLeftOut } = await importEntries(
          { config, database, tenant, inTurn },
          readTar(Readable.from(chunksOf(request.raw))),
          options,
        );
        noteAudit(request, { details: { files, bytes, directories: directories.length, versions } });
        const history = { versions, history_left_out: historyLeftOut };
        return { dry_run: dryRun, files, bytes, directories, ...history, masked };
      };
      if (!prefers(request.headers.accept, JSON_LINES, 'application/json')) return work();
      return sendLines(request, reply, work);
    },
  );
});

/**
 * Reads the body as it arrives. A reader that ends early leaves the connection open for the response.
 *
 * @throws ServiceError that ended the reading of the body, or 499 when its connection was lost
 */
async function* chunksOf(body: IncomingMessage): AsyncGenerator<Buffer> {
  let failure: unknown;
  body.once('error', (error) => {
    failure = error;
  });
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) yield chunk;
  } catch (error) {
    failure ??= error;
  }
  if (failure !== undefined)
    throw failure instanceof ServiceError ? failure : new ServiceError('client_gone');
}

/** Writes lines of progress, and ends the import before its next file once the client has left. */
function progressIn(signal: AbortSignal, write: WriteLine = () => {}) {
  return {
    onProgress: (files: number, bytes: number) => {
      signal.throwIfAborted();
      if (files % PROGRESS_STEP === 0) write({ type: 'progress', step: 'check', files, bytes });
    },
    onWritten: (files: number, of: number) => write({ type: 'progress', step: 'write', files, of }),
  };
}

/** Responds with lines of JSON: those that `work` writes, then its result or its error. */
function sendLines(
  request: FastifyRequest,
  reply: FastifyReply,
  work: (write: WriteLine) => Promise<object>,
): FastifyReply {
  const lines = new PassThrough();
  const write: WriteLine = (line) => lines.write(`${JSON.stringify(line)}\n`);
  work(write)
    .then(
      (result) => write({ type: 'result', ...result }),
      (error) => write({ type: 'error', problem: failed(error, request) }),
    )
    .finally(() => finishAudit(request, reply))
    .finally(() => lines.end());
  return reply.type(JSON_LINES).send(lines);
}

function failed(error: unknown, request: FastifyRequest): object {
  const problem = problemFor(error);
  request.logEntry.outcome = problem.code;
  if (problem.status >= 500) logFault(problem, request);
  return problemOf(problem, request.id);
}
