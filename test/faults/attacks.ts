/**
 * Attacks by a tenant or a stranger on the service's capacity. `fairness.ts` measures the effect on another tenant.
 */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { newApiKey } from '../../src/core/tenants/keys.ts';
import { cmd } from '../support/step-table.ts';

export interface Counts {
  answered: number;
  rejected: number;
}

/** Service configuration for an attack. */
export type Setup = 'plain' | 'searched' | 'redacting' | 'keys' | 'jwt' | 'stalled_log' | 'administered';

export interface Attack {
  title: string;
  setup: Setup;
  /** @param adminUrl URL of the admin API if the setup has one */
  run(url: string, isOver: () => boolean, adminUrl: string): Promise<Counts>;
}

/** Attacking tenant in setups where a header names the tenant. `fairness.ts` creates its files. */
export const ATTACKER = 'attacker';
export const KIB = 1024;
const CLIENTS = 32;
const MIB = KIB * KIB;

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

/** Returns the response status, or 0 for a broken connection. */
export function send(url: string, body: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(
      `${url}/execute`,
      { agent, method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
      (answer) => {
        answer.on('error', () => resolve(0));
        answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
      },
    );
    sent.on('error', () => resolve(0));
    sent.end(body);
  });
}

/** Runs clients that send one request after the other and pause after a rejection. */
function clients(
  count: number,
  next: () => { body: string; headers?: Record<string, string> },
): Attack['run'] {
  return async (url, isOver) => {
    const counts = { answered: 0, rejected: 0 };
    await Promise.all(
      Array.from({ length: count }, async () => {
        while (!isOver()) {
          const { body, headers = {} } = next();
          const status = await send(url, body, { 'x-tenant-id': ATTACKER, ...headers });
          if (status >= 200 && status < 300) counts.answered++;
          else counts.rejected++;
          if (status !== 200) await delay(5);
        }
      }),
    );
    return counts;
  };
}

/** Opens sockets, and opens them again when the service closes them. Calls `use` for each. */
function sockets(count: number, use: (socket: Socket) => void): Attack['run'] {
  return async (url, isOver) => {
    const { hostname, port } = new URL(url);
    const counts = { answered: 0, rejected: 0 };
    const open = new Set<Socket>();
    const keep = async () => {
      while (!isOver()) {
        const socket = connect(Number(port), hostname).on('error', () => {});
        open.add(socket);
        use(socket);
        // `once` would reject when the service resets the connection.
        await new Promise((resolve) => socket.once('close', resolve));
        open.delete(socket);
        counts.rejected++;
        await delay(5);
      }
    };
    const all = Promise.all(Array.from({ length: count }, keep));
    while (!isOver()) await delay(50);
    for (const socket of open) socket.destroy();
    await all;
    return counts;
  };
}

const json = (input: object) => ({ body: JSON.stringify(input) });
const withIdempotencyKey = (input: object) => ({
  ...json(input),
  headers: { 'idempotency-key': randomUUID() },
});

function head(body: string, contentLength = body.length): string {
  return `POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Tenant-Id: ${ATTACKER}\r\nContent-Length: ${contentLength}\r\n\r\n${body}`;
}

const longPath = json(cmd.view(`/memories/${'e\u0301'.repeat(256 * KIB)}`));
const oneLetter = json(cmd.replace('/memories/line', 'a', 'b'));
const needle = json(cmd.replace('/memories/line', `${'a'.repeat(256 * KIB)}b${'a'.repeat(256 * KIB)}`, ''));
const manyKeys = {
  body: `{${Array.from({ length: 300_000 }, (_, i) => `"k${i}":1`).join(',')}}`,
};
const backtracking = `https://u:pa55word1@h${')'.repeat(64 * KIB)}x`;
const view = JSON.stringify(cmd.view('/memories/big'));
const search = (input: object) => () =>
  json({ type: 'tool_use', id: randomUUID(), name: 'memory_search', input });

