/** @module-tag long */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeConsole } from '../support/console-suite.ts';
import { readEditor } from '../support/read-editor.ts';
import { createAgent } from '../support/start-console.ts';
import { proposeDraft } from './draft-scenario.ts';

const REFUNDS = '/memories/refunds.md';
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
const row = (page: Page, name: string | RegExp) =>
  page.getByRole('region', { name: 'Changed files' }).getByRole('button', { name });
const file = (page: Page, name: string) => page.getByRole('article', { name });
const choose = (page: Page, name: string, choice: string) =>
  file(page, name).getByRole('button', { name: choice, exact: true }).click();
/** Returns the row for the file in view. */
const inView = (page: Page) =>
  page.getByRole('region', { name: 'Changed files' }).getByRole('button', { pressed: true });

async function findViolations(page: Page): Promise<unknown[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>('axe.run()');
  return violations.map(({ id, nodes }) => [id, ...nodes.map(({ target }) => String(target))]);
}

describeConsole("a draft's review in the console", (fixture) => {
  /** Proposes a draft with conflicts in three files. One of these files has conflicts in two places. */
  async function createConflicts() {
    const { service, poisonedTenant } = fixture();
    const tenant = await poisonedTenant();
    const draft = await proposeDraft(service.app, service.database, tenant, 'Tidy up');
    const agent = (of: string) => createAgent(service.app, service.database, of, 'editor');
    const [proposer, other] = await Promise.all([agent(draft.id), agent(tenant)]);
    const replace = (path: string, old_str: string, new_str: string) => ({
      command: 'str_replace',
      path,
      old_str,
      new_str,
    });
    await proposer(replace(REFUNDS, 'two working days', 'one working day'));
    await other(replace(REFUNDS, 'two working days', 'three working days'));
    await proposer(replace(REFUNDS, 'Amount | Approver', 'Sum | Approver'));
    await other(replace(REFUNDS, 'Amount | Approver', 'Value | Approver'));
    await proposer(replace('/memories/billing/invoices.md', 'second', 'third'));
    await other(replace('/memories/billing/invoices.md', 'second', 'fourth'));
    return { tenant, draft: draft.id, place: `#/tenants/${tenant}/drafts/${draft.id}`, proposer };
  }
  const readContent = async (tenant: string, path: string) => {
    const [entry] = await fixture().service.query(
      'SELECT content FROM entries WHERE tenant_id = $1 AND path = $2',
      [tenant, path],
    );
    return String(entry?.content);
  };

  it('opens each conflict in order, and merges three conflicts in six clicks from the start page', async () => {
    const { tenant } = await createConflicts();
    const page = await fixture().openSignedIn('', { onlyTenants: [tenant] });
    let clicks = 0;
    const click = async (what: ReturnType<typeof button>) => {
      await what.click();
      clicks++;
    };
    await click(page.getByRole('link', { name: 'Drafts 1 to review' }));
    await click(page.getByRole('link', { name: 'Tidy up' }));
    for (const name of ['invoices.md', 'lee.md', 'refunds.md']) {
      await expect.poll(() => inView(page).textContent()).toContain(name);
      await click(file(page, name).getByRole('button', { name: 'Original', exact: true }));
    }
    await click(button(page, 'Approve and merge'));
    await page.locator('.badge', { hasText: 'merged' }).waitFor();
    expect(clicks).toBe(6);
    expect(await readContent(tenant, '/memories/billing/invoices.md')).toContain('the fourth of the month');
    expect(await readContent(tenant, '/memories/style.md')).toContain('Friendly, brief');
  });

  it('counts files by kind, moves between them with j and k, and keeps viewed marks until a change', async () => {
    const { place, proposer } = await createConflicts();
    const page = await fixture().openSignedIn(place);
    const counts = page.getByRole('region', { name: 'Changed files' }).getByRole('status');
    const shownCounts = () => counts.locator('span').allTextContents();
    await expect
      .poll(shownCounts)
      .toStrictEqual([
        '3 conflicts',
        '1 on both sides',
        '1 added',
        '1 changed',
        '1 moved',
        '1 deleted',
        '1 only in the original',
        'Viewed 0 of 8',
      ]);
    await expect.poll(() => inView(page).textContent()).toContain('invoices.md');
    for (const key of ['j', 'j', 'k']) await page.keyboard.press(key);
    await expect.poll(() => inView(page).textContent()).toContain('taxes.md');
    await page.keyboard.press('v');
    expect(await file(page, 'taxes').getByLabel('Viewed').isChecked()).toBe(true);
    for (let i = 0; i < 4; i++) await page.keyboard.press('j');
    await expect.poll(() => inView(page).textContent()).toContain('plans.md');
    await file(page, 'plans').getByLabel('Viewed').check();
    // A viewed file is collapsed.
    const differences = (name: string) =>
      file(page, name).getByRole('button', { name: 'Differences', exact: true });
    expect(await differences('plans').getAttribute('aria-expanded')).toBe('false');
    expect(await differences('lee').getAttribute('aria-expanded')).toBe('true');
    await expect.poll(async () => (await shownCounts()).at(-1)).toBe('Viewed 2 of 8');
    // The marks last until the file changes.
    await page.reload();
    await row(page, /taxes.*viewed/).waitFor();
    // Choosing a side does not mark the file as viewed.
    await row(page, /lee\.md/).click();
    await choose(page, 'lee', 'Original');
    await expect.poll(async () => (await shownCounts()).at(-1)).toBe('Viewed 2 of 8');
    await proposer({
      command: 'insert',
      path: '/memories/products/plans.md',
      insert_line: 1,
      insert_text: 'x',
    });
    await page.reload();
    await expect.poll(async () => (await shownCounts()).at(-1)).toBe('Viewed 1 of 8');
    expect(await row(page, /plans.*viewed/).count()).toBe(0);
  });

  it('collapses the files in a large review, and loads the differences in a file that is opened', async () => {
    const { service, poisonedTenant, openSignedIn, url } = fixture();
    const tenant = await poisonedTenant();
    const draft = await proposeDraft(service.app, service.database, tenant, 'Many files');
    const agent = await createAgent(service.app, service.database, draft.id, 'editor');
    for (let i = 100; i < 160; i++)
      await agent({ command: 'create', path: `/memories/many/${i}.md`, file_text: `Number ${i}\n` });
    const page = await openSignedIn('');
    let loads = 0;
    page.on('request', (request) => {
      if (new URL(request.url()).pathname.endsWith('/diff')) loads++;
    });
    await page.goto(`${url}/#/tenants/${tenant}/drafts/${draft.id}`);
    // A file with a conflict is open.
    await file(page, 'lee').getByRole('button', { name: 'Original', exact: true }).waitFor();
    expect(await page.locator('article [aria-expanded="true"]').count()).toBe(1);
    expect(loads).toBe(1);
    expect(await file(page, 'many/159').count()).toBe(0);
    await page.getByRole('group', { name: 'Changed files' }).evaluate((list) => list.scrollTo(0, 1e6));
    await row(page, /^added 159/).click();
    await file(page, 'many/159').getByText('Number 159').waitFor();
    await expect.poll(() => inView(page).textContent()).toContain('159.md');
    expect(loads).toBe(2);
    await page.reload();
    await file(page, 'many/159').getByText('Number 159').waitFor();
    await expect.poll(() => inView(page).textContent()).toContain('159.md');
    for (const [key, number] of [
      ['k', 158],
      ['j', 159],
    ] as const) {
      await page.keyboard.press(key);
      await file(page, `many/${number}`).getByText(`Number ${number}`).waitFor();
      await expect.poll(() => inView(page).textContent()).toContain(`${number}.md`);
    }
    await page.keyboard.press('Control+f');
    await file(page, 'many/159').getByRole('searchbox').fill('number');
    await file(page, 'many/159').getByText('1 of 1').waitFor();
  });

  it("takes different sides for a file's parts, and shows the result", async () => {
    const { tenant, place } = await createConflicts();
    const page = await fixture().openSignedIn(place);
    await row(page, /conflict.*refunds/).click();
    await choose(page, 'refunds', 'Own text');
    const take = (side: string, name = 'refunds') =>
      file(page, name).getByRole('button', { name: `Take ${side}`, exact: true });
    await take('both').first().click();
    await expect.poll(() => take('both').count()).toBe(1);
    await row(page, /refunds.*has marks left/).waitFor();
    expect(await findViolations(page)).toStrictEqual([]);
    await take('draft').click();
    await row(page, /refunds.*takes your text/).waitFor();
    await page.getByText('Red: the original. Green: your resolution.').waitFor();
    const changedLines = () =>
      file(page, 'refunds').locator('.diff .cm-line:is(.removed, .added)').allTextContents();
    await expect
      .poll(changedLines)
      .toStrictEqual(['| Value | Approver |', '- Answer within one working day.', '| Sum | Approver |']);
    // A file without a conflict starts with marks around its changes, which the reviewer can leave out one by one.
    await row(page, /taxes/).click();
    await choose(page, 'taxes', 'Own text');
    await row(page, /taxes.*has marks left/).waitFor();
    await take('original', 'taxes').click();
    await row(page, /taxes.*takes your text/).waitFor();
    await row(page, /conflict.*lee/).click();
    await choose(page, 'lee', 'Own text');
    await button(page, 'Take draft everywhere').click();
    await row(page, /lee.*takes your text/).waitFor();
    await row(page, /conflict.*invoices/).click();
    await choose(page, 'invoices', 'Draft');
    await button(page, 'Approve and merge').click();
    await page.locator('.badge', { hasText: 'merged' }).waitFor();
    expect(await readContent(tenant, REFUNDS)).toContain(
      '- Answer within one working day.\n- Answer within three working days.\n\n## Approvals\n\n| Sum | Approver |',
    );
    expect(await readContent(tenant, '/memories/billing/taxes.md')).toContain('- FR 20 %\n');
    expect(await readContent(tenant, '/memories/billing/taxes.md')).toContain('- PT 23 % (Madeira 22 %)');
  });

  it('shows a comment on a line below the line, after a click on the line number', async () => {
    const { draft, place } = await createConflicts();
    const page = await fixture().openSignedIn(place);
    // Three conflicts are left, and the button beside the merge opens the next one.
    await button(page, '3 conflicts left').click();
    await expect.poll(() => inView(page).textContent()).toContain('lee.md');
    await button(page, '3 conflicts left').click();
    await expect.poll(() => inView(page).textContent()).toContain('refunds.md');
    const refunds = file(page, 'refunds');
    await refunds.locator('.cm-merge-b .cm-lineNumbers').getByText('5', { exact: true }).click();
    const text = refunds.getByLabel('New comment on line 5');
    await expect.poll(() => text.evaluate((element) => element.matches(':focus'))).toBe(true);
    await text.fill('Why one day?');
    await refunds.locator('.line-comments').getByRole('button', { name: 'Comment' }).click();
    const comments = page.getByRole('list', { name: 'Comments on line 5' });
    await comments.getByText('Why one day?').waitFor();
    // Below the line in the draft's text.
    expect(
      await refunds.locator('.cm-merge-b .cm-line:has(+ div .line-comments)').allTextContents(),
    ).toStrictEqual(['- Answer within one working day.']);
    await button(page, 'Unified').click();
    await text.fill('Two would do.');
    await button(page, 'Reply').click();
    await comments.getByText('Two would do.').waitFor();
    expect(await text.inputValue()).toBe('');
    await row(page, /refunds.*2 comments/).waitFor();
    expect(await findViolations(page)).toStrictEqual([]);
    // A resolved comment stays in the file's list, and no longer stands below its line.
    await comments.getByRole('button', { name: 'Resolve the comment' }).first().click();
    await row(page, /refunds.*1 comment/).waitFor();
    await comments.getByRole('button', { name: 'Resolve the comment' }).click();
    await expect.poll(() => comments.count()).toBe(0);
    expect(await row(page, /refunds.*comment/).count()).toBe(0);
    // A click could miss: editors that scroll into view correct their estimated height.
    await refunds.getByText('2 comments on the file').press('Enter');
    await refunds.getByText('resolved by admin key console').first().waitFor();
    await refunds.getByRole('button', { name: 'Reopen the comment' }).first().click();
    await comments.getByText('Why one day?').waitFor();
    await choose(page, 'refunds', 'In the original');
    await expect.poll(() => comments.count()).toBe(0);
    await expect
      .poll(() => fixture().service.query('SELECT comments FROM drafts WHERE id = $1', [draft]))
      .toMatchObject([
        {
          comments: [
            { text: 'Why one day?', line: 5 },
            { text: 'Two would do.', line: 5 },
          ],
        },
      ]);
  });

  it('stores comments on a draft or a file, and shows them to other reviewers', async () => {
    const { draft, place } = await createConflicts();
    const page = await fixture().openSignedIn(place, { label: 'anna' });
    const invoices = file(page, 'invoices');
    await invoices.getByText('Comment on the file').click();
    await invoices.getByLabel('New comment on the file').fill('Why <b>third</b>?');
    await invoices.getByRole('button', { name: 'Comment', exact: true }).click();
    await row(page, /invoices.*1 comment/).waitFor();
    await page.getByText('Comment on the draft').click();
    await page.getByLabel('New comment on the draft').fill('Looks good otherwise.');
    await button(page, 'Comment').first().click();
    await page.getByText('1 comment on the draft').waitFor();
    await page.getByLabel('New comment on the draft').fill('Please look.');
    await page.getByLabel('Request a review of').fill('bob');
    await button(page, 'Comment').first().click();
    await page.locator('.review-head').getByText('review requested of bob by admin key anna').waitFor();
    expect(await findViolations(page)).toStrictEqual([]);
    // Another reviewer sees the comments. A read-only key cannot add or delete a comment.
    const other = await fixture().openSignedIn(place, { access: 'read_only' });
    const comments = other.getByRole('list', { name: 'Comments on the file' }).first();
    await comments.getByText('Why <b>third</b>?').waitFor();
    await comments.getByText('admin key anna').waitFor();
    expect(await other.getByRole('button', { name: 'Delete the comment' }).count()).toBe(0);
    await button(page, 'Delete the comment').last().click();
    await invoices.getByText('Comment on the file').waitFor();
    await expect
      .poll(() => fixture().service.query('SELECT comments FROM drafts WHERE id = $1', [draft]))
      .toMatchObject([
        {
          comments: [
            { text: 'Looks good otherwise.', memoryId: null },
            { text: 'Please look.', reviewer: 'bob' },
          ],
        },
      ]);
    await other.goto(`${fixture().url}/#/drafts`);
    const listed = other.getByRole('row', { name: /Tidy up/ }).filter({ hasText: 'bob' });
    await expect.poll(() => listed.getByRole('cell').allTextContents()).toContain('2 open');
  });

  it('lets the user write one text after conflicting edits to a file', async () => {
    const { service, poisonedTenant, openSignedIn } = fixture();
    const tenant = await poisonedTenant();
    const path = '/memories/billing/taxes.md';
    const page = await openSignedIn(`#/tenants/${tenant}?path=${path}`);
    await button(page, 'Edit').click();
    const text = page.getByRole('textbox', { name: 'Content of the file' });
    const content = await readEditor(text);
    await text.fill(content.replace('DE 19 %', 'DE 19 % (mine)').replace('# Taxes', '# All taxes'));
    const agent = await createAgent(service.app, service.database, tenant, 'other');
    await agent({ command: 'str_replace', path, old_str: 'DE 19 %', new_str: 'DE 19 % (agent)' });
    await button(page, 'Save').click();
    await page.getByText('This file was changed while you edited it.').waitFor();
    expect(await button(page, 'Merge both').count()).toBe(0);
    await button(page, 'Own text').click();
    const marked =
      '# All taxes\n\n- FR 20 %\n<<<<<<< yours\n- DE 19 % (mine)\n=======\n- DE 19 % (agent)\n>>>>>>> theirs\n';
    expect(await readEditor(text)).toBe(`${marked}- ES 21 %\n- PT 23 %\n`);
    await page.getByText('Remove the marks, and the text that you do not want.').waitFor();
    expect(await button(page, 'Save').isDisabled()).toBe(true);
    expect(await findViolations(page)).toStrictEqual([]);
    await text.fill('# All taxes\n\n- DE 19 % (both)\n');
    await button(page, 'Save').click();
    await page.getByText(`Saved ${path}.`).waitFor();
    expect(await readContent(tenant, path)).toBe('# All taxes\n\n- DE 19 % (both)\n');
  });
});
