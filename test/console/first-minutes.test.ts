/** @module-tag long */
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { describeConsole } from '../support/console-suite.ts';
import { freshTenant } from '../support/test-service.ts';

describeConsole('the first minutes in the console', (fixture) => {
  it("waits for a new key's first write, and links to the file", async () => {
    const { service, openSignedIn } = fixture();
    const tenant = freshTenant();
    await new Tenants(service.database).create(tenant);
    const page = await openSignedIn(`#/tenants/${tenant}`);
    await page.getByRole('button', { name: 'New key for an agent…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Label').fill('my agent');
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await dialog.getByText('Waiting for the first write…').waitFor();
    await dialog.getByRole('button', { name: 'curl', exact: true }).click();
    await dialog
      .getByText(`{"command":"create","path":"/memories/hello.md","file_text":"Hello\\n"}`)
      .waitFor();
    const secret = await dialog.getByLabel('The key', { exact: true }).inputValue();
    const input = { command: 'create', path: '/memories/hello.md', file_text: 'Hello\n' };
    await service.execute(input, { headers: { authorization: `Bearer ${secret}` } });
    await dialog.getByText('The agent wrote').waitFor();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page
      .getByRole('region', { name: 'Connect an agent' })
      .getByRole('link', { name: '/memories/hello.md' })
      .click();
    await page
      .getByRole('region', { name: 'File', exact: true })
      .getByText('Hello', { exact: true })
      .waitFor();
  });

  it("runs commands in the playground, and shows the model's result and the agent's request", async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn(`#/tenants/${tenant}/playground`);
    const result = page.getByRole('region', { name: 'Result' });
    const request = page.getByRole('region', { name: "The agent's request" });
    const run = page.getByRole('button', { name: 'Run', exact: true });
    await page.getByRole('button', { name: 'create', exact: true }).click();
    await page.getByLabel('path').fill("/memories/it's.md");
    await page.getByLabel('file_text').fill('a\u202eb\n\u{E0041}');
    await run.click();
    await result.getByText("File created successfully at: /memories/it's.md").waitFor();
    await run.click();
    await result.getByText("Error: File /memories/it's.md already exists").waitFor();
    await result.getByText('Error for the model').waitFor();
    await request
      .getByText(
        String.raw`-d '{"command":"create","path":"/memories/it'\''s.md","file_text":"a\u202eb\n\udb40\udc41"}'`,
      )
      .waitFor();
    await request.getByRole('button', { name: 'TypeScript' }).click();
    await request
      .getByText(
        String.raw`execute({ command: 'create', path: "/memories/it's.md", file_text: "a\u202eb\n\udb40\udc41" });`,
      )
      .waitFor();
    await request.getByRole('button', { name: 'Python' }).click();
    await request
      .getByText(
        String.raw`execute({"command": "create", "path": "/memories/it's.md", "file_text": "a\u202eb\n\U000e0041"})`,
      )
      .waitFor();
    await page.getByRole('button', { name: 'view', exact: true }).click();
    await page.getByLabel('path').fill('/memories/billing/taxes.md');
    await page.getByLabel('view_range').fill('3, 4');
    await run.click();
    await result.getByText('     3\t- FR 20 %\n     4\t- DE 19 %').waitFor();
    expect(await request.locator('pre').textContent()).toContain('"view_range": [3,4]');
  });

  it('offers the playground only to keys that may write', async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn(`#/tenants/${tenant}`, { access: 'read_only' });
    await page.getByRole('link', { name: 'History', exact: true }).first().waitFor();
    expect(await page.getByRole('link', { name: 'Playground' }).count()).toBe(0);
  });
});
