import { expect, it } from 'vitest';
import { mcpResponseBytes } from './response-bytes.ts';

it('reserves one file for a read, and one file and the maximum results for a batch', () => {
  const limits = { maxFileBytes: 1000, maxViewChars: 100 };
  const read = { jsonrpc: '2.0', id: 1, method: 'resources/read' };
  const bodies = [
    read,
    Array(32).fill(read),
    { ...read, method: 'ping' },
    { ...read, method: 'resources/list' },
  ];
  expect(bodies.map((body) => mcpResponseBytes(body, limits))).toStrictEqual([6000, 9000, 0, 1200]);
});
