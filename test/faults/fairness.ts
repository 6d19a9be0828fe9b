/**
 * `npx tsx test/faults/fairness.ts`, after `npm run build`: measures one tenant's latency while another tenant or a
 * stranger attacks. The tenant sends views and creates at a fixed rate, independent of responses. It is a measurement,
 * not a test. SECONDS (5) is the duration of each attack, ONLY selects attacks by a part of the title, and FAULTS_CLI
 * names another build.
 */
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { newApiKey } from '../../src/core/tenants/keys.ts';
import { freePort, PostgresServer } from '../support/faults/postgres-server.ts';
import { Replica } from '../support/faults/replica.ts';
import { installBinaries } from '../support/postgres/binaries.ts';
import { cmd } from '../support/step-table.ts';
import { adminAttacks, prepareAdministeredTenants } from './admin-attacks.ts';
import { ATTACKER, type Attack, attacks, type Counts, KIB, type Setup, send } from './attacks.ts';

const SECONDS = Number(process.env.SECONDS ?? 5);
const QUIET_SECONDS = SECONDS / 2;
/** Interval at which the measured tenant's requests in flight never exceed its share. */
const EVERY_MS = 20;
const TENANT = 'quiet';

interface Measured {
  p99: number;
  rejected: number;
}

/** Sends requests at a fixed rate for some seconds. Returns latencies in milliseconds. */
async function trickle(
  url: string,
  headers: Record<string, string>,
  isOver: () => boolean,
): Promise<Measured> {
  const times: number[] = [];
  let rejected = 0;
  const sent: Promise<void>[] = [];
  for (let turn = 0; !isOver(); turn++) {
    const input = turn % 2 ? cmd.view('/memories/f') : cmd.create(`/memories/${randomUUID()}`, 'x');
    const start = performance.now();
    sent.push(
      send(url, JSON.stringify(input), headers).then((status) => {
        times.push(performance.now() - start);
        if (status !== 200) rejected++;
      }),
    );
    await delay(EVERY_MS);
  }
  await Promise.all(sent);
  times.sort((a, b) => a - b);
  return { p99: times[Math.floor(times.length * 0.99)] ?? 0, rejected };
}

const createTimer = (seconds: number) => {
  const end = performance.now() + seconds * 1000;
  return () => performance.now() > end;
};

async function measure({ title }: Attack, url: string, headers: Record<string, string>): Promise<void> {
  const quiet = await trickle(url, headers, createTimer(QUIET_SECONDS));
  const attacker = fork(new URL('./attacker.ts', import.meta.url), [title, url, String(SECONDS), adminUrl]);
  const answer = once(attacker, 'message');
  let isOver = false;
  answer.then(() => {
    isOver = true;
  });
  const attacked = await trickle(url, headers, () => isOver);
  const [counts] = (await answer) as [Counts];
  const { answered, rejected } = counts;
  const ratio = (attacked.p99 / quiet.p99).toFixed(1);
  console.log(
    `| ${title} | ${quiet.p99.toFixed(1)} ms | ${attacked.p99.toFixed(1)} ms | ${ratio} | ${attacked.rejected} | ${answered} | ${rejected} |`,
  );
}

const scratch = await mkdtemp(join(tmpdir(), 'memory-service-fairness-'));
const postgres = await PostgresServer.create({
  binaries: await installBinaries(scratch),
  directory: join(scratch, 'postgres'),
});

/** Credentials for the measured tenant: an API key, and a token whose issuer hangs after the first request. */
const apiKey = newApiKey();
const { publicKey, privateKey } = await generateKeyPair('ES256');
const jwk = { ...(await exportJWK(publicKey)), kid: 'known', alg: 'ES256' };
let jwksRequests = 0;
const issuer = createServer((_, response) => {
  if (jwksRequests++ === 0) response.end(JSON.stringify({ keys: [jwk] }));
}).listen(0, '127.0.0.1');
await once(issuer, 'listening');
const token = await new SignJWT({ tenant: TENANT })
  .setProtectedHeader({ alg: 'ES256', kid: 'known' })
  .setIssuer('https://issuer')
  .setAudience('memory')
  .setExpirationTime('1h')
  .sign(privateKey);

const adminPort = await freePort();
const adminUrl = `http://127.0.0.1:${adminPort}/v1`;

