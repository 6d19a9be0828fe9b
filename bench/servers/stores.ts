import fastify from 'fastify';
import {
  DIRECTORIES,
  FILES_PER_DIRECTORY,
  filePath,
  LARGE_BYTES,
  SMALL_BYTES,
  tenantName,
  text,
} from '../support/data.ts';
import type { Input } from '../support/workloads.ts';
import { showFile } from './bare.ts';

/** A tenant's files, as one of the service's peers stores them. */
export interface Store {
  read(path: string): Promise<string>;
  /** Creates a file that does not exist. */
  create(path: string, content: string): Promise<void>;
  /** Replaces the first occurrence of `before` in a file. */
  replace(path: string, before: string, after: string): Promise<void>;
  insertLine(path: string, line: number, inserted: string): Promise<void>;
}

/** Serves stores behind a minimal handler: `view` for a file, `create`, `str_replace`, and `insert`. */
export async function serve(openStore: (tenant: string) => Store | Promise<Store>): Promise<void> {
  const app = fastify();
  app.post('/execute', async (request) => {
    const store = await openStore(String(request.headers['x-tenant-id']));
    return { content: await execute(store, request.body as Input), is_error: false };
  });
  await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
}

async function execute(store: Store, input: Input): Promise<string> {
  switch (input.command) {
    case 'view':
      return showFile(input.path, await store.read(input.path));
    case 'create':
      await store.create(input.path, input.file_text);
      return `File created successfully at: ${input.path}`;
    case 'str_replace':
      await store.replace(input.path, input.old_str, input.new_str);
      return 'The memory file has been edited.';
    case 'insert':
      await store.insertLine(input.path, input.insert_line, input.insert_text);
      return `The file ${input.path} has been edited.`;
    default:
      throw new Error(`This peer has no ${input.command}.`);
  }
}

/** Returns edits for stores that read and write whole files. */
export function wholeFileEdits(
  read: (path: string) => Promise<string>,
  write: (path: string, content: string) => Promise<void>,
): Pick<Store, 'replace' | 'insertLine'> {
  return {
    replace: async (path, before, after) =>
      write(
        path,
        (await read(path)).replace(before, () => after),
      ),
    insertLine: async (path, line, inserted) => {
      const lines = (await read(path)).split('\n');
      lines.splice(line, 0, inserted.replace(/\n$/, ''));
      await write(path, lines.join('\n'));
    },
  };
}

/** Creates the first tenants' files through the peer's own API. */
export async function seedStores(
  openStore: (tenant: string) => Pick<Store, 'create'> | Promise<Pick<Store, 'create'>>,
  tenants = Number(process.env.SEED_TENANTS),
): Promise<void> {
  const small = text(SMALL_BYTES);
  const large = text(LARGE_BYTES);
  for (let t = 0; t < tenants; t++) {
    const store = await openStore(tenantName(t));
    for (let d = 0; d < DIRECTORIES; d++) {
      for (let f = 0; f < FILES_PER_DIRECTORY; f++)
        await store.create(filePath(d, f), f === 0 ? large : small);
    }
  }
}
