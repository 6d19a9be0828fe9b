import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { archived, noSuchTenant, overQuota } from '../../core/admin/admin-errors.ts';
import { defineOperation } from '../../core/admin/admin-operation.ts';
import { count, flag, memoryPath, pathOrRoot, tenantParams, text, time } from '../../core/admin/fields.ts';
import { nothingThere } from '../../core/admin/file-operations.ts';
import type { Database } from '../../core/database/database.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { findPathsQuery } from '../../core/files/read-queries.ts';
import { ARCHIVE, JSON_LINES } from '../../core/lib/operation.ts';
import { type MemoryPath, ROOT } from '../../core/memory/path.ts';
import type { SourceEntry } from './entry.ts';
import { explainOutput, exportArchive, spoolArchive, type Total } from './export.ts';
import { importEntries } from './import.ts';
import { spoolChunks } from './spool.ts';
import { packTar, readTar } from './tar.ts';

const binary = z.any().meta({ type: 'string', format: 'binary' });

/** Response header with an archive's totals for the command line, as percent-encoded JSON. */
const TOTAL_HEADER = 'memory-service-total';

/** An exported memory, which is read while it is written to the output. */
export interface ExportedMemory {
  tenant: string;
  /**
   * Writes the memory as an archive.
   *
   * @param options.end whether to end `output` after the archive
   * @param options.onFile called after each file, but not over HTTP
   * @throws ServiceError if the output cannot be written
   */
  writeTo(
    output: Writable,
    options: { end: boolean; onFile?: ((total: Total) => void) | undefined },
  ): Promise<Total>;
}

export const exportMemory = defineOperation({
  id: 'exportMemory',
  method: 'GET',
  url: '/tenants/:tenant/export',
  summary: 'Download a consistent snapshot of a memory, or of a directory in it',
  description:
    'A tar archive with a directory `memories/`. It is complete before the first byte is sent, so a 200 response with its full `Content-Length` is a complete archive. It contains files that agents wrote, under names that agents chose: a `.git` directory can name commands that `git` runs in the unpacked directory.',
  tag: 'memory',
  params: tenantParams,
  query: z
    .strictObject({
      path: pathOrRoot,
      history: flag.default(false).meta({ description: 'Whether to include the history.' }),
    })
    .refine(({ path, history }) => path === ROOT || !history, {
      error: 'is available only for the whole memory.',
      path: ['history'],
    }),
  response: {
    description: 'The archive.',
    schema: binary,
    mediaType: ARCHIVE,
    headers: {
      'Content-Length': { schema: { type: 'integer' }, description: 'The size of the archive.' },
    },
  },
  errors: [noSuchTenant, nothingThere],
  isHeavy: true,
  async run({ database, params: { tenant }, query, administrator, signal }): Promise<ExportedMemory> {
    await checkExists(database, tenant, query.path);
    return {
      tenant,
      async writeTo(output, options) {
        const scope = administrator.onlyTenants;
        const total = await exportArchive(database, tenant, output, { ...query, ...options, scope, signal });
        signal.throwIfAborted();
        return total;
      },
    };
  },
  async encode({ tenant, writeTo }) {
    const { bytes, total, content } = await spoolArchive((output) => writeTo(output, { end: true }));
    return {
      headers: {
        'Content-Type': ARCHIVE,
        'Content-Length': String(bytes),
        // A tenant ID has neither quotes nor backslashes, so it is safe in a quoted string. A path would be unsafe.
        'Content-Disposition': `attachment; filename="${tenant}.tar"`,
        [TOTAL_HEADER]: encodeURIComponent(JSON.stringify(total)),
      },
      body: content,
    };
  },
  async decode({ headers, body }, { tenant }) {
    const total: Total = JSON.parse(decodeURIComponent(headers.get(TOTAL_HEADER) ?? ''));
    return {
      tenant,
      writeTo: (output, { end }) =>
        explainOutput(async () => {
          await pipeline(Readable.from(body ?? []), output, { end });
          return total;
        }),
    };
  },
});

async function checkExists(database: Database, tenant: string, path: MemoryPath): Promise<void> {
  if (path === ROOT) return;
  const { rows } = await database.query(findPathsQuery, { tenant, paths: [path] });
  if (rows.length === 0) throw new ServiceError('nothing_at', tenant, path);
}

/** The body for an import. Over HTTP, the body is an archive. */
export type ImportSource = ({ archive: Readable } | { entries: AsyncIterable<SourceEntry> }) & {
  /** Whether the source may pause for long. Pausing sources are read completely before they are sent. */
  mayPause?: boolean;
};

/** Files between two progress reports. */
const PROGRESS_STEP = 100;

