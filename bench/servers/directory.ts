/**
 * F, the local disk: a directory per tenant. An acknowledged write is durable, through a temporary file, fsync, and
 * rename. There are no locks, no history, and no fsync of the directory.
 */
import { randomUUID } from 'node:crypto';
import { access, mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { editsOf, type Store, serve } from './stores.ts';

const { DIRECTORY = '' } = process.env;

function storeOf(tenant: string): Store {
  const at = (path: string) => join(DIRECTORY, tenant, path);
  const read = (path: string) => readFile(at(path), 'utf8');
  const write = async (path: string, content: string) => {
    const temporary = `${at(path)}.${randomUUID()}`;
    const handle = await open(temporary, 'wx');
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, at(path));
  };
  return {
    read,
    create: async (path, content) => {
      if (await exists(at(path))) throw new Error(`${path} exists already.`);
      await mkdir(dirname(at(path)), { recursive: true });
      await write(path, content);
    },
    ...editsOf(read, write),
  };
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}

await serve(storeOf);
