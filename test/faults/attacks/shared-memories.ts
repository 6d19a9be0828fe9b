/**
 * Tenants guess tokens, accept an invitation twice at the same time, mount in circles, and use a share and a draft after
 * the share's end.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Replica } from '../../support/faults/replica.ts';
import { cmd } from '../../support/step-table.ts';
import type { Environment } from '../environment.ts';
import { Row } from '../fault-report.ts';
import { call, execute, openScene, type Scene } from './scene.ts';

const CACHE_SECONDS = 1;
/** Margin for a loaded machine. */
const MARGIN_MS = 1000;
const CIRCLE = ['first', 'second', 'third'];
const DEPTHS = [1, 2, 3, 30];

/** GUESSES (200) is the number of wrong tokens, ROUNDS (50) the number of contested invitations. */
export async function sharedMemories(environment: Environment): Promise<Row> {
  const row = new Row('guessed, contested, circular, and ended shares');
  const env = { SHARING: 'on', AUTH_CACHE_SECONDS: String(CACHE_SECONDS) };
  const scene = await openScene(environment, env, 2);
  const sharing = await openSharing(scene, row);
  await guessTokens(sharing, environment.option('GUESSES', 200, 100));
  await contestInvitations(sharing, environment.option('ROUNDS', 50, 10));
  await mountInCircles(sharing);
  await keepShare(sharing);
  await keepDraft(sharing);
  await scene.end();
  return row;
}

type Sharing = Awaited<ReturnType<typeof openSharing>>;

async function openSharing(scene: Scene, row: Row) {
  const [one, other] = scene.replicas;
  if (one === undefined || other === undefined) throw new Error('the scene has two replicas');
  const keys = new Map<string, string>();
  for (const id of [...CIRCLE, 'attacker']) {
    await scene.admin('POST', '/tenants', { id });
    keys.set(id, await scene.newKey({ tenant: id, access: 'read_write', can_share: true }));
  }
  const key = (id: string) => keys.get(id) ?? '';
  /** @param path path of the agents' API */
  const request = async (replica: Replica, id: string, method: string, path: string, body?: object) => {
    const { status, text } = await call(`${replica.url}${path}`, method, key(id), body);
    row.times++;
    row.expect(status < 500, `${method} ${path} got ${status}`);
    return { status, text };
  };
  const send = async (replica: Replica, id: string, method: string, path: string, body?: object) => {
    const { status, text } = await request(replica, id, method, `/v1${path}`, body);
    return { status, body: text === '' ? {} : (JSON.parse(text) as { id?: string; token?: string }) };
  };
  const run = async (replica: Replica, id: string, input: object): Promise<string> => {
    row.times++;
    const { status, text } = await execute(replica, key(id), input);
    row.expect(status === 200, `${JSON.stringify(input)} got ${status}`);
    return text;
  };
  const invite = async (id: string, options: object = {}) =>
    (await send(one, id, 'POST', '/invitations', options)).body.token ?? '';
  const accept = (replica: Replica, id: string, token: string, name: string) =>
    send(replica, id, 'POST', '/shares', { token, name });
  /** Ends a share while both replicas use it, until no replica may use it any more. */
  const endInUse = async (
    giver: string,
    share: string | undefined,
    use: (replica: Replica) => Promise<boolean>,
  ) => {
    let endedAt = Number.POSITIVE_INFINITY;
    let last = 0;
    const repeat = async (replica: Replica) => {
      while (performance.now() < endedAt + CACHE_SECONDS * 1000 + 2 * MARGIN_MS) {
        const started = performance.now();
        if (await use(replica)) last = Math.max(last, started - endedAt);
        await delay(20);
      }
    };
    const users = [repeat(one), repeat(other)];
    await delay(500);
    const { status } = await send(one, giver, 'DELETE', `/shares/${share}`);
    row.expect(status === 204, `the end of a share got ${status}`);
    endedAt = performance.now();
    await Promise.all(users);
    row.notes.push(`last use of an ended share: ${Math.round(last)} ms after its end`);
    row.expectInTime(
      last <= CACHE_SECONDS * 1000 + MARGIN_MS,
      `an ended share was used for ${Math.round(last)} ms`,
    );
  };
  return { scene, row, one, other, request, send, run, invite, accept, endInUse };
}

async function guessTokens({ row, one, send, invite, accept }: Sharing, guesses: number): Promise<void> {
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
}

async function contestInvitations(sharing: Sharing, rounds: number): Promise<void> {
  const { row, one, other, send, invite, accept } = sharing;
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
}

