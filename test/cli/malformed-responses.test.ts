/** The command line at a URL whose responses are not from an admin API. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { runOn } from '../support/run-program.ts';
import { describeService } from '../support/test-service.ts';

describeService('the command line at another server', (service) => {
  it.each([
    [200, '{}'],
    [200, 'null'],
    [200, '{"keys":[{}],"next":null}'],
    [200, '<html>'],
    [404, 'null'],
    [502, '[1]'],
  ])('reports a response with status %i and the body %s in one line', async (status, body) => {
    const server = createServer((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const args of [
      ['keys', 'list'],
      ['tenants', 'list'],
      ['jobs', 'list'],
      ['usage', 'acme'],
      ['log', 'acme'],
    ]) {
      const { code, stderr } = await runOn(service(), args, { admin: { url, key: 'k' } });
      expect([args, code]).toStrictEqual([args, 1]);
      expect(stderr).toMatch(/^[^\n]*may not be an admin API[^\n]*\n$/);
    }
  });
});
