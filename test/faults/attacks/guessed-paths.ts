/**
 * An agent that guesses the paths of hidden files and times the responses. Hidden and missing paths differ in nothing
 * that it can read. Their durations are compared by their medians.
 */
import { cmd } from '../../support/step-table.ts';
import type { Environment } from '../environment.ts';
import { Row } from '../fault-report.ts';
import { execute, openScene } from './scene.ts';

const ROUNDS = process.env.SHORT === 'true' ? 60 : 400;
/** Ratio between the medians, either way. */
const MAX_RATIO = 1.25;

const guesses = (path: string): Record<string, object> => ({
  view: cmd.view(path),
  'view of the directory': cmd.view(path.slice(0, path.lastIndexOf('/'))),
  create: cmd.create(path, 'x'),
  str_replace: cmd.replace(path, 'a', 'b'),
  delete: cmd.delete(path),
  'rename from': cmd.rename(path, '/memories/mine.md'),
  'rename to': cmd.rename('/memories/own.md', path),
});

export async function guessedPaths(environment: Environment): Promise<Row> {
  const row = new Row('an agent that guesses hidden paths and times them');
  const scene = await openScene(environment, { RATE_LIMIT: '0' });
  const [replica] = scene.replicas;
  if (replica === undefined) throw new Error('a scene has a replica');
  await scene.admin('POST', '/tenants', { id: 'guessed' });
  const owner = await scene.newKey({ tenant: 'guessed', access: 'read_write' });
  await execute(replica, owner, cmd.create('/memories/own.md', 'x'));
  // The same number of files, at paths of the same length, are below the hidden directory and are missing.
  for (let i = 10; i < 60; i++)
    await execute(replica, owner, cmd.create(`/memories/hidden/${i}.md`, 'a'.repeat(1000)));
  const agent = await scene.newKey({
    tenant: 'guessed',
    access: 'read_write',
    rights: ['/memories/hidden', '/memories/absent'].map((path) => ({ path, access: 'none' })),
  });
  const guess = async (directory: 'hidden' | 'absent', what: string, i: number) => {
    const input = guesses(`/memories/${directory}/${10 + (i % 50)}.md`)[what] ?? {};
    const start = performance.now();
    const { status, text } = await execute(replica, agent, input);
    return { ms: performance.now() - start, result: `${status} ${text.replaceAll(directory, 'DIR')}` };
  };
  for (const what of Object.keys(guesses('/memories/x'))) {
    const durations = { hidden: [] as number[], absent: [] as number[] };
    for (let i = 0; i < ROUNDS; i++) {
      const order = i % 2 === 0 ? (['hidden', 'absent'] as const) : (['absent', 'hidden'] as const);
      const results = new Set<string>();
      for (const directory of order) {
        const { ms, result } = await guess(directory, what, i);
        durations[directory].push(ms);
        results.add(result);
      }
      row.expect(results.size === 1, `${what} differs: ${[...results].join(' and ')}`);
      row.times++;
    }
    const ratio = median(durations.hidden) / median(durations.absent);
    row.notes.push(`${what}: ${ratio.toFixed(2)}`);
    const isClose = ratio < MAX_RATIO && ratio > 1 / MAX_RATIO;
    row.expectInTime(isClose, `${what} takes ${ratio.toFixed(2)} times as long for a hidden path`);
  }
  await scene.end();
  return row;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
