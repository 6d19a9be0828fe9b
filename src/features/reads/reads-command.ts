import { Option } from 'commander';
import type { z } from 'zod';
import { listMounts } from '../../core/admin/mount-operations.ts';
import { memoryPath, positiveInteger, sourceOption, tenantId } from '../../core/cli/arguments.ts';
import { type Caller, readList } from '../../core/cli/caller.ts';
import { type Cli, command } from '../../core/cli/cli-command.ts';
import { table } from '../../core/cli/output.ts';
import { outerPath } from '../../core/files/memory.ts';
import { displayTime } from '../../core/history/time-text.ts';
import { mountPath } from '../../core/memory/mount.ts';
import { actorTextVia } from '../../core/memory/origin.ts';
import type { MemoryPath } from '../../core/memory/path.ts';
import { listReads, MAX_PAGE, type readSchema } from './reads-operations.ts';

interface Options {
  toolUseId?: string;
  path?: MemoryPath;
  by?: string;
  source?: string;
  limit: number;
  json?: boolean;
}

type Query = {
  tool_use_id: string | undefined;
  path?: MemoryPath;
  by?: string;
  source?: string;
  limit: number;
};
type Read = z.output<typeof readSchema>;

export const readsCommand = (cli: Cli) =>
  command(
    cli,
    'reads',
    'List which files were read, newest first. Reads are recorded while the setting read-log-days is not 0.',
  )
    .argument('<tenant>', 'tenant ID', tenantId)
    .option(
      '--tool-use-id <id>',
      'only reads by this tool call, also of mounted memories: the files that informed a response',
    )
    .option('--path <path>', 'only reads of this file', memoryPath)
    .option(
      '--by <actor>',
      'only reads by this actor: the ID or label of a key, the subject of a token, or `anonymous`',
    )
    .addOption(sourceOption('only reads with keys of this source: web, import, …'))
    .addOption(new Option('--limit <n>', 'maximum number of records').argParser(positiveInteger).default(50))
    .option('--json', 'print JSON, one object per line')
    .examples(
      'memory-service reads acme --tool-use-id toolu_01A09q90qw90lq917835lq9',
      'memory-service reads acme --path /memories/prefs.md',
      'memory-service reads acme --by laptop --json | jq -r .path',
    )
    .run(async ({ caller }, tenant: string, { limit, json: _, toolUseId, ...filter }: Options) => {
      const query = { ...filter, tool_use_id: toolUseId, limit: Math.min(limit, MAX_PAGE) };
      const own = await readList(
        caller,
        listReads,
        { params: { tenant }, query },
        (page) => page.reads,
        limit,
      );
      const isOfMounts = toolUseId !== undefined && filter.path === undefined;
      const mounted = isOfMounts ? await listMounted(caller, tenant, query) : [];
      const reads = [...own, ...mounted].slice(0, limit);
      const text = table(reads, {
        'LAST READ': ({ last_at: at }) => displayTime(at),
        READS: ({ count }) => count,
        BY: (read) => actorTextVia(read.actor, read.via_tenant),
        'TOOL USE': (read) => read.tool_use_id,
        PATH: ({ path }) => path,
      });
      if (reads.length > 0) return { lines: reads, text };
      const note = `No read matches. Reads are recorded while read-log-days is not 0: memory-service tenants show ${tenant}`;
      return { lines: reads, note, text: () => {} };
    });

/** Lists the reads through a tenant's mounts, with the paths that the tenant sees. */
async function listMounted(caller: Caller, tenant: string, query: Query): Promise<Read[]> {
  const input = { params: { tenant }, query: { mounted_by: false } };
  const { mounts } = await caller.call(listMounts, input);
  const found: Read[] = [];
  for (const mount of mounts) {
    // The status is null for a mounted tenant outside the admin key's scope.
    if (mount.status === null || mount.status === 'missing') continue;
    const reads = await readList(
      caller,
      listReads,
      { params: { tenant: mount.tenant }, query },
      (page) => page.reads,
    );
    for (const read of reads)
      if (read.via_tenant === tenant)
        found.push({ ...read, path: read.path === null ? null : outerPath(read.path, mountPath(mount)) });
  }
  return found;
}
