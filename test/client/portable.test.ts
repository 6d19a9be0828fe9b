/** The client runs where there is `fetch`: no imports but its own files, and nothing of Node in its types. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const client = join(root, 'src/client');

it('imports nothing outside its folder, but for an adapter that needs its SDK', () => {
  const names = readdirSync(client, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const outside = names.flatMap((name) => {
    const text = readFileSync(join(client, name), 'utf8').replace(/^(import|export) type [^;]*;/gm, '');
    const imports = [...text.matchAll(/(?:\bfrom|\bimport\(|^import) ?'([^']+)'/gm)].map(
      ([, from = '']) => from,
    );
    const stays = (from: string) =>
      from.startsWith('.') && !relative(client, join(client, dirname(name), from)).startsWith('..');
    return imports.filter((from) => !stays(from)).map((from) => `${name} ${from}`);
  });
  expect(names.length).toBeGreaterThan(9);
  expect(outside.sort()).toStrictEqual([
    'adapters/anthropic.ts @anthropic-ai/sdk/lib/tools/ToolError',
    'adapters/langchain.ts @langchain/core/messages',
  ]);
});

it('compiles without the types of Node, with those of the web', async () => {
  const options = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--types',
    '',
    '--lib',
    'ES2023,DOM,DOM.Iterable',
  ];
  const modules = ['--target', 'ES2023', '--module', 'NodeNext', '--allowImportingTsExtensions'];
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const files = [join(client, 'index.ts'), join(client, 'adapters/ai-sdk.ts')];
  const run = promisify(execFile)(process.execPath, [
    tsc,
    '--ignoreConfig',
    ...options,
    ...modules,
    ...files,
  ]);
  expect(await run).toStrictEqual({ stdout: '', stderr: '' });
});
