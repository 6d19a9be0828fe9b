import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { ACTIONS } from './actions.ts';

it('describes every admin API operation that changes something', () => {
  const url = new URL('../../../../admin-openapi.yaml', import.meta.url);
  const paths: Record<string, Record<string, { operationId?: string }>> = parse(
    readFileSync(url, 'utf8'),
  ).paths;
  const changing = Object.values(paths).flatMap((methods) =>
    Object.entries(methods).flatMap(([method, { operationId }]) =>
      method === 'get' || operationId === undefined ? [] : [operationId],
    ),
  );
  expect(changing.length).toBeGreaterThan(30);
  expect(changing.filter((id) => !(id in ACTIONS))).toStrictEqual([]);
  const texts = Object.values(ACTIONS);
  expect(new Set(texts).size).toBe(texts.length);
});