const named = { 'x-tenant-id': TENANT };
const setups: Record<Setup, { env: Record<string, string>; headers: Record<string, string> }> = {
  plain: { env: {}, headers: named },
  searched: { env: {}, headers: named },
  redacting: { env: { SECRETS: 'mask' }, headers: named },
  keys: { env: { AUTH: 'keys' }, headers: { authorization: `Bearer ${apiKey.key}` } },
  jwt: {
    env: {
      AUTH: 'jwt',
      JWKS_URL: `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/`,
      JWT_ISSUER: 'https://issuer',
      JWT_AUDIENCE: 'memory',
    },
    headers: { authorization: `Bearer ${token}` },
  },
  stalled_log: { env: { LOG_LEVEL: 'info' }, headers: named },
  administered: { env: { ADMIN_PORT: String(adminPort) }, headers: named },
};

try {
  console.log(
    '| attack | p99 when quiet | p99 | ratio | rejected | the attacker’s answers | its rejections |',
  );
  console.log('| --- | ---: | ---: | ---: | ---: | ---: | ---: |');
  const wanted = [...attacks, ...adminAttacks].filter(({ title }) => title.includes(process.env.ONLY ?? ''));
  for (const [setup, { env, headers }] of Object.entries(setups)) {
    const own = wanted.filter((each) => each.setup === setup);
    if (own.length === 0) continue;
    const replica = await Replica.create({
      DATABASE_URL: postgres.url(),
      MAX_TENANT_FILES: '20000',
      MAX_TENANT_BYTES: '0',
      ...env,
    });
    await replica.start();
    await prepare(replica.url, setup, headers);
    if (setup === 'stalled_log') replica.stopReadingOutput();
    await trickle(replica.url, headers, createTimer(QUIET_SECONDS));
    for (const attack of own) {
      await measure(attack, replica.url, headers);
      // Leftover requests from this attack must not affect the next attack.
      await delay(500);
    }
    await replica.end('SIGKILL');
  }
} finally {
  issuer.close();
  issuer.closeAllConnections();
  await postgres.stop('immediate');
  await rm(scratch, { recursive: true, force: true });
}
process.exit();

/** Creates both tenants' files once, and the measured tenant's key. */
async function prepare(url: string, setup: string, headers: Record<string, string>): Promise<void> {
  await postgres.query(`INSERT INTO tenants (id) VALUES ('${TENANT}') ON CONFLICT DO NOTHING`);
  if (setup === 'keys') {
    await postgres.query(
      `INSERT INTO api_keys (hash, id, tenant_id, access) VALUES ($1, $2, '${TENANT}', 'read_write')`,
      [apiKey.hash, apiKey.id],
    );
  }
  await send(url, JSON.stringify(cmd.create('/memories/f', 'x'.repeat(1000))), headers);
  if (setup === 'administered') return prepareAdministeredTenants(url, (sql) => postgres.query(sql));
  if (setup === 'searched') return prepareSearched();
  if (setup !== 'plain') return;
  const attacker = { 'x-tenant-id': ATTACKER };
  const line = 'all work and no play makes a dull file\n';
  const files = [
    cmd.create('/memories/big', line.repeat(26_886).slice(0, KIB * KIB)),
    cmd.create('/memories/line', 'a'.repeat(KIB * KIB)),
    cmd.create('/memories/d/0', 'x'),
  ];
  for (const file of files) await send(url, JSON.stringify(file), attacker);
  await postgres.query(
    `INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at)
     SELECT '${ATTACKER}', '/memories/d/' || n, '/memories/d', 'file', 'x', memory_version_id(memory_id_prefix(now()), gen_random_uuid()), gen_random_uuid(), 'created', now() FROM generate_series(1, 9899) AS n`,
  );
  await postgres.query(
    `UPDATE tenants SET file_count = file_count + 9899, byte_count = byte_count + 9899 WHERE id = '${ATTACKER}'`,
  );
}

/** Creates 10,000 files of 5 KB with similar texts. */
async function prepareSearched(): Promise<void> {
  await postgres.query(`DELETE FROM entries WHERE tenant_id = '${ATTACKER}'`);
  await postgres.query(`INSERT INTO tenants (id) VALUES ('${ATTACKER}') ON CONFLICT DO NOTHING`);
  await postgres.query(
    `INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at)
     VALUES ('${ATTACKER}', '/memories', NULL, 'dir', now()), ('${ATTACKER}', '/memories/d', '/memories', 'dir', now())`,
  );
  await postgres.query(`SELECT memory_bind_root('${ATTACKER}')`);
  await postgres.query(
    `INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at)
     SELECT '${ATTACKER}', '/memories/d/' || n, '/memories/d', 'file',
       '# File ' || n || E'\\n' || repeat('The quick brown fox ' || md5(n::text) || E' deploys to staging.\\n', 69),
       memory_version_id(memory_id_prefix(now()), gen_random_uuid()), gen_random_uuid(), 'created', now()
     FROM generate_series(1, 10000) AS n`,
  );
}
