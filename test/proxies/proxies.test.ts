/** The samples in examples/proxies in front of a service. Only addresses and the certificate differ from the files. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';
import { newApiKey } from '../../src/core/tenants/keys.ts';
import { freePort } from '../support/faults/postgres-server.ts';
import { startCli, startServer } from '../support/process.ts';
import { cmd } from '../support/step-table.ts';
import { createTestDatabase } from '../support/test-database.ts';

const HOST = 'memory.example.com';
const sample = (name: string) => readFile(new URL(`../../examples/proxies/${name}`, import.meta.url), 'utf8');

interface Ports {
  proxy: number;
  service: number;
}

/** Setup by program: checks the sample and returns the arguments that start the program in the foreground. */
const PROXIES: Record<string, (directory: string, ports: Ports) => Promise<string[]>> = {
  nginx: async (directory, ports) => {
    const config = (await sample('nginx.conf'))
      .replace('listen 443 ssl', `listen 127.0.0.1:${ports.proxy} ssl`)
      .replace('server 127.0.0.1:8080', `server 127.0.0.1:${ports.service}`)
      .replaceAll('/etc/nginx/memory.example.com', `${directory}/certificate`)
      .replace('http {', 'http {\n  access_log off;');
    const file = join(directory, 'nginx.conf');
    await writeFile(file, `pid ${directory}/nginx.pid;\nerror_log stderr;\n${config}`);
    await promisify(execFile)('nginx', ['-t', '-c', file]);
    return ['-c', file, '-g', 'daemon off;'];
  },
  caddy: async (directory, ports) => {
    const config = (await sample('Caddyfile'))
      .replace('{\n', '{\n\tadmin off\n\tauto_https disable_redirects\n')
      .replace(
        `\n${HOST} {`,
        `\nhttps://${HOST}:${ports.proxy} {\n\tbind 127.0.0.1\n\ttls ${directory}/certificate.crt ${directory}/certificate.key`,
      )
      .replace('reverse_proxy 127.0.0.1:8080', `reverse_proxy 127.0.0.1:${ports.service}`);
    const file = join(directory, 'Caddyfile');
    await writeFile(file, config);
    return ['run', '--adapter', 'caddyfile', '--config', file];
  },
};

const isInstalled = (program: string) => {
  try {
    execFileSync('which', [program], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

/** Sends a request through the proxy as a client that resolves the host name. */
async function send(
  port: number,
  path: string,
  { body, headers = {} }: { body?: object; headers?: Record<string, string> } = {},
): Promise<{ status: number | undefined; body: string }> {
  const sent = request({
    host: '127.0.0.1',
    port,
    path,
    servername: HOST,
    rejectUnauthorized: false,
    method: body === undefined ? 'GET' : 'POST',
    headers: { host: `${HOST}:${port}`, 'content-type': 'application/json', ...headers },
  });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', resolve);
    // The rest of a rejected body can also fail after the response.
    sent.on('error', reject);
  });
  sent.end(body && JSON.stringify(body));
  const response = await answered;
  return { status: response.statusCode, body: await text(response) };
}

it.for(Object.entries(PROXIES))(
  'serves requests through %s with the sample proxy configuration',
  { tags: 'long' },
  async ([program, prepare], { skip, onTestFinished }) => {
    skip(!isInstalled(program), `${program} is not installed`);
    const database = await createTestDatabase();
    onTestFinished(() => database.drop());
    const env = { DATABASE_URL: database.url, DB_CONNECT_TIMEOUT_MS: '60s' };
    await startCli(['tenants', 'create', 'acme', '--max-file-bytes', '6MB'], env).exit;
    const created = startCli(['keys', 'create', '--tenant', 'acme'], env);
    await created.exit;
    const authorization = `Bearer ${/msk_[\w-]+/.exec(created.output())?.[0]}`;
    const trust = { AUTH: 'keys', AUTH_FAILURES_PER_MINUTE: '2', TRUST_PROXY: '127.0.0.1' };
    const server = await startServer({ ...env, ...trust });
    onTestFinished(async () => {
      server.child.kill('SIGTERM');
      await server.exit;
    });

    const directory = await mkdtemp(join(inject('scratch'), 'proxy-'));
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-days',
        '1',
        '-subj',
        `/CN=${HOST}`,
        '-keyout',
        `${directory}/certificate.key`,
        '-out',
        `${directory}/certificate.crt`,
      ],
      { stdio: 'ignore' },
    );
    const port = await freePort();
    const args = await prepare(directory, { proxy: port, service: Number(new URL(server.url).port) });
    const proxy = spawn(program, args, { stdio: 'ignore', env: { PATH: process.env.PATH, HOME: directory } });
    onTestFinished(async () => {
      const ended = once(proxy, 'exit');
      proxy.kill('SIGTERM');
      await ended;
    });
    await expect.poll(() => send(port, '/readyz').catch(() => undefined)).toMatchObject({ status: 200 });

    const execute = (body: object, headers: Record<string, string> = { authorization }) =>
      send(port, '/execute', { body, headers });
    const large = 'x'.repeat(5 * 1024 * 1024);
    const file = await execute(cmd.create('/memories/large', large));
    expect(JSON.parse(file.body)).toStrictEqual({
      content: 'File created successfully at: /memories/large',
      is_error: false,
    });
    const tooLarge = await execute(cmd.create('/memories/larger', `${large}${'x'.repeat(2 * 1024 * 1024)}`));
    expect([tooLarge.status, JSON.parse(tooLarge.body).code]).toStrictEqual([413, 'body_too_large']);
    expect(await send(port, '/metrics')).toMatchObject({ status: 404 });
    // Failures count for the client's address, and forged headers are ignored.
    const statuses: unknown[] = [];
    for (const i of [1, 2, 3]) {
      const forged = { authorization: `Bearer ${newApiKey().key}`, 'x-forwarded-for': `10.0.0.${i}` };
      statuses.push((await execute(cmd.view('/memories'), forged)).status);
    }
    expect(statuses).toStrictEqual([401, 401, 429]);
  },
);
