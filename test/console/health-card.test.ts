/** @module-tag long */
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { describeConsole } from '../support/console-suite.ts';
import { createAgent } from '../support/start-console.ts';

describeConsole('the health of a memory in the console', (fixture) => {
  it('shows each finding with its files and a command, and opens a file', async () => {
    const { service, poisonedTenant, openSignedIn } = fixture();
    const tenant = await poisonedTenant();
    const agent = await createAgent(service.app, service.database, tenant, 'author');
    await agent({ command: 'create', path: '/memories/plan.md', file_text: 'See [notes](old/notes.md).' });
    const page = await openSignedIn(`#/tenants/${tenant}`);
    await page.getByRole('button', { name: 'Examine the files' }).click();
    const finding = page.getByRole('region', { name: 'With a link to a missing file' });
    expect(await finding.getByRole('heading').textContent()).toBe('With a link to a missing file: 1');
    expect(await finding.getByRole('listitem').allTextContents()).toStrictEqual([
      'plan.md/memories/old/notes.md',
    ]);
    expect(await finding.getByRole('code').textContent()).toBe(
      `memory-service log ${tenant} /memories/old/notes.md`,
    );
    await finding.getByRole('link', { name: 'plan.md' }).click();
    await page.getByRole('heading', { name: 'plan.md', level: 2 }).waitFor();
  });

  it('reports that a memory has no findings', async () => {
    const { service, openSignedIn } = fixture();
    const tenant = 'without-files';
    await new Tenants(service.database).create(tenant);
    const page = await openSignedIn(`#/tenants/${tenant}`);
    await page.getByRole('button', { name: 'Examine the files' }).click();
    await page.getByText('No findings').waitFor();
    await page.getByRole('button', { name: 'Examine again' }).waitFor();
  });
});
