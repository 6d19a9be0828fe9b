/**
 * The commands of docs/bad-day.md in order, against a real service.
 *
 * @module-tag long
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startProcess } from '../support/process.ts';
import { leaveOut, maskVariables, matchIds, readSteps, Shell } from '../support/typed-page.ts';

const CLONE = 'git clone https://github.com/OWNER/memory-service.git && cd memory-service\nnpm ci\n';
const START = 'AUTH=keys DATA_DIR=bad-day/data npm start\n';

/** Commands that fail on purpose. A revert with conflicts has exit code 3, and `grep` without a match 1. */
const FAILING: [RegExp, number][] = [
  [/^npx memory-service revert (?!.*--take-all)/, 3],
  [/\| grep -c /, 1],
  [/receipts verify bad-day\/changed\.json/, 1],
];

it('prints the documented output of each command in docs/bad-day.md', { timeout: 900_000 }, async () => {
  const [clone, start, ...steps] = await readSteps('docs/bad-day.md');
  expect([clone?.commands, start?.commands]).toStrictEqual([CLONE, `mkdir bad-day\n${START}`]);
  expect(steps.length).toBeGreaterThan(15);

  const directory = await mkdtemp(join(tmpdir(), 'bad-day-'));
  const command = START.replace('bad-day', directory).replace('npm start', 'exec bin/memory-service serve');
  const service = startProcess('bash', ['-c', command], { PORT: '0', LOG_LEVEL: 'info' });
  const [, url = ''] = await service.line(/(http:\/\/127\.0\.0\.1:\d+)/);
  const shell = new Shell({ MEMORY_SERVICE_URL: url });
  onTestFinished(async () => {
    shell.close();
    service.child.kill();
    await service.exit;
    await rm(directory, { recursive: true });
  });

  const ids = new Map<string, string>();
  for (const { commands, output: documented = '' } of steps) {
    let typed = commands.replaceAll('bad-day/', `${directory}/`).replaceAll('http://localhost:8080', url);
    for (const [id, own] of ids) typed = typed.replaceAll(id, own);
    const { code, output } = await shell.run(typed);
    const shown = leaveOut(output.replace(/^\n$/, ''), documented);
    const [, expected = 0] = FAILING.find(([pattern]) => pattern.test(commands)) ?? [];
    expect([commands, code, maskVariables(shown)]).toStrictEqual([
      commands,
      expected,
      maskVariables(documented),
    ]);
    for (const [id, own] of matchIds(shown, documented)) ids.set(id, own);
  }
});
