/** A role whose defaults change the text form of values and the meaning of statements. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { MEANING } from '../../src/core/database/database.ts';
import { openSession } from '../../src/core/database/open-database.ts';
import { OperatorError } from '../../src/core/errors/errors.ts';
import { type Admin, openAdmin } from '../support/admin.ts';
import { HOSTILE_SETTINGS, hostileDefaults } from '../support/hostile-session.ts';
import { numberedQuery } from '../support/numbered-query.ts';
import { cmd } from '../support/step-table.ts';
import { createTestDatabase, isCitus, openPool } from '../support/test-database.ts';
import { freshTenant, type Service, startService } from '../support/test-service.ts';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

/** Yields each value whose name says that it is a time, at any depth. */
function* times(value: unknown, name = ''): Generator<[string, unknown]> {
  if (value !== null && typeof value === 'object') {
    for (const [key, each] of Object.entries(value)) yield* times(each, Array.isArray(value) ? name : key);
  } else if (/(?:^|_)(?:at|time|since|until)$/.test(name) && value !== null) yield [name, value];
}

function settingsQuery(names: string[]) {
  const sql = 'SELECT name, current_setting(name) AS setting FROM unnest($1::text[]) AS names (name)';
  const { statement, params } = numberedQuery<{ name: string; setting: string }>(sql, [names]);
  return [statement, params] as const;
}

/** Expects an error from the service on Citus at the start, and returns the commands that the error names. */
async function commandsForNodes(url: string): Promise<string> {
  const opened = openSession({ DATABASE_URL: url }, { notify: () => {}, migrate: true });
  const error = await opened.catch((thrown) => thrown);
  expect(error).toBeInstanceOf(OperatorError);
  const [, nodes, commands] =
    /^The sessions that Citus opens .*: (.*)\. On the coordinator, .*, run: (.*)$/.exec(error.message) ?? [];
  expect(nodes?.match(/:\d+ \(standard_conforming_strings = off\)/g)).toHaveLength(
    inject('postgres').cluster.nodes.length,
  );
  return String(commands);
}

describe('a service whose database role has other default settings', () => {
  let own: Awaited<ReturnType<typeof createTestDatabase>>;
  let service: Service;
  let admin: Admin;
  const tenant = freshTenant('hostile');

  beforeAll(async () => {
    own = await createTestDatabase({ migrated: false });
    const pool = openPool(own.url);
    await pool.query(hostileDefaults(new URL(own.url).pathname.slice(1)));
    if (isCitus()) await pool.query(await commandsForNodes(own.url));
    await pool.end();
    service = await startService('postgres', { DATABASE_URL: own.url });
    admin = await openAdmin(service);
  });
  afterAll(async () => {
    await admin.app.close();
    await service.close();
    await own.drop();
  });

  it('covers every setting that the service sets', () => {
    expect(Object.keys(HOSTILE_SETTINGS).sort()).toStrictEqual(Object.keys(MEANING).sort());
  });

  it("returns times, days, and counts in the API's formats despite the role's settings", async () => {
    const text = "it's \\ a\tbackslash\n".repeat(100);
    for (const command of [
      cmd.create('/memories/a', text),
      cmd.replace('/memories/a', 'nothing', 'x'),
      cmd.view('/memories/a'),
    ])
      await service.execute(command, { tenant });
    const { content } = await service.execute(cmd.view('/memories/a'), { tenant });
    expect(content).toContain("it's \\ a\tbackslash");
    const draft = await admin.call('POST', `/tenants/${tenant}/drafts`, { body: { title: 'tidy' } });
    expect(draft.status).toBe(200);
    await admin.call('PATCH', `/tenants/${tenant}`, { body: { settings: { draft_days: 9 } } });
    const found = await admin.call('POST', '/find', { body: { text: 'backslash' } });
    expect(found.status).toBeLessThan(300);
    await admin.call('POST', '/keys', { body: { tenant, label: 'agent' } });
    const lists = [
      '/tenants',
      `/tenants/${tenant}`,
      '/keys',
      '/jobs',
      '/audit',
      '/usage',
      '/drafts',
      '/receipts',
      `/tenants/${tenant}/usage`,
      `/tenants/${tenant}/usage/days`,
      `/tenants/${tenant}/activity`,
      `/tenants/${tenant}/kept-out`,
      `/tenants/${tenant}/drafts`,
      `/tenants/${tenant}/drafts/${draft.body.id}`,
      `/tenants/${tenant}/versions`,
    ];
    let checked = 0;
    for (const path of lists) {
      const { status, body, text: sent } = await admin.call('GET', path);
      expect([path, status, sent]).toStrictEqual([path, 200, sent]);
      for (const [name, time] of times(body)) {
        expect([path, name, time]).toStrictEqual([path, name, expect.stringMatching(TIME)]);
        checked++;
      }
    }
    expect(checked).toBeGreaterThan(10);
    const { body } = await admin.call('GET', `/tenants/${tenant}`);
    expect(body).toMatchObject({ bytes: Buffer.byteLength(text), files: 1 });
    const { body: shown } = await admin.call('GET', `/tenants/${tenant}/drafts/${draft.body.id}`);
    expect(shown.bytes).toBe(Buffer.byteLength(text));
    const day = Date.now() + 9 * 24 * 60 * 60 * 1000;
    expect(Math.abs(Date.parse(String(shown.expires_at)) - day)).toBeLessThan(24 * 60 * 60 * 1000);
  });

  it("applies all the service's settings to its session", async () => {
    const { rows } = await service.database.query(...settingsQuery(Object.keys(MEANING)));
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toStrictEqual(MEANING);
  });
});
