/** The commands that run the deployment, as an operator runs them. */
import { Command, CommanderError } from 'commander';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { registerExpireCommand } from '../../src/cli/expire-command.ts';
import { registerKeyCommands } from '../../src/cli/key-commands.ts';
import { registerMemoryCommands } from '../../src/cli/memory-commands.ts';
import { registerPruneCommand } from '../../src/cli/prune-command.ts';
import { registerRedactCommand } from '../../src/cli/redact-command.ts';
import { registerTenantCommands } from '../../src/cli/tenant-commands.ts';
import { loadConfig } from '../../src/config.ts';
import { OperatorError } from '../../src/errors.ts';
import { type Service, startService } from '../support/service.ts';
import { cmd } from '../support/table.ts';

let service: Service;
beforeAll(async () => {
  service = await startService('postgres', { AUTH: 'keys' });
});
afterAll(() => service.close());

/** Runs a command in this process, on the service's database, as src/cli.ts does. */
async function run(...args: string[]): Promise<{ code: number; output: string }> {
  const lines: string[] = [];
  const collect = (text: unknown) => {
    lines.push(String(text).replace(/\n$/, ''));
    return true;
  };
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation(collect),
    vi.spyOn(console, 'log').mockImplementation(collect),
    vi.spyOn(console, 'error').mockImplementation(() => {}),
  ];
  const program = new Command('memory-service').exitOverride();
  program.configureOutput({ writeOut: collect, writeErr: collect });
  const open = async () => ({
    config: loadConfig({ AUTH: 'none' }),
    database: { ...service.database, close: async () => {} },
  });
  for (const register of [
    registerTenantCommands,
    registerKeyCommands,
    registerExpireCommand,
    registerMemoryCommands,
    registerRedactCommand,
    registerPruneCommand,
  ]) {
    register(program, open);
  }
  for (const command of program.commands)
    for (const each of [command, ...command.commands]) {
      each.exitOverride().configureOutput({ writeOut: collect, writeErr: collect });
    }
  try {
    await program.parseAsync(args, { from: 'user' });
    return { code: 0, output: lines.join('\n') };
  } catch (error) {
    if (error instanceof OperatorError) return { code: 1, output: `memory-service: ${error.message}` };
    if (error instanceof CommanderError) return { code: error.exitCode, output: lines.join('\n') };
    throw error;
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

it('tenants, keys, usage: from nothing to erased', async () => {
  expect(await run('tenants', 'create', 'acme', '--max-files', '2')).toStrictEqual({
    code: 0,
    output: 'Created tenant acme.',
  });
  expect(await run('tenants', 'create', 'acme')).toStrictEqual({
    code: 1,
    output: 'memory-service: There is a tenant acme already.',
  });
  expect((await run('tenants', 'create', 'a/b')).output).toContain(
    'A tenant id is 1 to 128 of the characters A-Z a-z 0-9 . _ : @ -',
  );

  const made = await run(
    'keys',
    'create',
    '--tenant',
    'acme',
    '--expires',
    '90d',
    '--label',
    'worker',
    '--json',
  );
  const { id, key } = JSON.parse(made.output) as { id: string; key: string };
  expect(key).toMatch(/^mem_/);
  expect((await run('keys', 'create')).output).toBe(
    'memory-service: Say what the key is for: --tenant <tenant>, or --service; not both.',
  );
  expect((await run('keys', 'create', '--tenant', 'nobody')).output).toBe(
    'memory-service: There is no tenant nobody. Create it with: memory-service tenants create nobody',
  );

  const headers = { authorization: `Bearer ${key}` };
  const created = await service.execute(cmd.create('/memories/a', 'xyz'), { headers });
  expect(created.content).toBe('File created successfully at: /memories/a');
  expect((await service.execute(cmd.view('/memories/a'))).status).toBe(401);

  const listed = await run('keys', 'list', '--tenant', 'acme');
  expect(listed.output).toMatch(new RegExp(`^${id} +acme +read_write +worker `, 'm'));
  expect(listed.output).not.toContain(key);
  expect(JSON.parse((await run('tenants', 'list', '--json')).output)).toMatchObject([
    { id: 'acme', files: 1, bytes: 3, maxFiles: 2 },
  ]);
  expect((await run('usage', 'acme')).output).toBe(
    'TENANTS  FILES  BYTES  HISTORY VERSIONS  HISTORY BYTES\n      1      1      3                 0              0',
  );

  expect(await run('tenants', 'set', 'acme', '--max-files', 'default', '--redact', 'mask')).toStrictEqual({
    code: 0,
    output: 'Changed tenant acme. It takes effect within AUTH_CACHE_SECONDS.',
  });
  expect(JSON.parse((await run('tenants', 'show', 'acme', '--json')).output)).toMatchObject({
    maxFiles: null,
    redact: 'mask',
  });
  expect((await run('tenants', 'set', 'acme')).output).toBe('memory-service: Say what to set; see --help.');
  expect((await run('tenants', 'suspend', 'acme')).code).toBe(0);
  expect(JSON.parse((await run('tenants', 'show', 'acme', '--json')).output).suspendedAt).toMatch(/^\d{4}-/);
  expect((await run('tenants', 'resume', 'acme')).code).toBe(0);
  expect((await run('tenants', 'suspend', 'nobody')).output).toBe(
    'memory-service: There is no tenant nobody. See: memory-service tenants list',
  );

  expect((await run('keys', 'revoke', id)).code).toBe(0);
  expect((await run('keys', 'revoke', id)).code).toBe(1);
  expect(await run('expire', '--dry-run')).toStrictEqual({
    code: 0,
    output: 'Would remove 0 files (0 bytes) of 0 tenants.',
  });

  expect(await run('tenants', 'delete', 'acme')).toStrictEqual({
    code: 1,
    output: 'memory-service: This erases data: add --yes to do it without being asked.',
  });
  expect(await run('tenants', 'delete', 'acme', '--yes')).toStrictEqual({
    code: 0,
    output:
      'Erased tenant acme: 1 row of tenants, 2 rows of entries, 0 rows of versions, 0 rows of version_contents, 0 rows of past_directories, 0 rows of idempotency_keys, 1 rows of api_keys.',
  });
});

it('every command has help with an example', async () => {
  const all = [
    ...['usage', 'expire', 'ls', 'cat', 'export', 'import', 'redact'].map((name) => [name]),
    ...['create', 'list', 'show', 'set', 'suspend', 'resume', 'delete'].map((name) => ['tenants', name]),
    ...['create', 'list', 'revoke'].map((name) => ['keys', name]),
    ['history', 'prune'],
  ];
  for (const args of all) {
    expect((await run(...args, '--help')).output).toMatch(/Examples?:\n {2}.*memory-service /);
  }
});

it('redact, history prune: the history of a tenant is made smaller', async () => {
  await run('tenants', 'create', 'past', '--history-days', '7', '--max-history-bytes', '600');
  expect((await run('tenants', 'set', 'past', '--history-days', '36501')).output).toContain(
    'Give a whole number of days from 0 to 36500, or default.',
  );
  const { key } = JSON.parse((await run('keys', 'create', '--tenant', 'past', '--json')).output) as {
    key: string;
  };
  const headers = { authorization: `Bearer ${key}` };
  const f = '/memories/f';
  for (const step of [cmd.create(f, 'one'), cmd.replace(f, 'one', 'two'), cmd.replace(f, 'two', 'three')]) {
    expect((await service.execute(step, { headers })).is_error).toBe(false);
  }
  const [first] = await service.query('SELECT id FROM versions WHERE tenant_id = $1 ORDER BY created_at', [
    'past',
  ]);
  expect(await run('redact', 'past', String(first?.id))).toStrictEqual({
    code: 0,
    output:
      'Redacted versions: 1, stored answers: 0.\nOther versions that still have the path: 1. Redact them too if it is a secret.',
  });
  expect(await run('redact', 'past', 'none')).toStrictEqual({
    code: 1,
    output: 'memory-service: The tenant past has no version none. See: memory-service log past',
  });
  expect(JSON.parse((await run('usage', 'past', '--json')).output)).toStrictEqual({
    ...{ tenants: 1, files: 1, bytes: 5, historyVersions: 2, historyBytes: 515 },
  });
  expect((await run('history', 'prune', 'past')).output).toBe('Deleted 0 versions (0 bytes of history).');
  await run('tenants', 'set', 'past', '--history-days', '0');
  expect(JSON.parse((await run('tenants', 'show', 'past', '--json')).output)).toMatchObject({
    historyDays: 0,
    maxHistoryBytes: 600,
  });
  expect((await run('history', 'prune')).output).toBe('Deleted 2 versions (515 bytes of history).');
  expect((await run('history', 'prune', 'nobody')).output).toBe(
    'memory-service: There is no tenant nobody. See: memory-service tenants list',
  );
  const { body } = await service.app.inject('/metrics');
  expect(body).toMatch(/^memory_history_versions_pruned_total [1-9]/m);
  expect(body).toMatch(/^memory_history_bytes_pruned_total [1-9]/m);
});
