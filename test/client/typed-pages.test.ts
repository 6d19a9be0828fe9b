/**
 * The commands on documentation pages in order, as a reader types them, against a real service.
 *
 * @module-tag long
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startProcess } from '../support/process.ts';
import { leaveOut, maskVariables, matchIds, readSteps, Shell, type Step } from '../support/typed-page.ts';

const CLONE = 'git clone https://github.com/OWNER/memory-service.git && cd memory-service\nnpm ci\n';
const START = 'AUTH=keys DATA_DIR=bad-day/data npm start\n';
const START_TEAM = 'AUTH=keys SHARING=on DATA_DIR=team/data npm start\n';

/** Starts a service with a page's command, and a shell for commands on its database. */
async function start(typed = START) {
  const directory = await mkdtemp(join(tmpdir(), 'typed-page-'));
  const command = typed
    .replace(/DATA_DIR=[^/]*/, `DATA_DIR=${directory}`)
    .replace('npm start', 'exec bin/memory-service serve');
  const service = startProcess('bash', ['-c', command], { PORT: '0', LOG_LEVEL: 'info' });
  const [, url = ''] = await service.line(/(http:\/\/127\.0\.0\.1:\d+)/);
  const shell = new Shell({ MEMORY_SERVICE_URL: url, DATA_DIR: join(directory, 'data') });
  onTestFinished(async () => {
    shell.close();
    service.child.kill();
    await service.exit;
    await rm(directory, { recursive: true });
  });
  return { directory, url, shell };
}

/**
 * Runs each step's commands, and compares their output.
 *
 * @param edit replaces directories and addresses in the commands
 * @param failing exit codes for commands that fail on purpose
 */
async function type(
  shell: Shell,
  steps: readonly Step[],
  edit: (commands: string) => string,
  failing: readonly [RegExp, number][] = [],
): Promise<void> {
  const ids = new Map<string, string>();
  for (const { commands, output: documented = '' } of steps) {
    let typed = edit(commands);
    for (const [id, own] of ids) typed = typed.replaceAll(id, own);
    const { code, output } = await shell.run(typed);
    const shown = leaveOut(output.replace(/^\n$/, ''), documented);
    const [, expected = 0] = failing.find(([pattern]) => pattern.test(commands)) ?? [];
    expect([commands, code, maskVariables(shown)]).toStrictEqual([
      commands,
      expected,
      maskVariables(documented),
    ]);
    for (const [id, own] of matchIds(shown, documented)) ids.set(id, own);
  }
}

it('prints the documented output for each command in docs/bad-day.md', { timeout: 900_000 }, async () => {
  const [clone, serve, ...steps] = await readSteps('docs/bad-day.md');
  expect([clone?.commands, serve?.commands]).toStrictEqual([CLONE, `mkdir bad-day\n${START}`]);
  expect(steps.length).toBeGreaterThan(15);
  const { directory, url, shell } = await start();
  const edit = (commands: string) =>
    commands.replaceAll('bad-day/', `${directory}/`).replaceAll('http://localhost:8080', url);
  await type(shell, steps, edit, [
    // A revert with conflicts.
    [/^npx memory-service revert (?!.*--take-all)/, 3],
    // No match.
    [/\| grep -c /, 1],
    [/receipts verify bad-day\/changed\.json/, 1],
  ]);
});

it('prints the documented output for each command in docs/team.md', { timeout: 480_000 }, async () => {
  const [clone, serve, ...steps] = await readSteps('docs/team.md');
  expect([clone?.commands, serve?.commands]).toStrictEqual([CLONE, `mkdir team\n${START_TEAM}`]);
  expect(steps.length).toBeGreaterThan(18);
  const { directory, url, shell } = await start(START_TEAM);
  const edit = (commands: string) =>
    commands.replaceAll('team/', `${directory}/`).replaceAll('http://localhost:8080', url);
  await type(shell, steps, edit);
});

/** Stands in for Docker, which tests may not have: `exec` runs a container's command on the test's service. */
const DOCKER = `PATH=$PWD/bin:$PATH
docker() {
  case "$1 $2 $3 $4" in
    'compose up --build -d') ;;
    'compose exec -T memory') shift 4; "$@" ;;
    *) echo "The page has another command: docker $*"; return 1 ;;
  esac
}
`;

it("prints the documented output for the Compose quick start's commands", { timeout: 480_000 }, async () => {
  const steps = await readSteps('docs/production.md', 'Quick start with Docker Compose');
  expect(steps.map(({ commands }) => commands.split('\n')[0])).toStrictEqual([
    'docker compose up --build -d',
    'docker compose exec -T memory memory-service tenants create alice',
    `curl -s http://localhost:8080/execute -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\`,
    'docker compose exec -T memory memory-service log alice',
  ]);
  const { url, shell } = await start();
  await shell.run(DOCKER);
  await type(shell, steps, (commands) => commands.replaceAll('http://localhost:8080', url));
});
