/**
 * The client runs wherever `fetch` exists, because it imports only its own files. Its tsconfig.json excludes Node's
 * types.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const client = fileURLToPath(new URL('../src', import.meta.url));

it("imports only the client's own files, except in the Anthropic and LangChain adapters", () => {
  const names = readdirSync(client, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const outside = names.flatMap((name) => {
    const text = readFileSync(join(client, name), 'utf8').replace(/^(import|export) type [^;]*;/gm, '');
    const imports = [...text.matchAll(/(?:\bfrom|\bimport\(|^import) ?'([^']+)'/gm)].map(
      ([, from = '']) => from,
    );
    const isInClient = (from: string) =>
      from.startsWith('.') && !relative(client, join(client, dirname(name), from)).startsWith('..');
    return imports.filter((from) => !isInClient(from)).map((from) => `${name} ${from}`);
  });
  expect(names.length).toBeGreaterThan(9);
  expect(outside.sort()).toStrictEqual([
    'adapters/anthropic.ts @anthropic-ai/sdk/lib/tools/ToolError',
    'adapters/langchain.ts @langchain/core/messages',
    'adapters/langchain.ts @langchain/core/tools',
  ]);
});
