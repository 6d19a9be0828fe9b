/** @module-tag long */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeConsole } from '../support/console-suite.ts';
import { createAgent } from '../support/start-console.ts';

const NAME = `<img src=x onerror="alert(1)">`;
const MARKDOWN = `# Hello

<script>alert(2)</script>
<img src=x onerror=alert(3)>
<svg onload=alert(4)></svg>
<iframe srcdoc="<script>alert(5)</script>"></iframe>
<form action="https://example.net"><input name=key></form>
<style>body { display: none }</style>
<p style="position:fixed;inset:0" id="app" class="topbar" onclick="alert(6)">shown</p>

[script](javascript:alert(7)) [data](data:text/html,<script>alert(8)</script>) [web](https://example.net/)

![picture](https://example.net/beacon.png)
`;

/** Records the dialogs and requests from a page that hostile content must not cause. */
async function watch(page: Page): Promise<{ dialogs: string[]; requests: string[] }> {
  const [dialogs, requests]: string[][] = [[], []];
  page.on('dialog', async (dialog) => {
    dialogs?.push(dialog.message());
    await dialog.dismiss();
  });
  const { host } = new URL(page.url());
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.host !== host && url.protocol !== 'blob:') requests?.push(request.url());
  });
  return { dialogs: dialogs ?? [], requests: requests ?? [] };
}

describeConsole('the console with a hostile memory', (fixture) => {
  async function hostileTenant(): Promise<string> {
    const { service } = fixture();
    const tenant = await fixture().poisonedTenant();
    const agent = await createAgent(service.app, service.database, tenant, NAME);
    await agent({ command: 'create', path: `/memories/${NAME}`, file_text: MARKDOWN });
    await agent({
      command: 'create',
      path: '/memories/hidden.md',
      file_text: 'invoice\u202Efdp.exe \u{E0049}\u{E0067}\u{E006E} \u001B[2J 👩‍👩‍👧\n',
    });
    return tenant;
  }

  it('shows names and contents as text and runs no script', async () => {
    const tenant = await hostileTenant();
    const page = await fixture().openSignedIn(`#/tenants/${tenant}`);
    const { dialogs, requests } = await watch(page);
    await page.getByRole('treeitem', { name: NAME }).click();
    await page.getByRole('heading', { name: NAME }).waitFor();
    await page.getByText('<script>alert(2)</script>', { exact: true }).waitFor();

    await page.getByRole('button', { name: 'Markdown' }).click();
    await page.getByRole('heading', { name: 'Hello' }).waitFor();
    const article = page.locator('article.markdown');
    // HTML in the source is shown as text.
    expect(await article.textContent()).toContain('<script>alert(2)</script>');
    expect(await article.locator('script, img, svg, iframe, form, input, style').count()).toBe(0);
    const attributes = await article
      .locator('*')
      .evaluateAll((elements) => [...new Set(elements.flatMap((each) => each.getAttributeNames()))].sort());
    expect(attributes).toStrictEqual(['href', 'rel', 'target', 'title']);
    const links = await article.locator('a').evaluateAll((all) => all.map((a) => a.getAttribute('href')));
    expect(links).toStrictEqual([null, null, 'https://example.net/']);

    for (const place of ['history', 'compare']) {
      await page.goto(`${page.url().split('#')[0]}#/tenants/${tenant}/${place}`);
      await page.getByText(NAME).first().waitFor();
    }
    await page.goto(
      `${page.url().split('#')[0]}#/tenants/${tenant}?path=${encodeURIComponent('/memories/<b>')}`,
    );
    await page.getByText('This file does not exist').waitFor();
    expect({ dialogs, requests }).toStrictEqual({ dialogs: [], requests: [] });
  });

  it('shows invisible characters as codes', async () => {
    const page = await fixture().openSignedIn(`#/tenants/${await hostileTenant()}?path=/memories/hidden.md`);
    await page.getByText('characters that are normally invisible').waitFor();
    expect(await page.locator('.lines .hidden-character').allTextContents()).toStrictEqual([
      'U+202E',
      'U+E0049',
      'U+E0067',
      'U+E006E',
      'U+001B',
    ]);
  });

  it('shows key and actor names as text', async () => {
    const tenant = await hostileTenant();
    const page = await fixture().openSignedIn(`#/tenants/${tenant}/settings`);
    const { dialogs, requests } = await watch(page);
    await page.getByRole('rowheader', { name: NAME }).waitFor();
    await page.getByRole('link', { name: 'Memory', exact: true }).click();
    await page.getByRole('link', { name: `key ${NAME}` }).waitFor();
    expect({ dialogs, requests }).toStrictEqual({ dialogs: [], requests: [] });
  });
});
