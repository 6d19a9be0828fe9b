import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rename, rm, rmdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import { extract } from 'tar-stream';
import { functionsScript, MIGRATIONS_DIRECTORY } from './migrate.ts';

/**
 * Template directory, which the build writes (`write-template.ts`). The relative path is valid from both `src` and
 * `dist`.
 */
export const TEMPLATE_DIRECTORY = fileURLToPath(new URL('../../../template', import.meta.url));

/**
 * Returns the template path: an archive with an empty, migrated embedded database. The name identifies the schema and
 * the PGlite version, so another version's template is never used.
 */
export function templatePath(templates: string): string {
  const hash = createHash('sha256').update(pgliteVersion()).update(functionsScript());
  const files = readdirSync(MIGRATIONS_DIRECTORY, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  for (const path of files.sort())
    hash.update(`\0${path.slice(MIGRATIONS_DIRECTORY.length)}\0`).update(readFileSync(path));
  return join(templates, `${hash.digest('hex').slice(0, 32)}.tar.br`);
}

function pgliteVersion(): string {
  const module = createRequire(import.meta.url).resolve('@electric-sql/pglite');
  return JSON.parse(readFileSync(join(module, '../../package.json'), 'utf8')).version;
}

/**
 * Creates a database by copying the template to a directory that is missing or empty. The directory appears in one
 * step, so a process that ends meanwhile leaves no incomplete database.
 *
 * @returns false without a template for this version, or if it cannot be copied
 */
export async function copyTemplate(directory: string, templates = TEMPLATE_DIRECTORY): Promise<boolean> {
  const copy = `${directory}.new`;
  try {
    await rm(copy, { recursive: true, force: true });
    const template = templatePath(templates);
    if (!existsSync(template)) return false;
    mkdirSync(copy);
    await unpack(await promisify(brotliDecompress)(readFileSync(template)), copy);
    // `rmdir` and `rename` fail if the directory has files.
    if (existsSync(directory)) await rmdir(directory);
    await rename(copy, directory);
    return true;
  } catch {
    await rm(copy, { recursive: true, force: true });
    return false;
  }
}

/** Writes files one by one, because a thousand asynchronous writes would take much longer. */
async function unpack(archive: Buffer, directory: string): Promise<void> {
  const entries = extract();
  entries.end(archive);
  for await (const entry of entries) {
    const path = join(directory, entry.header.name);
    const chunks: Buffer[] = [];
    for await (const chunk of entry as AsyncIterable<Buffer>) chunks.push(chunk);
    if (entry.header.type === 'directory') mkdirSync(path);
    else writeFileSync(path, Buffer.concat(chunks));
  }
}
