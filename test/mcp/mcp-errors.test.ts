/** MCP errors and results that do not depend on a view's words. */
import { expect, it } from 'vitest';
import { message, requestHeaders } from '../support/mcp.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService('MCP', (service) => {
  const post = (payload: string | Buffer, headers: Record<string, string> = {}) =>
    service().app.inject({
      method: 'POST',
      url: '/mcp',
      headers: requestHeaders(undefined, headers),
      payload,
    });

  it.each(['en', 'fr', 'es'])('reads and lists files if a host prefers language %s', async (language) => {
    const tenant = freshTenant('resources');
    await service().execute(cmd.create('/memories/f.md', 'one\ntwo'), { tenant });
    const headers = { 'accept-language': language, 'x-tenant-id': tenant };
    const uri = 'memory:///memories/f.md';
    const read = await post(JSON.stringify(message('resources/read', { uri })), headers);
    expect(read.json()).toMatchObject({ result: { contents: [{ uri, text: 'one\ntwo' }] } });
    const list = await post(JSON.stringify(message('resources/list')), headers);
    expect(list.json()).toMatchObject({ result: { resources: [{ uri: 'memory:///context' }, { uri }] } });
  });

  it('reads a whole file even if a line exceeds the view limit, and rejects a directory', async () => {
    const tenant = freshTenant('resources');
    const text = `     1\t${'x'.repeat(70_000)}\n[Truncated: showing lines 1 to 2 of 3.`;
    await service().execute(cmd.create('/memories/d/f.md', text), { tenant });
    const read = async (path: string) => {
      const body = JSON.stringify(message('resources/read', { uri: `memory:///memories/${path}` }));
      return (await post(body, { 'x-tenant-id': tenant })).json();
    };
    expect((await read('d/f.md')).result.contents[0].text).toBe(text);
    expect((await read('d')).error.message).toBe('/memories/d is a directory.');
    expect((await read('d/g')).error.message).toBe(
      'The path /memories/d/g does not exist. Please provide a valid path.',
    );
  });

  it.each([
    ['a text', 'hello'],
    ['an unfinished object', '{"jsonrpc":"2.0",'],
    ['nothing', ''],
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ])('returns a JSON-RPC parse error if the body is %s', async (_title, body) => {
    const response = await post(body);
    expect(response.statusCode).toBe(400);
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(response.json()).toStrictEqual({
      jsonrpc: '2.0',
      error: { code: -32700, message: expect.any(String) },
      id: null,
    });
  });
});
