/** @module-tag long-on-pglite */
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { useAdmin } from '../support/admin.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const LONG = 'A line of the notes that is long enough.\n'.repeat(400);

describeService('compression in the admin API', (service) => {
  const admin = useAdmin(service, { PORT: '9123', PUBLIC_URL: 'https://memory.example.com/agents' });
  const inject = (method: 'GET' | 'POST', path: string, headers: object = {}, payload?: object | Buffer) =>
    admin().app.inject({
      method,
      url: `/v1${path}`,
      headers: { authorization: `Bearer ${admin().key.key}`, 'accept-encoding': 'gzip, br', ...headers },
      ...(payload === undefined ? {} : { payload }),
    });
  async function filledTenant(): Promise<string> {
    const id = freshTenant('compressed');
    await new Tenants(service().database).create(id);
    const headers = { 'if-none-match': '*' };
    await admin().call('PUT', `/tenants/${id}/file?path=/memories/a.md`, {
      body: LONG,
      type: 'text/plain',
      headers,
    });
    return id;
  }

  it('compresses JSON responses if the client accepts gzip, without changing the content', async () => {
    const id = await filledTenant();
    const path = `/tenants/${id}/diff`;
    const plain = await inject('GET', path, { 'accept-encoding': 'identity' });
    expect(plain.headers['content-encoding']).toBeUndefined();
    const { headers, rawPayload } = await inject('GET', path);
    expect([headers['content-encoding'], headers.vary]).toStrictEqual(['gzip', 'accept-encoding']);
    expect(rawPayload.length).toBeLessThan(plain.rawPayload.length / 5);
    expect(JSON.parse(gunzipSync(rawPayload).toString()).changes).toStrictEqual(plain.json().changes);
  });

  it('leaves key secrets, file texts, archives, and short responses uncompressed', async () => {
    const id = await filledTenant();
    const label = 'l'.repeat(255);
    const created = await inject(
      'POST',
      '/keys',
      {},
      { kind: 'tenant', tenant: id, label, source: 's'.repeat(64) },
    );
    const { id: key } = created.json();
    const responses = {
      created,
      rotated: await inject('POST', `/keys/${key}/rotate`, {}, { overlap_seconds: 0 }),
      file: await inject('GET', `/tenants/${id}/file?path=/memories/a.md`),
      archive: await inject('GET', `/tenants/${id}/export`),
      session: await inject('GET', '/session'),
    };
    expect(responses.file.headers.etag).toBeDefined();
    for (const [name, { statusCode, headers }] of Object.entries(responses))
      expect([name, statusCode < 300, headers['content-encoding']]).toStrictEqual([name, true, undefined]);
  });

  it('rejects a request with a compressed body', async () => {
    const body = gzipSync(JSON.stringify({ id: freshTenant() }));
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const { statusCode, body: text } = await inject('POST', '/tenants', headers, body);
    expect([statusCode, JSON.parse(text).code]).toStrictEqual([415, 'unsupported_content_encoding']);
  });

  it('returns the configured URL and port for agents in the session', async () => {
    const { body } = await admin().call('GET', '/session');
    expect(body).toMatchObject({ service_port: 9123, service_url: 'https://memory.example.com/agents' });
  });
});
