import type { Command } from 'commander';
import { OperatorError } from '../errors.ts';
import { ROOT } from '../memory/path.ts';
import { PostgresMemory } from '../store/memory-store.ts';
import { tenantDefaults } from '../tenants/effective-settings.ts';
import { tenantId } from './arguments.ts';
import { type Io, Progress } from './io.ts';
import { printLine } from './output.ts';
import { DEFAULT_STORE_URL, type RemoteMemory, RemoteStore } from './remote-store.ts';
import { type Open, operatorOrigin, type TenantSession, withTenant } from './session.ts';

interface PushOptions {
  toStore: string;
  storeUrl: string;
  dryRun?: boolean;
}

const PAGE = { limit: 20, bytes: 4 * 1024 * 1024 };

/** `push`: a tenant's files into a hosted memory store. */
export function registerPushCommand(program: Command, open: Open, io: Io): void {
  program
    .command('push')
    .description(
      "Write a tenant's files to a hosted memory store: creates and updates memories, and deletes none. If it is interrupted, run it again: unchanged memories are skipped.",
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .requiredOption('--to-store <id>', 'the store, written with the key in ANTHROPIC_API_KEY')
    .option('--store-url <url>', 'where the store is', DEFAULT_STORE_URL)
    .option('--dry-run', 'list what would be written, without writing it')
    .addHelpText('after', '\nExample:\n  memory-service push acme --to-store memstore_01ABC --dry-run')
    .action((tenant: string, { toStore, storeUrl, dryRun = false }: PushOptions) =>
      withTenant(open, tenant, (session) => push(session, new RemoteStore(toStore, storeUrl), dryRun, io)),
    );
}

async function push(session: TenantSession, store: RemoteStore, dryRun: boolean, io: Io): Promise<void> {
  const there = new Map<string, RemoteMemory>();
  for await (const memory of store.memories('basic')) there.set(memory.path, memory);
  const progress = new Progress(io.stderr, 'Compared');
  const done = { created: 0, updated: 0, unchanged: 0 };
  const changed: string[] = [];
  let bytes = 0;
  try {
    for await (const { path, content, sha256 } of files(session)) {
      const shown = path.slice(ROOT.length);
      const found = there.get(shown);
      const action =
        found === undefined ? 'created' : found.content_sha256 === sha256 ? 'unchanged' : 'updated';
      if (dryRun && action !== 'unchanged') {
        progress.end();
        printLine(io.stdout, `${action === 'created' ? 'create' : 'update'} ${shown}`);
      }
      const isDone = dryRun || action === 'unchanged' || (await store.write(shown, content ?? '', found));
      if (isDone) done[action]++;
      else changed.push(shown);
      bytes += Buffer.byteLength(content ?? '');
      progress.update(done.created + done.updated + done.unchanged, bytes);
    }
  } finally {
    progress.end();
  }
  const { created, updated, unchanged } = done;
  const [create, update] = dryRun ? ['Would create', 'update'] : ['Created', 'updated'];
  printLine(io.stderr, `${create} ${created} and ${update} ${updated} memories; ${unchanged} unchanged.`);
  if (changed.length > 0) {
    throw new OperatorError(
      `Skipped, because they changed in the store meanwhile or their path is occupied:\n  ${changed.join('\n  ')}`,
    );
  }
}

/** The tenant's files in the order of their paths, read page by page. */
async function* files({ config, database, tenant }: TenantSession) {
  const defaults = tenantDefaults(config);
  const memory = new PostgresMemory(database, {
    batchSize: 1,
    maxStoredResults: config.MAX_TENANT_ANSWERS,
    defaults,
  });
  const memories = memory.memoriesOf(tenant.id, { autoCreate: false, origin: operatorOrigin() });
  for (let after = ''; ; ) {
    const { rows, hasMore } = await memories.page(0, { top: ROOT, after, withContent: true, ...PAGE });
    yield* rows;
    const last = rows.at(-1);
    if (!hasMore || last === undefined) return memory.close();
    after = last.path;
  }
}
