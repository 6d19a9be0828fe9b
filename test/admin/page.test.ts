/** @module-tag long-on-pglite */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import fastify from 'fastify';
import { expect, it } from 'vitest';
import { consoleRoutes, securityHeaders } from '../../src/core/admin/console.ts';
import { useAdmin } from '../support/admin.ts';
import { describeService } from '../support/test-service.ts';

const PAGE =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types dompurify";
const DATA = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

it('serves the console with a content security policy, and assets with a one-year cache', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'console-'));
  mkdirSync(join(directory, 'assets'));
  writeFileSync(join(directory, 'index.html'), '<!doctype html><script src="/assets/a-1.js"></script>');
  const script = 'x'.repeat(1000);
  writeFileSync(join(directory, 'assets', 'a-1.js'), script);
  writeFileSync(join(directory, 'assets', 'a-1.js.br'), brotliCompressSync(script));
  writeFileSync(join(directory, 'assets', 'a-1.js.gz'), gzipSync(script));
  const app = fastify();
  await app.register(securityHeaders);
  await app.register(consoleRoutes, { directory });
  const page = await app.inject('/');
  expect([
    page.statusCode,
    page.headers['content-security-policy'],
    page.headers['cache-control'],
  ]).toStrictEqual([200, PAGE, 'no-cache']);
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
  const asset = await app.inject('/assets/a-1.js');
  expect([asset.headers['cache-control'], asset.headers['content-security-policy']]).toStrictEqual([
    'public, max-age=31536000, immutable',
    PAGE,
  ]);
  expect([asset.headers['content-encoding'], asset.body]).toStrictEqual([undefined, script]);
  for (const [accepted, decompress] of [
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
  ] as const) {
    const headers = { 'accept-encoding': accepted };
    const sent = await app.inject({ url: '/assets/a-1.js', headers });
    expect(sent.headers).toMatchObject({
      'content-encoding': accepted,
      'content-type': 'application/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': PAGE,
      vary: 'Accept-Encoding',
    });
    expect(decompress(sent.rawPayload).toString()).toBe(script);
  }
  expect((await app.inject('/assets/../../../etc/passwd')).statusCode).toBe(404);
  expect((await app.inject('/other')).statusCode).toBe(404);
  await app.close();
  rmSync(directory, { recursive: true });
});

describeService(
  'the admin listener',
  (service) => {
    const admin = useAdmin(service);

    it('blocks scripts in API responses with a content security policy', async () => {
      for (const url of ['/v1/session', '/v1/none', '/healthz', '/openapi.json']) {
        const { headers } = await admin().app.inject(url);
        expect([url, headers['content-security-policy']]).toStrictEqual([url, DATA]);
        expect(headers).toMatchObject({
          'x-content-type-options': 'nosniff',
          'cache-control': 'no-store',
          'referrer-policy': 'no-referrer',
          'cross-origin-resource-policy': 'same-origin',
        });
      }
      const docs = await admin().app.inject('/docs/');
      expect([docs.statusCode, docs.headers['content-security-policy']]).toStrictEqual([
        200,
        expect.stringContaining("script-src 'self'"),
      ]);
    });

    it('returns 404 for unknown routes and 405 for unknown methods', async () => {
      const ask = async (method: 'GET' | 'PUT', url: string) => {
        const { statusCode, headers } = await admin().app.inject({ method, url });
        return [statusCode, headers.allow];
      };
      expect(await ask('GET', '/v2/tenants')).toStrictEqual([404, undefined]);
      expect(await ask('PUT', '/v1/tenants/acme')).toStrictEqual([405, 'DELETE, GET, HEAD, PATCH']);
      expect(await ask('GET', '/execute')).toStrictEqual([404, undefined]);
    });
  },
  { AUTH: 'keys' },
);
