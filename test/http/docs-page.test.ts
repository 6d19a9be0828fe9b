import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeInBrowser } from '../support/browser.ts';
import { type Service, startSharedService } from '../support/test-service.ts';

let service: Service;
let port: number;
beforeAll(async () => {
  // Simulates a service behind an authenticating proxy, under a network host name without TLS.
  service = await startSharedService('pglite', { ALLOW_UNAUTHENTICATED: 'true' });
  await service.app.listen({ host: '127.0.0.1', port: 0 });
  port = (service.app.server.address() as AddressInfo).port;
});
afterAll(() => service.close());

describeInBrowser('in a browser, under a network host name over plain HTTP', (browser) => {
  /** Opens a page. `faults` lists all errors from loading, scripts, and the content security policy. */
  async function open(path: string): Promise<{ page: Page; faults: string[] }> {
    const page = await browser().newPage({ locale: 'en-US' });
    const faults: string[] = [];
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('requestfailed', (request) => faults.push(request.url()));
    page.on('response', (response) => response.status() >= 400 && faults.push(response.url()));
    await page.goto(`http://memory.test:${port}${path}`, { waitUntil: 'networkidle' });
    return { page, faults };
  }

  it('shows the API at /docs and sends an example request to the same server', async () => {
    const { page, faults } = await open('/docs');
    expect(await page.title()).toBe('Memory service API');
    await page.getByRole('heading', { name: /^Memory service/ }).waitFor();
    expect(await page.locator('.topbar').count()).toBe(0);

    await page.locator('#operations-memory-execute .opblock-summary-control').click();
    for (const header of ['idempotency-key', 'accept-language', 'x-tenant-id']) {
      expect(await page.getByPlaceholder(header).inputValue()).toBe('');
    }
    const [answer] = await Promise.all([
      page.waitForResponse('**/execute'),
      page.getByRole('button', { name: 'Execute', exact: true }).click(),
    ]);
    expect(answer.status()).toBe(200);
    // The response is in English, not in the example header's language.
    expect(await answer.json()).toMatchObject({ content: expect.stringContaining("Here're the files") });
    await page.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor();
    expect(faults).toStrictEqual([]);
  });

  it('links from / to the documentation', async () => {
    const { page, faults } = await open('/');
    expect(await page.getByRole('heading').textContent()).toMatch(/^Memory service \d/);
    await page.getByRole('link', { name: 'API documentation' }).click();
    await page.waitForURL('**/docs');
    expect(faults).toStrictEqual([]);
  });
});

describe('GET /', () => {
  it.each([undefined, '*/*', 'application/json', 'text/plain', 'text/html, application/json'])(
    'returns JSON for Accept: %s',
    async (accept) => {
      const answer = await service.app.inject({ url: '/', headers: accept === undefined ? {} : { accept } });
      expect(answer.statusCode).toBe(200);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(answer.headers.vary).toBe('Accept');
      expect(answer.json()).toStrictEqual({
        name: 'Memory service',
        version: '0.1.0',
        links: { docs: '/docs', openapi: '/openapi.json', liveness: '/healthz', readiness: '/readyz' },
      });
    },
  );

  it('returns a page to a browser, with working links and without scripts', async () => {
    const page = await service.app.inject({ url: '/', headers: { accept: 'text/html,*/*;q=0.8' } });
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.headers['content-security-policy']).toBe(
      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(page.body).not.toContain('<script');
    const links = [...page.body.matchAll(/href="([^"]+)"/g)].map(([, url = '']) => url);
    expect(links).toHaveLength(4);
    for (const link of links) {
      const { statusCode } = await service.app.inject(new URL(link, 'http://x/').pathname);
      expect([link, statusCode]).toStrictEqual([link, 200]);
    }
  });

  it.each(['/', '/healthz'])('accepts only GET and HEAD at %s', async (url) => {
    const answer = await service.app.inject({ method: 'POST', url });
    expect(answer.statusCode).toBe(405);
    expect(answer.headers.allow).toBe('GET, HEAD');
  });

  it('returns 405 at /execute for methods other than POST', async () => {
    const answer = await service.app.inject('/execute');
    expect(answer.statusCode).toBe(405);
    expect(answer.headers.allow).toBe('POST');
    expect(answer.json()).toMatchObject({
      code: 'method_not_allowed',
      detail: 'This route supports only: POST.',
    });
  });
});
