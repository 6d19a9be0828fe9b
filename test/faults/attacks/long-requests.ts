/**
 * One request at a time, of each kind that reads or changes the maximum amount under the default limits. Each request
 * must not block the event loop for long.
 */
import { createArchive } from '../../support/create-archive.ts';
import { cmd } from '../../support/step-table.ts';
import { createDatabase, type Environment } from '../environment.ts';
import { Row } from '../fault-report.ts';
import { MeasuredService } from './measured-service.ts';

const MIB = 1024 * 1024;
/** Longest character in JSON relative to its size. */
const CONTROL = '\u0001';

export async function longRequests({ postgres, option }: Environment): Promise<Row> {
  const row = new Row('long requests');
  const files = option('LONG_REQUEST_FILES', 10_000, 2000);
  const edited = option('LONG_REQUEST_EDITS', 2000, 100);
  const service = await MeasuredService.start(
    postgres.url(postgres.port, await createDatabase(postgres)),
    row,
  );
  try {
    await manyFiles(service, files);
    await manyLines(service, edited);
    await largeTexts(service);
    await fullPages(service);
  } finally {
    await service.replica.end('SIGKILL');
  }
  row.notes.push(service.slowest());
  return row;
}

/** Measures a memory with the maximum number of files, and changes to all files in one request. */
async function manyFiles(service: MeasuredService, count: number): Promise<void> {
  const tenant = 'files';
  await service.admin('/tenants', { id: tenant });
  const names = Array.from({ length: count }, (_, i) => `memories/all/${i}`);
  const archive = createArchive(Object.fromEntries(names.map((name) => [name, ''])));
  const dry = `/tenants/${tenant}/import?dry_run=true`;
  const directories = createArchive(Object.fromEntries(names.slice(2).map((name) => [`${name}/`, ''])));
  await service.measureRead('import of directories', () => service.admin(dry, directories));
  await service.measureWrite('import', () => service.admin(`/tenants/${tenant}/import`, archive));
  const change = await lastChange(service, tenant);
  await service.measureRead('list of MCP resources', () =>
    service.post('/mcp', tenant, { jsonrpc: '2.0', id: 1, method: 'resources/list', params: {} }),
  );
  await service.measureRead('view of a directory', () =>
    service.execute(tenant, [cmd.view('/memories'), cmd.view('/memories/all')]),
  );
  await service.admin(`/tenants/${tenant}`, { settings: { max_context_chars: 0 } }, 'PATCH');
  await service.measureRead('context', () => service.admin(`/tenants/${tenant}/context`));
  await service.measureRead('health', () => service.admin(`/tenants/${tenant}/health`));
  await service.measureRead('listing of a directory', () =>
    service.admin(`/tenants/${tenant}/directory?path=/memories/all&limit=1000`),
  );

  const move = cmd.rename('/memories/all', '/memories/moved');
  const moved = await service.createDraft(tenant);
  await service.measureWrite('move', () => service.execute(moved, [move]));
  const review = await service.measureRead('comparison of moved files', () =>
    service.readReview(tenant, moved),
  );
  await service.measureWrite('merge of moved files', () =>
    service.admin(`/tenants/${tenant}/drafts/${moved}/merge`, { review }),
  );
  for (const dry_run of [true, false]) {
    const restore = { at: change, dry_run };
    const title = dry_run ? 'dry run of a restore' : 'restore';
    await service.measureWrite(title, () => service.admin(`/tenants/${tenant}/restore`, restore));
  }
  const replacing = await service.createDraft(tenant);
  await service.execute(replacing, [move]);
  await service.measureWrite('replacement of all files', async () =>
    service.admin(`/tenants/${tenant}/drafts/${replacing}/replace`, {
      review: await service.readReview(tenant, replacing),
    }),
  );
  for (const dry_run of [true, false]) {
    const title = dry_run ? 'dry run of a revert' : 'revert';
    const revert = { by: 'anonymous', since: change, dry_run };
    await service.measureWrite(title, () => service.admin(`/tenants/${tenant}/revert`, revert));
  }
  await service.measureRead('differences of two times', () =>
    service.admin(`/tenants/${tenant}/diff?at=${change}&limit=100`),
  );
  await service.measureRead('log', () => service.admin(`/tenants/${tenant}/versions?limit=100`));
  await service.measureRead('export', () => service.admin(`/tenants/${tenant}/export`));
  const history = await service.measureRead('export with its history', () =>
    service.admin(`/tenants/${tenant}/export?history=true`),
  );
  await service.admin('/tenants', { id: 'copy' });
  const exported = Buffer.from(await history.arrayBuffer());
  await service.measureWrite('import with a history', () => service.admin('/tenants/copy/import', exported));
}

async function lastChange(service: MeasuredService, tenant: string): Promise<string> {
  const { versions } = await service.adminJson<{ versions: { created_at: string }[] }>(
    `/tenants/${tenant}/versions?limit=1`,
  );
  return versions[0]?.created_at ?? '';
}

