import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const src = fileURLToPath(new URL('../../src', import.meta.url));

function importsOf(layer: string): { file: string; from: string }[] {
  return readdirSync(join(src, layer), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => {
      const file = join(layer, name);
      const text = readFileSync(join(src, file), 'utf8');
      return [...text.matchAll(/(?:from|import\() ?'([^']+)'/g)].map(([, from = '']) => ({
        file,
        from: from.startsWith('.') ? relative(src, join(src, dirname(file), from)) : from,
      }));
    });
}

it('the domain imports itself and zod only', () => {
  const imports = importsOf('memory');
  expect(imports.length).toBeGreaterThan(20);
  expect(imports.filter(({ from }) => !from.startsWith('memory/') && from !== 'zod')).toStrictEqual([]);
});

it('the database knows nothing of HTTP', () => {
  expect(importsOf('db').filter(({ from }) => from.startsWith('http/') || from === 'fastify')).toStrictEqual(
    [],
  );
});

it('HTTP speaks no SQL', () => {
  expect(importsOf('http').filter(({ from }) => /^(pg|drizzle-orm|@electric-sql)/.test(from))).toStrictEqual(
    [],
  );
});
