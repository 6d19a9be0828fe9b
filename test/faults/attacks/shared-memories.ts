/** Tenants guess tokens, accept an invitation twice at the same time, mount in circles, and use a share after its end. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { cmd } from '../../support/step-table.ts';
import type { Environment } from '../environment.ts';
import { Row } from '../fault-report.ts';
import { call, execute, openScene } from './scene.ts';

const CACHE_SECONDS = 1;
/** Margin for a loaded machine. */
const MARGIN_MS = 1000;
const CIRCLE = ['first', 'second', 'third'];

/** GUESSES (200) is the number of wrong tokens, ROUNDS (50) the number of contested invitations. */
export async function sharedMemories(environment: Environment): Promise<Row> {
  const guesses = environment.option('GUESSES', 200, 100);
  const rounds = environment.option('ROUNDS', 50, 10);
  const row = new Row('guessed, contested, circular, and ended shares');
  const env = { SHARING: 'on', AUTH_CACHE_SECONDS: String(CACHE_SECONDS) };
  const scene = await openScene(environment, env, 2);
  const [one, other] = scene.replicas;
  if (one === undefined || other === undefined) throw new Error('the scene has two replicas');
  const keys = new Map<string, string>();
  for (const id of [...CIRCLE, 'attacker']) {
    await scene.admin('POST', '/tenants', { id });
    keys.set(id, await scene.newKey({ tenant: id, access: 'read_write', can_share: true }));
  }
  const key = (id: string) => keys.get(id) ?? '';
  const send = async (replica: typeof one, id: string, method: string, path: string, body?: object) => {
    const { status, text } = await call(`${replica.url}/v1${path}`, method, key(id), body);
    row.times++;
    row.expect(status < 500, `${method} ${path} got ${status}`);
    return { status, body: text === '' ? {} : (JSON.parse(text) as { id?: string; token?: string }) };
  };
  const invite = async (id: string, options: object = {}) =>
    (await send(one, id, 'POST', '/invitations', options)).body.token ?? '';
  const accept = (replica: typeof one, id: string, token: string, name: string) =>
    send(replica, id, 'POST', '/shares', { token, name });

  const guessed = new Map<number, number>();
  for (let i = 0; i < guesses; i++) {
    const { status } = await accept(one, 'attacker', `msi_${randomBytes(32).toString('base64url')}`, `g${i}`);
    guessed.set(status, (guessed.get(status) ?? 0) + 1);
  }
  row.notes.push(`guesses: ${[...guessed].map(([status, count]) => `${count} × ${status}`).join(', ')}`);
  row.expect(
    [...guessed.keys()].every((status) => status === 404 || status === 429),
    'a guess had an effect',
  );
  row.expect((guessed.get(404) ?? 0) <= 60, 'guesses were not limited');
  const open = await accept(one, 'second', await invite('first'), 'open');
  row.expect(open.status === 201, `another tenant's acceptance got ${open.status} during the guesses`);
  await send(one, 'second', 'DELETE', `/shares/${open.body.id}`);

  for (let i = 0; i < rounds; i++) {
    const token = await invite('first');
    const results = await Promise.all([
      accept(one, 'second', token, `r${i % 8}`),
      accept(other, 'third', token, `r${i % 8}`),
      accept(other, 'second', token, `s${i % 8}`),
    ]);
    const accepted = results.filter(({ status }) => status === 201);
    row.expect(accepted.length === 1, `an invitation was accepted ${accepted.length} times`);
    for (const { body } of accepted) await send(other, 'first', 'DELETE', `/shares/${body.id}`);
  }

  for (const [i, id] of CIRCLE.entries()) {
    const next = CIRCLE[(i + 1) % CIRCLE.length] ?? '';
    const { status } = await accept(one, id, await invite(next, { access: 'read_write' }), 'next');
    row.expect(status === 201, `a mount in a circle got ${status}`);
  }
  await delay(CACHE_SECONDS * 1000);
  await execute(one, key('first'), cmd.create('/memories/mark.md', 'x'));
  for (const depth of [0, 1, 2, 3, 30]) {
    const path = `/memories${'/next'.repeat(depth)}`;
    const { status, text } = await execute(one, key('first'), cmd.view(path));
    row.expect(status === 200, `a view at depth ${depth} got ${status}`);
    // A mount shows the mounted memory's files, and not its mounts.
    row.expect(
      text.includes('/memories/mark.md') === (depth === 0),
      `the own file is wrong at depth ${depth}`,
    );
    row.times++;
  }
  const own = await accept(one, 'first', await invite('first'), 'own');
  row.expect(own.status === 409, `a tenant's own invitation got ${own.status}`);

  // Ends a share while both replicas read through it.
  const { body } = await send(one, 'third', 'GET', '/shares');
  const share = (body as { received?: { id: string }[] }).received?.[0]?.id;
  let endedAt = Number.POSITIVE_INFINITY;
  let last = 0;
  const read = async (replica: typeof one) => {
    while (performance.now() < endedAt + CACHE_SECONDS * 1000 + 2 * MARGIN_MS) {
      const started = performance.now();
      const { text } = await execute(replica, key('third'), cmd.view('/memories/next/mark.md'));
      row.times++;
      if (!text.includes('does not exist')) last = Math.max(last, started - endedAt);
      await delay(20);
    }
  };
  const readers = [read(one), read(other)];
  await delay(500);
  const ended = await send(one, 'first', 'DELETE', `/shares/${share}`);
  row.expect(ended.status === 204, `the end of a share got ${ended.status}`);
  endedAt = performance.now();
  await Promise.all(readers);
  row.notes.push(`last read through an ended share: ${Math.round(last)} ms after its end`);
  row.expectInTime(
    last <= CACHE_SECONDS * 1000 + MARGIN_MS,
    `an ended share was used for ${Math.round(last)} ms`,
  );
  await scene.end();
  return row;
}