/** A mount shows the mounted memory's files, and not its mounts: only the next memory is in reach, at one depth. */
async function mountInCircles({ row, one, request, send, run, invite, accept }: Sharing): Promise<void> {
  for (const access of ['read_write', 'propose']) {
    // Writes at depth leave a directory with the mount's name in the next memory, which rejects the name from then on.
    const name = `next-${access}`;
    const shares: (string | undefined)[] = [];
    for (const [i, id] of CIRCLE.entries()) {
      const next = CIRCLE[(i + 1) % CIRCLE.length] ?? '';
      const { status, body } = await accept(one, id, await invite(next, { access }), name);
      row.expect(status === 201, `a mount in a circle got ${status}`);
      shares.push(body.id);
    }
    await delay(CACHE_SECONDS * 1000);
    for (const id of CIRCLE)
      await run(one, id, cmd.create(`/memories/${access}.md`, `${access} mark of ${id}`));

    for (const depth of DEPTHS) {
      const at = `/memories${`/${name}`.repeat(depth)}`;
      const text = await run(one, 'first', cmd.view(`${at}/${access}.md`));
      row.expect(
        /mark of (\w+)/.exec(text)?.[1] === (depth === 1 ? 'second' : undefined),
        `depth ${depth}: ${text}`,
      );
      await run(one, 'first', cmd.create(`${at}/by-first-${access}.md`, `${access} mark of depth ${depth}`));
    }
    for (const [method, path, body] of [
      ['POST', '/search', { query: `${access} mark of` }],
      ['POST', '/search', { query: `${access} mark of`, path: `/memories/${name}` }],
      ['GET', '/context', undefined],
    ] as const) {
      const { status, text } = await request(one, 'first', method, path, body);
      row.expect(status === 200, `${path} got ${status}`);
      row.expect(!text.includes('mark of third'), `${path} shows a mount's mount`);
      row.expect(path !== '/search' || text.includes('mark of second'), `${path} shows no mount: ${text}`);
    }
    for (const id of ['second', 'third']) {
      const text = await run(one, id, cmd.view('/memories'));
      const isWritten = id === 'second' && access === 'read_write';
      row.expect(
        text.includes(`by-first-${access}`) === isWritten,
        `a write arrived in the wrong memory: ${text}`,
      );
    }
    for (const [i, id] of CIRCLE.entries()) await send(one, id, 'DELETE', `/shares/${shares[i]}`);
  }
  const own = await accept(one, 'first', await invite('first'), 'own');
  row.expect(own.status === 409, `a tenant's own invitation got ${own.status}`);
}

/** Reads and writes a mounted file until the share ends, and afterward at the same path, which is then the own memory. */
async function keepShare({ row, one, run, invite, accept, endInUse }: Sharing): Promise<void> {
  await run(one, 'first', cmd.create('/memories/mark.md', 'x'));
  const { body } = await accept(one, 'third', await invite('first', { access: 'read_write' }), 'kept');
  row.expect(body.id !== undefined, 'the share was not accepted');
  await endInUse('first', body.id, async (replica) => {
    const viewed = await run(replica, 'third', cmd.view('/memories/kept/mark.md'));
    const edited = await run(replica, 'third', cmd.insert('/memories/kept/mark.md', 0, 'y'));
    return [viewed, edited].some((text) => !text.includes('does not exist'));
  });
}

/** Keeps a draft of a mounted memory in use after the share's end. */
async function keepDraft({
  scene,
  row,
  one,
  request,
  run,
  invite,
  accept,
  endInUse,
}: Sharing): Promise<void> {
  const { body } = await accept(one, 'third', await invite('first', { access: 'propose' }), 'kept');
  await run(one, 'third', cmd.create('/memories/kept/draft.md', 'kept mark'));
  await endInUse('first', body.id, async (replica) => {
    const viewed = await run(replica, 'third', cmd.view('/memories/kept/draft.md'));
    const edited = await run(replica, 'third', cmd.insert('/memories/kept/draft.md', 0, 'y'));
    return [viewed, edited].some((text) => !text.includes('does not exist'));
  });
  const { text: list } = await scene.admin('GET', '/tenants/first/drafts?state=open');
  const { drafts } = JSON.parse(list) as { drafts: { id: string }[] };
  row.expect(drafts.length === 1, `there are ${drafts.length} open drafts`);
  const changes = async () =>
    (await scene.admin('GET', `/tenants/first/drafts/${drafts[0]?.id}/changes`)).text;
  const before = await changes();
  // The former receiver, and another tenant with a new share, both try to reach the draft.
  await accept(one, 'attacker', await invite('first', { access: 'propose' }), 'kept');
  for (const id of ['third', 'attacker']) {
    await run(one, id, cmd.create('/memories/kept/mine.md', 'kept mark'));
    const { text } = await request(one, id, 'POST', '/search', { query: 'kept mark' });
    row.expect(text.includes('mine.md') && !text.includes('draft.md'), `${id} finds ${text}`);
  }
  row.expect((await changes()) === before, "another caller's write changed the draft");
  const closed = await scene.admin('POST', `/tenants/first/drafts/${drafts[0]?.id}/close`);
  row.expect(closed.status === 200, `a reviewer's rejection got ${closed.status}`);
}
