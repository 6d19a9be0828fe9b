/**
 * The example with a local directory, as a user runs it.
 *
 * @module-tag long
 */
import { execFile } from 'node:child_process';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { storeKey } from '../support/memory-stores.ts';
import { describeService } from '../support/test-service.ts';

const OUTPUT = `in the directory: "first\\n"
notes.md in the directory: "from the store\\n"
plan.md in the directory: "Ship it.\\n"
people/ada.md in the directory: "Lives in Lyon.\\n"
/notes.md in the store: "from the store\\n"
/people/ada.md in the store: "Lives in Lyon.\\n"
/plan.md in the store: "Ship it.\\n"
`;

describeService(
  'a memory store as a local directory',
  (service) => {
    it('syncs a memory store with a local directory in examples/store-directory.ts', async () => {
      const { app } = service();
      await app.listen({ host: '127.0.0.1', port: 0 });
      const { port } = app.server.address() as AddressInfo;
      const run = promisify(execFile)(process.execPath, ['--import', 'tsx', 'examples/store-directory.ts'], {
        cwd: new URL('../..', import.meta.url),
        env: {
          PATH: process.env.PATH,
          MEMORY_SERVICE_URL: `http://127.0.0.1:${port}`,
          MEMORY_SERVICE_API_KEY: await storeKey(service()),
        },
      });
      expect(await run).toStrictEqual({ stdout: OUTPUT, stderr: '' });
    });
  },
  { AUTH: 'keys' },
);
