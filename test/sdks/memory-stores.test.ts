/**
 * The oldest version of Anthropic's SDK with memory stores, and the newest ones: all these versions run all operations.
 */
import { copyFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { install, run } from '../client/packed-client.ts';
import { storeKey } from '../support/memory-stores.ts';
import { describeService } from '../support/test-service.ts';

const OUTPUT = `create memory_store Notes ada
retrieve true
update {"team":"x"}
list true
memories.create memory /a.md null 3
memories.retrieve one
memories.update /b/c.md two true
stale true memory_precondition_failed_error
memories.list memory_prefix /b/
memoryVersions.list modified two,created one
memoryVersions.retrieve api_actor
memoryVersions.redact null null true
memories.delete memory_deleted
archive true
delete memory_store_deleted
gone true true
`;

describeService(
  'the memory stores snippets',
  (service) => {
    it.each(['0.91.0', '1.13.0', '1.14.0'])(
      'runs the memory stores snippets with @anthropic-ai/sdk %s',
      async (version) => {
        const { directory } = await install([`@anthropic-ai/sdk@${version}`], 'prefer-offline');
        await copyFile(new URL('./drive-stores.mjs', import.meta.url), join(directory, 'drive-stores.mjs'));
        const { app } = service();
        if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 });
        const { port } = app.server.address() as AddressInfo;
        const url = `http://127.0.0.1:${port}`;
        const env = { PATH: process.env.PATH, URL: url, KEY: await storeKey(service()) };
        const { stdout } = await run(process.execPath, ['drive-stores.mjs'], { cwd: directory, env });
        expect(stdout).toBe(OUTPUT);
      },
    );
  },
  { AUTH: 'keys' },
);
