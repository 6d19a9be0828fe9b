/**
 * Clients without a credential send sign-in callbacks while the OpenID Connect provider hangs, and other requests
 * outside the admin API.
 */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePort } from '../../support/faults/postgres-server.ts';
import { Replica } from '../../support/faults/replica.ts';
import { openIdVariables } from '../../support/openid.ts';
import { createDatabase, type Environment } from '../environment.ts';
import { Row } from '../fault-report.ts';

/** Maximum number of requests that wait for the provider, for one address. */
const MAX_AT_PROVIDER = 4;
const MAX_HEALTH_MS = 250;
const REJECTIONS = new Set([429, 503]);

/** Starts a provider whose token endpoint never responds. */
async function startHangingProvider() {
  let waiting = 0;
  const seen = { most: 0 };
  const server = createServer((incoming, response) => {
    if (!incoming.url?.includes('.well-known')) {
      seen.most = Math.max(seen.most, ++waiting);
      response.once('close', () => waiting--);
      return;
    }
    const body = { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    seen,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

interface Answer {
  status: number;
  retryAfter: string | undefined;
}

/** Sends a request on a separate connection. The status is 0 if the connection fails. */
function send(url: string, agent: Agent, headers: Record<string, string> = {}): Promise<Answer> {
  return new Promise((resolve) => {
    request(url, { agent, headers }, (response) => {
      response
        .resume()
        .once('end', () =>
          resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] }),
        );
    })
      .once('error', () => resolve({ status: 0, retryAfter: undefined }))
      .end();
  });
}

export async function signInCallbacks({ postgres, option }: Environment): Promise<Row> {
  const count = option('SIGN_IN_CALLBACKS', 3000, 1000);
  const row = new Row('sign-in callbacks while the provider hangs');
  const provider = await startHangingProvider();
  const consoleUrl = `http://127.0.0.1:${await freePort()}`;
  const replica = await Replica.create({
    DATABASE_URL: postgres.url(postgres.port, await createDatabase(postgres)),
    LOG_LEVEL: 'silent',
    ...openIdVariables(provider.issuer, consoleUrl),
    AUTH: 'keys',
  });
  await replica.start();
  const begun = await fetch(`${consoleUrl}/sign-in/openid`, { redirect: 'manual' });
  const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state');
  const cookie = begun.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
  const callback = `${consoleUrl}/sign-in/openid/callback?code=x&state=${state}`;

  const agent = new Agent({ keepAlive: false });
  const healthTimes: number[] = [];
  let descriptors = 0;
  for (const url of [callback, `${consoleUrl}/`, `${consoleUrl}/openapi.json`, `${replica.url}/metrics`]) {
    let pending = count;
    const responses = Promise.all(
      Array.from({ length: count }, () =>
        send(url, agent, { cookie }).finally(() => {
          pending--;
        }),
      ),
    );
    while (pending > 0) {
      const before = performance.now();
      const { status } = await send(`${consoleUrl}/healthz`, agent);
      healthTimes.push(performance.now() - before);
      row.expect(status === 200, `GET /healthz: ${status}`);
      descriptors = Math.max(descriptors, readdirSync(`/proc/${replica.pid}/fd`).length);
    }
    const all = await responses;
    const rejected = all.filter(({ status }) => REJECTIONS.has(status));
    const path = new URL(url).pathname;
    row.expect(
      rejected.every(({ retryAfter }) => retryAfter !== undefined),
      `${path}: no Retry-After`,
    );
    row.expect(
      all.every(({ status }) => status !== 0),
      `${path}: a request without a response`,
    );
    row.notes.push(`${path}: ${rejected.length} of ${count} rejected`);
    row.times += count;
  }
  const [median = 0] = healthTimes.toSorted((a, b) => a - b).slice(healthTimes.length >> 1);
  row.longestMs = Math.max(...healthTimes);
  row.notes.push(`/healthz p50 ${Math.round(median)} ms`, `at most ${descriptors} descriptors`);
  row.expectInTime(median <= MAX_HEALTH_MS, `/healthz p50 ${Math.round(median)} ms`);
  row.expect(
    provider.seen.most <= MAX_AT_PROVIDER,
    `${provider.seen.most} requests of one address waited for the provider`,
  );
  agent.destroy();
  await replica.end();
  provider.close();
  return row;
}
