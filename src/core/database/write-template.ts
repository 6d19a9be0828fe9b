import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { functionsScript, MIGRATIONS_DIRECTORY } from './migrate.ts';
import { migrateEngine, PgliteEngine } from './pglite-engine.ts';
import { TEMPLATE_DIRECTORY, templatePath } from './template.ts';

/** Writes the template unless it exists, and removes other versions' templates. */
export async function writeTemplate(): Promise<void> {
  const path = templatePath(TEMPLATE_DIRECTORY);
  if (existsSync(path)) return;
  // In memory, which is faster than a directory.
  const engine = new PgliteEngine('memory://', () => {});
  await engine.waitReady;
  await migrateEngine(engine, MIGRATIONS_DIRECTORY, functionsScript());
  await engine.exec('CHECKPOINT');
  const archive = await engine.dumpDataDir('none');
  await engine.close();
  const compressed = await compress(Buffer.from(await archive.arrayBuffer()));
  await rm(TEMPLATE_DIRECTORY, { recursive: true, force: true });
  mkdirSync(TEMPLATE_DIRECTORY);
  writeFileSync(`${path}.new`, compressed);
  await rename(`${path}.new`, path);
}

function compress(archive: Buffer): Promise<Buffer> {
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_MAX_WINDOW_BITS } = constants;
  // Postgres' databases contain the same tables, far apart.
  const params = { [BROTLI_PARAM_QUALITY]: 5, [BROTLI_PARAM_LGWIN]: BROTLI_MAX_WINDOW_BITS };
  return promisify(brotliCompress)(archive, { params });
}
