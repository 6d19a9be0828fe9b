import { expect, it } from 'vitest';
import { END, entry } from '../support/create-archive.ts';
import { post, readAdminUrl, startServer } from '../support/process.ts';
import { cmd } from '../support/step-table.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { openUpload, readUploadResponse } from '../support/uploads.ts';

it('completes a running upload to the admin API after SIGTERM, and exits with 0', {
  tags: 'long',
}, async () => {
  const database = await createTestDatabase();
  const server = await startServer({ DATABASE_URL: database.url, ADMIN_PORT: '0' });
  const url = await readAdminUrl(server);
  expect(server.output()).toContain(`"msg":"Server listening at ${server.url} for agents (AUTH=none)"`);
  expect(server.output()).toContain(
    `"msg":"Server listening at ${url} for administrators: the console and the admin API (AUTH=none)"`,
  );
  await post(server.url, cmd.create('/memories/first', 'x'), { 'x-tenant-id': 'acme' });
  const upload = await openUpload(url, { tenant: 'acme' });
  server.child.kill('SIGTERM');
  await server.line(/"msg":"stopping"/);
  upload.end(Buffer.concat([entry({ name: 'memories/during-stop', content: 'x' }), END]));
  const { status, lines } = await readUploadResponse(upload);
  expect([status, lines[0].files]).toStrictEqual([200, 1]);
  expect(await server.exit).toBe(0);
  await database.drop();
});
