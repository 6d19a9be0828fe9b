import { expect, it } from 'vitest';
import { mcpResponseBytes } from './response-bytes.ts';

it('reserves one file for a read, one file and the maximum results for a batch, and two views for a prompt', () => {
  const limits = { maxFileBytes: 1000, maxViewChars: 100 };
  const read = { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: 'memory:///memories/a' } };
  const bodies = [
    read,
    Array(32).fill(read),
    { ...read, method: 'ping' },
    { ...read, method: 'resources/list' },
    { ...read, params: { uri: 'memory:///context' } },
    Array(3).fill({ ...read, method: 'prompts/get' }),
  ];
  expect(bodies.map((body) => mcpResponseBytes(body, limits))).toStrictEqual([
    6000, 9000, 0, 1200, 1200, 3600,
  ]);
});
