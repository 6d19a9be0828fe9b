/**
 * The admin API's limits on requests in flight and on slow clients.
 *
 * @module-tag long-on-pglite
 */
import { once } from 'node:events';
import { readdir, readlink } from 'node:fs/promises';
import { Agent, type ClientRequest, get, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import { expect, it } from 'vitest';
import type { Database } from '../../src/core/database/database.ts';
import type { QueryExecutor } from '../../src/core/database/query.ts';
import { Keys } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { type Admin, makeKey, openAdmin, problem } from '../support/admin.ts';
import { END, entry } from '../support/create-archive.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';
import { openUpload, readUploadResponse } from '../support/uploads.ts';

/** Exceeds a connection's buffers. */
const LARGE = 12 * 1024 * 1024;
const MEBIBYTE = 1024 * 1024;

describeService(
  'the limits on the admin API',
  (service, kind) => {
    async function listen(env: Record<string, string>) {
      const admin = await openAdmin(service(), env);
      const url = await admin.app.listen({ host: '127.0.0.1', port: 0 });
      return { ...admin, url };
    }
    async function newTenant(): Promise<string> {
      const id = freshTenant('limits');
      await new Tenants(service().database).create(id);
      return id;
    }
    async function largeTenant(admin: Admin): Promise<string> {
      const id = await newTenant();
      await new Tenants(service().database).set(id, { maxFileBytes: 0 });
      const body = Buffer.concat([entry({ name: 'memories/large', content: Buffer.alloc(LARGE, 'x') }), END]);
      const imported = await admin.call('POST', `/tenants/${id}/import`, { body, type: 'application/x-tar' });
      expect(imported.status).toBe(200);
      return id;
    }
    /** Sends a request and reads only the response headers. */
    async function open(
      { url, key }: { url: string; key: Admin['key'] },
      path: string,
    ): Promise<IncomingMessage> {
      const sent = get(`${url}/v1${path}`, { agent: false, headers: { authorization: `Bearer ${key.key}` } });
      const [response] = await once(sent, 'response');
      return response;
    }

    it('runs at most six requests at a time per admin key, and eight in total', async () => {
      const admin = await listen({ MAX_QUEUE_MS: '1' });
      const tenant = await newTenant();
      const [own, other] = [admin.key, await makeKey(service(), { isAdmin: true })];
      const session = async ({ key }: { key: string }) =>
        problem(await admin.call('GET', '/session', { key })).slice(0, 2);
      const uploads: ClientRequest[] = [];
      const fill = async ({ key }: { key: string }, count: number) => {
        // Caches the key.
        expect(await session({ key })).toStrictEqual([200, undefined]);
        for (let i = 0; i < count; i++) uploads.push(await openUpload(admin.url, { tenant, key }));
      };
      await fill(own, 6);
      expect(await session(own)).toStrictEqual([429, 'too_many_at_once']);
      await fill(other, 2);
      expect(await session(other)).toStrictEqual([503, 'overloaded']);
      for (const upload of uploads) upload.on('error', () => {}).destroy();
      await expect.poll(() => session(own)).toStrictEqual([200, undefined]);
      await admin.app.close();
    });

    it('responds with 499 to a queued request when the client half-closes the connection', async () => {
      const admin = await listen({ MAX_QUEUE_MS: '5000' });
      const tenant = await newTenant();
      const { key } = admin.key;
      const uploads: ClientRequest[] = [];
      for (let i = 0; i < 6; i++) uploads.push(await openUpload(admin.url, { tenant, key }));
      const client = connect(Number(new URL(admin.url).port), '127.0.0.1');
      client.end(`GET /v1/session HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`);
      expect(String(Buffer.concat(await client.toArray()))).toMatch(/^HTTP\/1\.1 499 /);
      for (const upload of uploads) upload.on('error', () => {}).destroy();
      await admin.app.close();
    });

    it('responds with 408 to a stalled upload and imports no file', async () => {
      const admin = await listen({ TRANSFER_TIMEOUT_MS: '50' });
      const tenant = await newTenant();
      const upload = await openUpload(admin.url, { tenant, key: admin.key.key });
      upload.write(entry({ name: 'memories/a', content: 'x' }));
      const { status, headers, lines } = await readUploadResponse(upload);
      expect([status, headers.connection, lines[0].code]).toStrictEqual([408, 'close', 'body_timeout']);
      expect((await admin.call('GET', `/tenants/${tenant}/tree`)).body.entries).toStrictEqual([]);
      await admin.app.close();
    });

    it('reports a stalled upload in the last response line if the client accepts NDJSON', async () => {
      const admin = await listen({ TRANSFER_TIMEOUT_MS: '50' });
      const tenant = await newTenant();
      const upload = await openUpload(admin.url, {
        tenant,
        key: admin.key.key,
        accept: 'application/x-ndjson',
      });
      const files = Array.from({ length: 100 }, (_, i) => entry({ name: `memories/${i}`, content: 'x' }));
      upload.write(Buffer.concat(files));
      const { status, lines } = await readUploadResponse(upload);
      expect(status).toBe(200);
      expect(lines.at(-1)).toMatchObject({ type: 'error', problem: { status: 408, code: 'body_timeout' } });
      await admin.app.close();
    });

    it('closes the connection when an archive download stalls, and deletes the temporary archive', {
      tags: 'long',
    }, async () => {
      const admin = await listen({ TRANSFER_TIMEOUT_MS: '50' });
      const tenant = await largeTenant(admin);
      const connection = once(admin.app.server, 'connection');
      const download = await open(admin, `/tenants/${tenant}/export`);
      const [socket] = await connection;
      if (!socket.destroyed) await once(socket, 'close');
      await expect(download.toArray()).rejects.toThrow('aborted');
      await expect.poll(openArchives).toStrictEqual([]);
      await admin.app.close();
    });

    it('closes the connection during an archive download when its admin key is revoked', {
      tags: 'long',
    }, async () => {
      const admin = await listen({ TRANSFER_TIMEOUT_MS: '600000', AUTH_CACHE_SECONDS: '1' });
      const tenant = await largeTenant(admin);
      const key = await makeKey(service(), { isAdmin: true });
      const connection = once(admin.app.server, 'connection');
      const download = await open({ ...admin, key }, `/tenants/${tenant}/export`);
      await new Keys(service().database).revoke(key.id);
      const [socket] = await connection;
      if (!socket.destroyed) await once(socket, 'close');
      await expect(download.toArray()).rejects.toThrow('aborted');
      await expect.poll(openArchives).toStrictEqual([]);
      await admin.app.close();
    });

    it('closes the connection to a client that stops reading a large file', {
      tags: 'long',
    }, async () => {
      const admin = await listen({ TRANSFER_TIMEOUT_MS: '50' });
      const tenant = await largeTenant(admin);
      const connection = once(admin.app.server, 'connection');
      const file = await open(admin, `/tenants/${tenant}/file?path=/memories/large`);
      const [socket] = await connection;
      if (!socket.destroyed) await once(socket, 'close');
      await expect(file.toArray()).rejects.toThrow('aborted');
      await admin.app.close();
    });

    it('sends a large file completely to a client that keeps reading', async () => {
      const admin = await listen({ TRANSFER_TIMEOUT_MS: '5000' });
      const tenant = await largeTenant(admin);
      const file = await open(admin, `/tenants/${tenant}/file?path=/memories/large`);
      expect(file.headers['content-length']).toBe(String(LARGE));
      expect(Buffer.concat(await file.toArray()).equals(Buffer.alloc(LARGE, 'x'))).toBe(true);
      await admin.app.close();
    });

    it('keeps the connection open after rejecting an archive that is still being uploaded', async () => {
      const admin = await listen({});
      const tenant = await newTenant();
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const send = (body: Buffer) => {
        const upload = request(`${admin.url}/v1/tenants/${tenant}/import`, {
          agent,
          method: 'POST',
          headers: {
            authorization: `Bearer ${admin.key.key}`,
            'content-type': 'application/x-tar',
            'content-length': body.length,
          },
        });
        upload.end(body);
        return readUploadResponse(upload);
      };
      const connections: Socket[] = [];
      admin.app.server.on('connection', (socket) => connections.push(socket));
      const outside = Buffer.concat([entry({ name: 'elsewhere', content: 'x' }), Buffer.alloc(LARGE)]);
      for (let i = 0; i < 2; i++) expect((await send(outside)).lines[0].code).toBe('rejected');
      const good = Buffer.concat([entry({ name: 'memories/a', content: 'x' }), END]);
      expect(await send(good)).toMatchObject({ status: 200, lines: [{ files: 1 }] });
      expect(connections).toHaveLength(1);
      agent.destroy();
      await admin.app.close();
    });

    it('keeps the connection open after an upload that is not an archive', async () => {
      const admin = await listen({});
      const tenant = await newTenant();
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const headers = { authorization: `Bearer ${admin.key.key}` };
      const connections: Socket[] = [];
      admin.app.server.on('connection', (socket) => connections.push(socket));
      for (const size of [200_000, 1_000_000, LARGE]) {
        const upload = request(`${admin.url}/v1/tenants/${tenant}/import`, {
          agent,
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/x-tar', 'content-length': size },
        });
        upload.end(Buffer.alloc(size, 'x'));
        expect(await readUploadResponse(upload)).toMatchObject({
          status: 409,
          lines: [{ code: 'rejected' }],
        });
        const next = get(`${admin.url}/v1/session`, { agent, headers });
        expect(await readUploadResponse(next)).toMatchObject({ status: 200 });
      }
      expect(connections).toHaveLength(1);
      agent.destroy();
      await admin.app.close();
    });

    it('delivers the 413 response to a client that sends a file far above the size limit', async () => {
      const admin = await listen({});
      const tenant = await newTenant();
      for (let i = 0; i < 10; i++) {
        const length = (7 + i) * MEBIBYTE;
        const put = request(`${admin.url}/v1/tenants/${tenant}/file?path=/memories/a`, {
          agent: false,
          method: 'PUT',
          headers: {
            authorization: `Bearer ${admin.key.key}`,
            'content-type': 'text/plain',
            'if-none-match': '*',
            // Without Content-Length, the service reads the body up to the limit.
            ...(i % 2 === 0 ? { 'content-length': length } : {}),
          },
        });
        put.end(Buffer.alloc(length, 'x'));
        expect(await readUploadResponse(put)).toMatchObject({
          status: 413,
          lines: [{ code: 'body_too_large' }],
        });
      }
      await admin.app.close();
    });

    it('delivers the 401 response to a client that keeps sending for longer than TRANSFER_TIMEOUT_MS', {
      tags: 'long',
    }, async () => {
      const TIMEOUT_MS = 1000;
      const admin = await listen({ TRANSFER_TIMEOUT_MS: String(TIMEOUT_MS) });
      const socket = connect(Number(new URL(admin.url).port), '127.0.0.1');
      const write = (text: string) =>
        new Promise<void>((resolve, reject) => {
          socket.write(text, (error) => (error ? reject(error) : resolve()));
        });
      await write(
        'POST /v1/tenants/acme/import HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n',
      );
      const part = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
      const start = performance.now();
      while (performance.now() - start < 2 * TIMEOUT_MS) await write(part);
      socket.end('0\r\n\r\n');
      const response = Buffer.concat(await socket.toArray()).toString();
      expect(response).toMatch(/^HTTP\/1\.1 401 [\s\S]+"code":"unauthorized"/);
      await admin.app.close();
    });

    it('releases the slots and archives for pipelined requests when the client resets the connection', async () => {
      const admin = await listen({ MAX_QUEUE_MS: '1' });
      const tenant = await newTenant();
      const pipelined = `GET /v1/tenants/${tenant}/export HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${admin.key.key}\r\n\r\n`;
      const sockets: Socket[] = [];
      admin.app.server.on('connection', (socket) => sockets.push(socket));
      let requests = 0;
      admin.app.server.on('request', () => requests++);
      // The service closes the connection to a client that pipelines too many requests.
      const flood = connect(Number(new URL(admin.url).port), '127.0.0.1').on('error', () => {});
      flood.write(pipelined.repeat(40));
      await expect.poll(() => flood.closed).toBe(true);
      for (let i = 1; i <= 3; i++) {
        requests = 0;
        const socket = connect(Number(new URL(admin.url).port), '127.0.0.1').on('error', () => {});
        socket.write(pipelined.repeat(8));
        await expect.poll(() => requests).toBe(8);
        socket.resetAndDestroy();
      }
      await expect.poll(() => sockets.every((socket) => socket.closed)).toBe(true);
      const session = async () => (await admin.call('GET', '/session')).status;
      await expect.poll(session).toBe(200);
      // A key can have six requests in flight, so all earlier ones have ended.
      expect(await Promise.all(Array.from({ length: 6 }, session))).toStrictEqual([
        200, 200, 200, 200, 200, 200,
      ]);
      await expect.poll(openArchives).toStrictEqual([]);
      await admin.app.close();
    });

    it('closes the connection if a client gets a 401 response and never sends the body', async () => {
      const admin = await listen({ TRANSFER_TIMEOUT_MS: '50' });
      const upload = request(`${admin.url}/v1/tenants/acme/import`, {
        method: 'POST',
        headers: { 'content-length': '10', 'content-type': 'application/x-tar' },
      });
      upload.on('error', () => {}).flushHeaders();
      const [response] = await once(upload, 'response');
      expect(response.statusCode).toBe(401);
      expect(JSON.parse(Buffer.concat(await response.toArray()).toString()).code).toBe('unauthorized');
      await expect.poll(() => response.socket.destroyed).toBe(true);
      await admin.app.close();
    });

    // PGlite runs one transaction at a time.
    it.runIf(kind === 'postgres')(
      'ends the transactions and releases the slots for exports whose clients disconnect',
      async () => {
        const count = 6;
        const atOnce = Math.max(1, Math.floor(availableParallelism() / 2));
        const tenant = await newTenant();
        for (const path of ['/memories/a', '/memories/b'])
          await service().execute(cmd.create(path, 'x'), { tenant });
        const spied = spyOnTransactions(service().database);
        const admin = await openAdmin({ ...service(), database: spied.database }, { MAX_QUEUE_MS: '1' });
        const url = await admin.app.listen({ host: '127.0.0.1', port: 0 });
        const sockets: Socket[] = [];
        admin.app.server.on('connection', (socket) => sockets.push(socket));
        let requests = 0;
        admin.app.server.on('request', () => requests++);
        const session = async () => (await admin.call('GET', '/session')).status;
        // Caches the key, so that each request acquires its slot at the start.
        expect(await session()).toBe(200);

        const downloads = Array.from({ length: count }, () =>
          get(`${url}/v1/tenants/${tenant}/export?history=true`, {
            agent: false,
            headers: { authorization: `Bearer ${admin.key.key}` },
          }).on('error', () => {}),
        );
        await expect.poll(() => requests).toBe(count);
        await expect.poll(() => spied.waiting).toBe(atOnce);
        expect(await session()).toBe(429);
        for (const download of downloads) download.destroy();
        await expect.poll(() => sockets.filter((socket) => socket.readableEnded).length).toBe(count);
        spied.goOn();
        await expect.poll(() => spied.ended).toBe(atOnce);
        expect(spied.afterwards).toStrictEqual([]);
        await expect.poll(session).toBe(200);
        await expect.poll(openArchives).toStrictEqual([]);
        expect(spied.waiting).toBe(atOnce);
        await admin.app.close();
      },
    );

    it('records the outcome client_gone and imports no file if the client disconnects during an import', async () => {
      const admin = await listen({});
      for (const accept of ['application/json', 'application/x-ndjson']) {
        const tenant = await newTenant();
        const upload = await openUpload(admin.url, { tenant, key: admin.key.key, accept });
        const outcomes = async () => {
          const { body } = await admin.call('GET', `/audit?tenant=${tenant}&action=importMemory`);
          return (body.events as { outcome: string | null }[]).map((event) => event.outcome);
        };
        upload.on('error', () => {}).write(entry({ name: 'memories/a', content: 'x' }));
        // An upload that is aborted before the import begins records no event.
        await expect.poll(outcomes).toStrictEqual([null]);
        upload.destroy();
        await expect.poll(outcomes).toStrictEqual(['client_gone']);
        expect((await admin.call('GET', `/tenants/${tenant}/file?path=/memories/a`)).status).toBe(404);
      }
      await admin.app.close();
    });

    it('closes the temporary archive after the download has ended', async () => {
      const admin = await listen({});
      const download = await open(admin, `/tenants/${await newTenant()}/export`);
      await download.toArray();
      await expect.poll(openArchives).toStrictEqual([]);
      await admin.app.close();
    });
  },
  { AUTH: 'keys' },
);

/** Pauses each transaction after it reads its first page of versions, and records its statements. */
function spyOnTransactions(database: Database) {
  let goOn = () => {};
  const free = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const spied = {
    waiting: 0,
    ended: 0,
    afterwards: [] as string[],
    goOn: () => goOn(),
    database: {
      ...database,
      transaction: (work, options) =>
        database
          .transaction(async (query) => {
            let isFree = false;
            const spiedQuery: QueryExecutor = async (statement, params) => {
              if (isFree) spied.afterwards.push(statement.name);
              const result = await query(statement, params);
              if (statement.name === 'export_versions') {
                spied.waiting++;
                await free;
                isFree = true;
              }
              return result;
            };
            return work(spiedQuery);
          }, options)
          .finally(() => {
            if (options?.snapshot) spied.ended++;
          }),
    } satisfies Database,
  };
  return spied;
}

/** Lists the temporary export files that this process has open. Empty on systems other than Linux. */
async function openArchives(): Promise<string[]> {
  if (process.platform !== 'linux') return [];
  const links = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  );
  return links.filter((link) => /memory-service-\w+\/export/.test(link));
}
