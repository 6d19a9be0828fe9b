/**
 * The snapshot's bytes, which stay the same until the memory changes.
 *
 * @module-tag long
 */
import { expect, it } from 'vitest';
import { createRandom } from '../support/random.ts';
import { cmd } from '../support/step-table.ts';
import { freshTenant, type Service, startSharedService } from '../support/test-service.ts';

const names = Array.from({ length: 12 }, (_, i) => `/memories/${['pinned', 'a/b', 'c'][i % 3]}/${i}.md`);
const texts = ['', 'plain', '# Heading\ntext', '---\ndescription: described\n---\n'];

async function snapshot({ app }: Service, tenant: string): Promise<{ snapshot: string; version: string }> {
  return (await app.inject({ url: '/context', headers: { 'x-tenant-id': tenant } })).json();
}

/** Returns a change to a random file, with the paths that it can concern. */
function randomChange({ below, of }: ReturnType<typeof createRandom>, i: number) {
  const [path, to] = [of(names), of(names)];
  const changes = [
    { input: cmd.create(path, `${of(texts)}${i}\n`), paths: [path] },
    { input: cmd.insert(path, 0, `${i}\n`), paths: [path] },
    { input: cmd.delete(path), paths: [path] },
    { input: cmd.rename(path, to), paths: [path, to] },
  ];
  return changes[below(changes.length)] as (typeof changes)[number];
}

/** Returns the lines that belong to no file among `paths`, without the lines of a pinned file's view. */
function otherLines(text: string, paths: readonly string[]): string[] {
  const blocks = text
    .replace(/<\/?memory_snapshot>\n?/g, '')
    .split('\n\n')
    .filter((block) => !paths.some((path) => block.startsWith(`Here's the content of ${path} `)));
  return blocks
    .join('\n')
    .split('\n')
    .filter((line) => !paths.some((path) => line.includes(`\t${path}\t`)));
}

it('keeps its bytes at two replicas, after a restart, and on both databases, and changes only the lines of a changed file', async () => {
  const first = await startSharedService('postgres');
  let second = await startSharedService('postgres');
  // The suites on Citus run without PGlite.
  const pglite = await startSharedService(process.env.TEST_SET === 'citus' ? 'postgres' : 'pglite');
  const [tenant, twin] = [freshTenant(), freshTenant()];
  const random = createRandom(63);
  let before = await snapshot(first, tenant);
  for (let i = 0; i < 120; i++) {
    const { input, paths } = randomChange(random, i);
    const outcome = await first.execute(input, { tenant });
    expect((await pglite.execute(input, { tenant: twin })).content).toBe(outcome.content);
    const after = await snapshot(second, tenant);
    expect(await snapshot(first, tenant)).toStrictEqual(after);
    expect((await snapshot(pglite, twin)).snapshot).toBe(after.snapshot);
    if (outcome.is_error) expect(after).toStrictEqual(before);
    const listedLines = (text: string) => otherLines(text, paths).filter((line) => line.includes('\t'));
    expect(listedLines(after.snapshot)).toStrictEqual(listedLines(before.snapshot));
    before = after;
    if (i % 40 === 0) {
      await second.close();
      second = await startSharedService('postgres');
    }
  }
  for (let i = 0; i < 1000; i++) expect(await snapshot(i % 2 ? first : second, tenant)).toStrictEqual(before);
  await Promise.all([first.close(), second.close(), pglite.close()]);
});

it('appends changes that lead from each snapshot to the next', async () => {
  const service = await startSharedService('postgres');
  const tenant = freshTenant();
  const random = createRandom(64);
  let last = await snapshot(service, tenant);
  /** Each path's line, or its pinned content, that an agent knows from the snapshots and changes so far. */
  let known = readKnown(last.snapshot);
  for (let i = 0; i < 150; i++) {
    const steps = 1 + random.below(3);
    for (let step = 0; step < steps; step++)
      await service.execute(randomChange(random, 10 * i + step).input, { tenant });
    const headers = { 'x-tenant-id': tenant };
    const {
      changes,
      snapshot: whole,
      version,
    } = (await service.app.inject({ url: `/context?since=${last.version}`, headers })).json() as {
      changes: string | null;
      snapshot: string | null;
      version: string;
    };
    if (whole !== null) known = readKnown(whole);
    else {
      const [, gone = ''] = (changes ?? '').split('These files were deleted or renamed:\n');
      for (const path of gone.split('\n')) known.delete(path);
      for (const [path, text] of readKnown(changes ?? '')) known.set(path, text);
    }
    const current = await snapshot(service, tenant);
    expect(version).toBe(current.version);
    expect([...known].sort()).toStrictEqual([...readKnown(current.snapshot)].sort());
    last = current;
  }
  await service.close();
});

function readKnown(text: string): Map<string, string> {
  const known = new Map<string, string>();
  for (const block of text.split('\n\n')) {
    const [, path] = /^(?:<\w+>\n)?Here's the content of (\S+) with/.exec(block) ?? [];
    if (path !== undefined) known.set(path, block.replace(/<\/?memory_\w+>\n?/g, '').trim());
    else
      for (const line of block.split('\n')) {
        const [, listed] = line.split('\t');
        if (listed?.startsWith('/memories/')) known.set(listed, line);
      }
  }
  return known;
}
