/**
 * The heaviest work that an admin can request, by six requests at a time, on the tenants from
 * `prepareAdministeredTenants`.
 */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { createArchive } from '../support/create-archive.ts';
import { hardToCompare } from '../support/hard-diff.ts';
import { cmd } from '../support/step-table.ts';
import { fillVastMemory, LAYOUTS } from '../support/vast-memory.ts';
import { type Attack, KIB, send } from './attacks.ts';

/** Maximum number of requests in flight per key. */
const CLIENTS = 6;
/** Tenant with 100 files of 1 MiB. */
const LARGE = 'large';
/** Tenant with a directory of 1,000 files that was renamed 20 times. */
const MOVED = 'moved';
/** Tenant with six files that were replaced by texts that are slow to compare. */
const HARD = 'hard';

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

/** Tenant with 100,000 files in 1,000 directories. */
const VAST = 'vast';

interface AdminRequest {
  method?: 'GET' | 'POST';
  path: string;
  type?: string;
  body?: Buffer | string;
}

/** Returns the response status, or 0 for a broken connection. */
function ask(adminUrl: string, { method = 'GET', path, type, body }: AdminRequest): Promise<number> {
  return new Promise((resolve) => {
    const headers = {
      ...(type === undefined ? {} : { 'content-type': type }),
      ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
    };
    const sent = request(`${adminUrl}${path}`, { agent, method, headers }, (answer) => {
      answer.on('error', () => resolve(0));
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
    });
    sent.on('error', () => resolve(0));
    sent.end(body);
  });
}

/** @param tenant tenant whose last creation time is passed to `next` */
function administrators(tenant: string, next: (at: string) => AdminRequest): Attack['run'] {
  return async (_url, isOver, adminUrl) => {
    const counts = { answered: 0, rejected: 0 };
    const created = await fetch(`${adminUrl}/tenants/${tenant}/versions?operation=created&limit=1`);
    const { versions } = (await created.json()) as { versions: { created_at: string }[] };
    const at = versions[0]?.created_at ?? '';
    const work = async () => {
      while (!isOver()) {
        if ((await ask(adminUrl, next(at))) === 200) counts.answered++;
        else counts.rejected++;
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, work));
    return counts;
  };
}

const json = (path: string, body: object): AdminRequest => ({
  method: 'POST',
  path,
  type: 'application/json',
  body: JSON.stringify(body),
});

const archive = createArchive(
  Object.fromEntries(
    Array.from({ length: 100 }, (_, i) => [`memories/${i}`, 'all work and no play\n'.repeat(5000)]),
  ),
);

const administratorAttack = (title: string, tenant: string, next: (at: string) => AdminRequest): Attack => ({
  title: `administrators: ${title}`,
  setup: 'administered',
  run: administrators(tenant, next),
});

/** Repeats the requests that the console sends to open a file, now and at a past time, with all counts. */
function createBrowser(): () => AdminRequest {
  const directory = LAYOUTS.nested.parent;
  const past = `at=${new Date(Date.now() - 30 * 3_600_000).toISOString()}`;
  const file = `${directory}/file-099500.md`;
  const paths = [
    '',
    '/activity?buckets=120',
    '/directory/sizes',
    ...['', past].flatMap((at) => [
      `/directory?${at}`,
      `/directory?${at}&from_directory=${directory}`,
      `/directory?${at}&path=${directory}`,
      `/file?${at}&path=${file}`,
    ]),
    `/directory/sizes?${past}`,
    '/adjacent-changes',
    `/versions?path=${file}`,
  ];
  let turn = 0;
  return () => ({ path: `/tenants/${VAST}${paths[turn++ % paths.length]}` });
}

export const adminAttacks: Attack[] = [
  administratorAttack('diffs of texts that are hard to compare', HARD, (at) => ({
    path: `/tenants/${HARD}/diff?at=${at}`,
  })),
  administratorAttack('dry runs of a revert of 20,000 renames', MOVED, (since) =>
    json(`/tenants/${MOVED}/revert`, { by: 'anonymous', since, dry_run: true }),
  ),
  administratorAttack('dry runs of a restore of 1,000 files', MOVED, (at) =>
    json(`/tenants/${MOVED}/restore`, { at, dry_run: true }),
  ),
  administratorAttack('exports of 100 MiB', LARGE, () => ({ path: `/tenants/${LARGE}/export` })),
  administratorAttack('exports of a history', MOVED, () => ({
    path: `/tenants/${MOVED}/export?history=true`,
  })),
  administratorAttack('imports of 10 MB', LARGE, () => ({
    method: 'POST',
    path: `/tenants/${LARGE}/import?into=/memories/${randomUUID()}&strip=1&dry_run=true`,
    type: 'application/x-tar',
    body: archive,
  })),
  administratorAttack('the console browses 100,000 files', VAST, createBrowser()),
  administratorAttack('activity', MOVED, (since) => ({ path: `/tenants/${MOVED}/activity?since=${since}` })),
];

export async function prepareAdministeredTenants(
  url: string,
  run: (sql: string) => Promise<unknown>,
): Promise<void> {
  await run(`INSERT INTO tenants (id) VALUES ('${VAST}')`);
  await fillVastMemory(run, VAST, 'nested');
  await run('ANALYZE');
  const execute = async (tenant: string, input: object) => {
    const status = await send(url, JSON.stringify(input), { 'x-tenant-id': tenant });
    if (status !== 200) throw new Error(`cannot prepare ${tenant}: ${status}`);
  };
  const text = 'all work and no play makes a dull file\n'.repeat(26_886).slice(0, KIB * KIB);
  for (let i = 0; i < 100; i++) await execute(LARGE, cmd.create(`/memories/${i}`, text));
  for (let i = 0; i < 1000; i++) await execute(MOVED, cmd.create(`/memories/d0/${i}`, 'x'));
  for (let i = 0; i < 20; i++) await execute(MOVED, cmd.rename(`/memories/d${i}`, `/memories/d${i + 1}`));
  const { before, after } = hardToCompare();
  for (let i = 0; i < 6; i++) await execute(HARD, cmd.create(`/memories/${i}`, before));
  for (let i = 0; i < 6; i++) await execute(HARD, cmd.replace(`/memories/${i}`, before, after));
}