const counted = z.int().min(0);
const importedSchema = z
  .object({
    dry_run: z.boolean(),
    files: counted,
    bytes: counted,
    directories: z.array(z.string()).meta({ description: 'Directories that were created.' }),
    versions: counted.nullable().meta({ description: 'Versions in the history; null without one.' }),
    history_left_out: z
      .string()
      .nullable()
      .meta({ description: "The reason that the archive's history was left out." }),
    masked: z
      .array(z.object({ name: z.string(), kinds: z.array(z.string()) }))
      .meta({ description: "Files in which secrets were masked, with the secrets' kinds." }),
    left_out: z
      .array(z.string())
      .meta({ description: 'macOS binary files (`._*` and `.DS_Store`) that were left out.' }),
    file_paths: z
      .array(z.string())
      .nullable()
      .meta({ description: 'With `dry_run`: the file paths. Otherwise null.' }),
    changed_at: time.nullable().meta({
      description:
        'The time at which the files were created, with which a revert undoes the import; null with `dry_run` or an imported history.',
    }),
  })
  .meta({ id: 'Imported' });
const lines = z.any().meta({
  type: 'string',
  description:
    'JSON lines: `{"type": "progress", "step": "check", "files", "bytes"}` while the archive ' +
    'arrives, `{"type": "progress", "step": "write", "files", "of"}` while its files are ' +
    'written, then `{"type": "result", …}` with the JSON response\'s fields, or `{"type": ' +
    '"error", "problem"}`.',
});

export const importMemory = defineOperation({
  id: 'importMemory',
  method: 'POST',
  url: '/tenants/:tenant/import',
  summary: 'Import an archive into a memory, all or nothing',
  description: `A tar archive, not compressed. No file is imported if any entry is invalid or already exists. The rules and limits for agents apply. With \`Accept: ${JSON_LINES}\`, the response streams the progress in JSON lines; the last line has the result or the error.`,
  tag: 'memory',
  params: tenantParams,
  query: z.strictObject({
    into: memoryPath.optional().meta({
      description: 'The directory to import into; required for an archive without a directory `memories/`.',
    }),
    strip: count(0, 99)
      .optional()
      .meta({ description: 'The number of leading segments to remove from each path.' }),
    dry_run: flag.default(false),
    store: text(200)
      .optional()
      .meta({ description: 'The hosted memory store that the archive comes from, for the audit trail.' }),
  }),
  body: binary as unknown as z.ZodType<ImportSource>,
  bodyType: ARCHIVE,
  // A source that may pause is stored first, because an admin API waits only seconds for each part.
  async pack(source) {
    const archive = 'archive' in source ? source.archive : packTar(source.entries);
    return source.mayPause ? spoolChunks(archive, 'import') : archive;
  },
  response: {
    description: 'The imported files, or with `dry_run` the files to import.',
    schema: importedSchema,
    lines,
  },
  errors: [
    noSuchTenant,
    new ServiceError('paths_in_use', ['/memories/notes.md'], 1),
    new ServiceError('secrets_setting_changed', 'acme'),
    overQuota('import'),
    archived,
  ],
  async run(call) {
    const { config, database, services, tenant, query, body, origin, signal, inSlot, note, onProgress } =
      call;
    const { into, strip, dry_run: dryRun, store } = query;
    if (store !== undefined) note({ details: { store } });
    const leftOut: string[] = [];
    const masked: { name: string; kinds: string[] }[] = [];
    const keptOut = await (await services()).keptOut.textsFor(tenant);
    const imported = await importEntries(
      { config, database, tenant, keptOut, inTurn: inSlot },
      'entries' in body ? body.entries : readTar(body.archive),
      {
        origin,
        dryRun,
        into,
        strip,
        onChanged: (name, kinds) => masked.push({ name, kinds }),
        onLeftOut: (name) => leftOut.push(name),
        onProgress: (files, bytes) => {
          // Stops the import before its next file if the client has disconnected.
          signal.throwIfAborted();
          if (files % PROGRESS_STEP === 0) onProgress?.({ step: 'check', files, bytes });
        },
        onWritten: (files, of) => onProgress?.({ step: 'write', files, of }),
      },
    );
    const { files, bytes, directories, versions, historyLeftOut, filePaths, changedAt } = imported;
    note({ details: { files, bytes, directories: directories.length, versions } });
    return {
      dry_run: dryRun,
      files,
      bytes,
      directories,
      versions,
      history_left_out: historyLeftOut,
      masked,
      left_out: leftOut,
      file_paths: dryRun ? filePaths : null,
      changed_at: dryRun ? null : changedAt,
    };
  },
});