/** Measures merges of files with equal lines, the slowest case, that a draft and its original changed. */
async function manyLines(service: MeasuredService, count: number): Promise<void> {
  const tenant = 'lines';
  await service.admin('/tenants', { id: tenant });
  const text = 'the same\n'.repeat(199);
  const paths = Array.from({ length: count }, (_, i) => `/memories/${i}`);
  const files = Object.fromEntries(paths.map((path) => [path.slice(1), text]));
  await service.admin(`/tenants/${tenant}/import`, createArchive(files));
  const draft = await service.createDraft(tenant);
  for (const side of [draft, tenant])
    await service.execute(
      side,
      paths.map((path) => cmd.insert(path, side === draft ? 0 : 199, `by ${side}\n`)),
    );
  const review = await service.measureRead('comparison of edited lines', () =>
    service.readReview(tenant, draft),
  );
  await service.measureWrite('merge of edited lines', () =>
    service.admin(`/tenants/${tenant}/drafts/${draft}/merge`, { review }),
  );
}

/** Measures files at the maximum size. */
async function largeTexts(service: MeasuredService): Promise<void> {
  const tenant = 'texts';
  await service.admin('/tenants', { id: tenant });
  const large = CONTROL.repeat(MIB - 100);
  const lines = `${CONTROL.repeat(99)}\n`.repeat((MIB - 1000) / 100);
  const files = Array.from({ length: 10 }, (_, i) => `/memories/${i}`);
  await service.measureWrite('creation of a file', () =>
    service.execute(tenant, [cmd.create('/memories/0', large)]),
  );
  for (const path of files.slice(1)) await service.execute(tenant, [cmd.create(path, large)]);
  await service.execute(tenant, [cmd.create('/memories/lines', lines)]);
  await service.measureRead('view of a file', () => service.execute(tenant, [cmd.view('/memories/lines')]));
  await service.measureRead('MCP resource', () =>
    service.post('/mcp', tenant, {
      jsonrpc: '2.0',
      id: 1,
      method: 'resources/read',
      params: { uri: 'memory:///memories/lines' },
    }),
  );
  await service.execute(tenant, [cmd.create('/memories/conflicts', alternatingLines('base'))]);
  const draft = await service.createDraft(tenant);
  for (const side of [draft, tenant]) {
    await service.execute(side, [
      cmd.delete('/memories/conflicts'),
      cmd.create('/memories/conflicts', alternatingLines(side === draft ? 'draft' : 'here')),
    ]);
    await service.execute(side, [cmd.insert('/memories/lines', side === draft ? 0 : 10_000, `by ${side}\n`)]);
    await service.execute(
      side,
      files.map((path) => cmd.insert(path, 0, `by ${side}\n`)),
    );
  }
  type Changes = { changes: { memory_id: string; path: string }[] };
  const { changes } = await service.adminJson<Changes>(`/tenants/${tenant}/drafts/${draft}/changes`);
  for (const name of ['lines', '0', 'conflicts']) {
    const change = changes.find(({ path }) => path === `/memories/${name}`);
    await service.measureRead(`difference of a draft's file of 1 MiB (${name})`, () =>
      service.admin(`/tenants/${tenant}/drafts/${draft}/diff?memory_id=${change?.memory_id}`),
    );
  }
  await service.measureRead('admin file', () => service.admin(`/tenants/${tenant}/file?path=/memories/0`));
  await service.measureRead('differences of large files', () =>
    service.admin(`/tenants/${tenant}/diff?limit=100`),
  );
  const store = `/v1/memory_stores/${tenant}`;
  await service.measureRead('full page of memories', () =>
    service.get(`${store}/memories?view=full&limit=100`),
  );
  await service.measureRead('full page of versions', () =>
    service.get(`${store}/memory_versions?view=full&limit=100`),
  );
  await service.measureRead('search', () => service.post('/search', tenant, { query: 'by' }));
}

/** Returns lines in which every second one differs between the sides: the maximum number of conflicts in a text. */
function alternatingLines(side: string): string {
  return Array.from({ length: 60_000 }, (_, i) => (i % 2 === 0 ? `${i}\n` : `${side} ${i}\n`)).join('');
}

/** Measures full pages of lists without files. */
async function fullPages(service: MeasuredService): Promise<void> {
  const text = (length: number) => '\u{1F600}'.repeat(length);
  const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`${text(60)}${i}`, text(512)]));
  for (let i = 0; i < 100; i++)
    await service.post('/v1/memory_stores', 'none', { name: text(255), description: text(1024), metadata });
  await service.measureRead('full page of stores', () => service.get('/v1/memory_stores?limit=100'));
  await service.measureRead('full page of tenants', () => service.admin('/tenants?limit=200'));
  await service.measureRead('full page of versions without contents', () =>
    service.get('/v1/memory_stores/files/memory_versions?limit=100'),
  );
  await service.measureRead('audit trail', () => service.admin('/audit?limit=200'));
}
