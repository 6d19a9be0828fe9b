/** Examples in docs/contract-commands.md, sent to the service in the order on the page. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeService, freshTenant } from '../support/test-service.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/contract-commands.md'), 'utf8');

/** A request on the page with its response, both as the text in their code blocks. */
interface Pair {
  section: string;
  request: string;
  response: string;
}

function readPairs(markdown: string): Pair[] {
  return markdown.split(/^## /m).flatMap((text) => {
    const [section = ''] = text.split('\n');
    const blocks = [...text.matchAll(/^```json\n(.*?)\n```$/gms)].map(([, block = '']) => block);
    expect([section, blocks.length % 2]).toStrictEqual([section, 0]);
    return blocks.flatMap((request, i) =>
      i % 2 === 0 ? [{ section, request, response: blocks[i + 1] ?? '' }] : [],
    );
  });
}

const pairs = readPairs(page);
const COMMANDS = ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'];

it.each(COMMANDS)('docs/contract-commands.md shows a success and an error for %s', (command) => {
  const own = pairs.filter(({ section }) => section === command);
  expect(own.every(({ request }) => JSON.parse(request).command === command)).toBe(true);
  expect([...new Set(own.map(({ response }) => JSON.parse(response).is_error))]).toStrictEqual([false, true]);
});

describeService('the examples in docs/contract-commands.md', (service) => {
  it('receive the documented responses, byte for byte', async () => {
    const tenant = freshTenant();
    const received: Pair[] = [];
    for (const { section, request } of pairs) {
      const { rawPayload } = await service().app.inject({
        method: 'POST',
        url: '/execute',
        headers: { 'content-type': 'application/json', 'x-tenant-id': tenant },
        payload: request,
      });
      received.push({ section, request, response: rawPayload.toString('utf8') });
    }
    expect(received).toStrictEqual(pairs);
  });
});
