/** Two replicas that write to one tenant simultaneously. */
import { expect, it } from 'vitest';
import { History } from '../../src/core/history/history.ts';
import type { Version } from '../../src/core/history/version.ts';
import { assertInvariants } from '../support/invariants.ts';
import { cmd } from '../support/step-table.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { startService } from '../support/test-service.ts';

it('records each concurrent change once, at a later time than the changes before it', async () => {
  const own = await createTestDatabase();
  const replicas = await Promise.all([1, 2].map(() => startService('postgres', { DATABASE_URL: own.url })));
  const [first] = replicas;
  if (first === undefined) throw new Error('There is a replica.');
  try {
    await first.execute(cmd.create('/memories/f', '0\n'));
    const inputs = Array.from({ length: 60 }, (_, i) => [
      cmd.insert('/memories/f', 0, `${i}\n`),
      cmd.create(`/memories/n${i % 20}`, 'x'),
      cmd.delete(`/memories/n${i % 20}`),
    ]).flat();
    const answers = await Promise.all(
      inputs.map((input, i) => (i % 2 === 0 ? first : (replicas[1] ?? first)).execute(input)),
    );
    const done = answers.filter(({ is_error }) => is_error === false).length;
    const versions: Version[] = [];
    for await (const version of new History(first.database).versions('default')) versions.push(version);
    expect(versions).toHaveLength(1 + done);
    expect(new Set(versions.map(({ createdAt }) => createdAt)).size).toBe(versions.length);
    // In time order, each edit added a line to the previous edit's text.
    const sizes = versions
      .filter(({ path }) => path === '/memories/f')
      .map(({ contentSizeBytes }) => contentSizeBytes ?? 0);
    expect(sizes).toStrictEqual([...sizes].sort((a, b) => b - a));
    await assertInvariants(first);
  } finally {
    await Promise.all(replicas.map((each) => each.close()));
    await own.drop();
  }
});