export const attacks: Attack[] = [
  { title: 'paths of 768 KiB', setup: 'plain', run: clients(CLIENTS, () => longPath) },
  { title: 'str_replace in one line of 1 MiB', setup: 'plain', run: clients(CLIENTS, () => oneLetter) },
  { title: 'str_replace of a…aba…a in 1 MiB of a', setup: 'plain', run: clients(CLIENTS, () => needle) },
  { title: 'JSON with 300,000 keys', setup: 'plain', run: clients(CLIENTS, () => manyKeys) },
  {
    title: '20,000 pipelined requests on each of 4 connections',
    setup: 'plain',
    run: sockets(4, (socket) => {
      socket.resume();
      socket.write('GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(20_000));
    }),
  },
  {
    title: '64 slow bodies',
    setup: 'plain',
    run: sockets(64, (socket) => {
      socket.resume();
      socket.write(head(`"${'x'.repeat(200 * KIB)}`, 5 * MIB));
    }),
  },
  {
    title: '64 connections that read no response',
    setup: 'plain',
    run: sockets(64, (socket) => {
      socket.pause();
      socket.write(head(view).repeat(32));
    }),
  },
  {
    title: 'failing writes under keys',
    setup: 'plain',
    run: clients(CLIENTS, () => withIdempotencyKey(cmd.replace('/memories/big', 'é'.repeat(4000), ''))),
  },
  {
    title: 'directories, 19 for each file',
    setup: 'plain',
    run: clients(CLIENTS, () => json(cmd.create(`/memories/${randomUUID()}${'/d'.repeat(18)}/f`, 'x'))),
  },
  {
    title: 'lists of 9,900 files',
    setup: 'plain',
    run: clients(CLIENTS, () => json(cmd.view('/memories/d'))),
  },
  {
    title: 'searches of 10,000 files by words',
    setup: 'searched',
    run: clients(1, search({ query: 'staging deploys of the fox' })),
  },
  {
    title: 'searches of 10,000 files for a text',
    setup: 'searched',
    run: clients(1, search({ query: 'deploys production', mode: 'literal' })),
  },
  {
    title: 'searches of 10,000 files for an expression',
    setup: 'searched',
    run: clients(1, search({ query: '(?i)deploys (production|nowhere)', mode: 'regex' })),
  },
  {
    title: '32 at once: searches of 10,000 files by words',
    setup: 'searched',
    run: clients(CLIENTS, search({ query: 'staging deploys of the fox' })),
  },
  {
    title: '32 at once: searches for an expression that takes too long',
    setup: 'searched',
    run: clients(CLIENTS, search({ query: '(\\pL{30} ){30}x', mode: 'regex' })),
  },
  { title: 'views of 1 MiB', setup: 'plain', run: clients(CLIENTS, () => ({ body: view })) },
  {
    title: 'redaction of 64 KiB for backtracking',
    setup: 'redacting',
    run: clients(CLIENTS, () => json(cmd.create(`/memories/${randomUUID()}`, backtracking))),
  },
  {
    title: 'failed logins of the same address',
    setup: 'keys',
    run: clients(CLIENTS, () => ({
      ...json(cmd.view('/memories')),
      headers: { authorization: `Bearer ${newApiKey().key}` },
    })),
  },
  {
    title: 'tokens while the JWKS endpoint hangs',
    setup: 'jwt',
    run: clients(100, () => ({
      ...json(cmd.view('/memories')),
      headers: { authorization: `Bearer ${unknownToken()}` },
    })),
  },
  {
    title: 'requests while the log is not read',
    setup: 'stalled_log',
    // Uses a tenant without files, because earlier attacks left the attacker a long listing.
    run: clients(CLIENTS, () => ({
      ...json(cmd.view('/memories')),
      headers: { 'x-tenant-id': 'talkative' },
    })),
  },
];

/** Builds a token with an unknown key ID. */
function unknownToken(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { iss: 'https://issuer', aud: 'memory', tenant: ATTACKER, exp: 9_999_999_999 };
  return `${part({ alg: 'ES256', kid: randomUUID() })}.${part(claims)}.${'A'.repeat(86)}`;
}
