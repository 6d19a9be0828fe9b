/**
 * F, the local disk: a directory per tenant. An acknowledged write is durable, through a temporary file, fsync, and
 * rename. There are no locks, no history, and no fsync for the directory.
 */
import { randomUUID } from 'node:crypto';
import { access, mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Store, serve, wholeFileEdits } from './stores.ts';

const { DIRECTORY = '' } = process.env;

function openStore(tenant: string): Store {
  const diskPath = (path: string) => join(DIRECTORY, tenant, path);
  const read = (path: string) => readFile(diskPath(path), 'utf8');
  const write = async (path: string, content: string) => {
    const temporary = `${diskPath(path)}.${randomUUID()}`;
    const handle = await open(temporary, 'wx');
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, diskPath(path));
  };
  return {
    read,
    create: async (path, content) => {
      if (await exists(diskPath(path))) throw new Error(`${path} exists already.`);
      await mkdir(dirname(diskPath(path)), { recursive: true });
      await write(path, content);
    },
    ...wholeFileEdits(read, write),
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

await serve(openStore);
