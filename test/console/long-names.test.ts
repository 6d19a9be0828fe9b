/** @module-tag long */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { type ConsoleFixture, describeConsole } from '../support/console-suite.ts';
import { createAgent } from '../support/start-console.ts';

const LABEL = 'a label that says much of what the key is for, and of who asked for it, and when and why, '
  .repeat(2)
  .slice(0, 150);
const DIRECTORY = `/memories/${Array.from({ length: 4 }, (_, i) => `${i}-${'d'.repeat(200)}`).join('/')}`;
const OLD = `${DIRECTORY}/${'o'.repeat(150)}.md`;
const NEW = `${DIRECTORY}/${'n'.repeat(190)}.md`;

/** Creates a tenant whose ID, paths, and actors have the maximum length. */
async function longTenant({ service }: ConsoleFixture): Promise<string> {
  const tenant = `long-${Math.random().toString(36).slice(2)}-`.padEnd(128, 'x');
  await new Tenants(service.database).create(tenant);
  const agent = await createAgent(service.app, service.database, tenant, LABEL);
  await agent({ command: 'create', path: OLD, file_text: 'one\n' });
  await agent({ command: 'rename', old_path: OLD, new_path: NEW });
  for (let i = 0; i < 12; i++) {
    const other = await createAgent(service.app, service.database, tenant, `${i} ${LABEL}`.slice(0, 150));
    await other({ command: 'create', path: `/memories/${i}.md`, file_text: `${i}\n` });
  }
  return tenant;
}

const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };

type View = [name: string, place: string, open: (page: Page) => Promise<unknown>];
const openRename = async (page: Page) => {
  await page.getByRole('button', { name: /^renamed/ }).click();
  await page.getByText('Moved, with the same content.').waitFor();
};
const VIEWS: View[] = [
  ['versions', '/history', (page) => page.getByRole('button', { name: /^renamed/ }).waitFor()],
  ['a move', '/history?path_contains=ooo', openRename],
  [
    'the preview of a restore',
    '/history?path_contains=ooo&operation=created',
    async (page) => {
      await page.getByRole('button', { name: /^created/ }).click();
      await page.getByRole('button', { name: 'Restore…' }).click();
      await page.getByRole('dialog').getByText('1 file will be renamed.').waitFor();
    },
  ],
  [
    'the preview of a revert',
    '/history?path_contains=ooo',
    async (page) => {
      await openRename(page);
      await page.getByRole('button', { name: 'Revert actor…' }).click();
      await page.getByRole('dialog').getByText('1 file will be renamed.').waitFor();
    },
  ],
  ['a comparison', '/compare', (page) => page.getByText('13 files', { exact: true }).waitFor()],
  [
    'the past in a range',
    '',
    async (page) => {
      const slider = page.getByRole('slider', { name: 'Time' });
      await slider.press('ArrowLeft');
      await page.getByRole('button', { name: 'Back to now' }).waitFor();
      await slider.press('+');
      await page.getByLabel('From').waitFor();
      await page.getByRole('list', { name: 'Changes by actor' }).waitFor();
    },
  ],
  ['an invalid time', '?at=x', (page) => page.getByText('x is no time').waitFor()],
];

describeConsole('the history in the console with long names', (fixture) => {
  let tenant: Promise<string> | undefined;
  const views = (['desktop', 'phone'] as const).flatMap((device) =>
    VIEWS.map((view) => [device, ...view] as const),
  );
  it.each(views)(
    'fits the history with long names into the window and passes axe on a %s: %s',
    async (device, _name, place, open) => {
      tenant ??= longTenant(fixture());
      const page = await fixture().openSignedIn('');
      await page.setViewportSize(SIZES[device]);
      await page.goto(`${fixture().url}/#/tenants/${await tenant}${place}`);
      await open(page);
      const excesses = await page
        .locator('html, .pane, .timeline, dialog')
        .evaluateAll((all) => all.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth));
      expect(Math.max(...excesses)).toBe(0);
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate<axe.AxeResults>('axe.run()');
      expect(
        violations.map(({ id, nodes }) => [id, ...nodes.map(({ target }) => String(target))]),
      ).toStrictEqual([]);
    },
  );

  it('shortens a path and an actor, but shows them in full on hover and copies the full path', async () => {
    tenant ??= longTenant(fixture());
    const page = await fixture().openSignedIn(`#/tenants/${await tenant}/history?path_contains=ooo`);
    await page.setViewportSize(SIZES.phone);
    const versions = page.getByRole('region', { name: 'Versions' }).first();
    const titles = (selector: string) =>
      versions.locator(selector).evaluateAll((all) => all.map((each) => each.getAttribute('title')));
    await expect.poll(() => titles('.path-name')).toStrictEqual([OLD, NEW, OLD]);
    expect(await titles('.version-row .name-text[title^=key]')).toStrictEqual([
      `key ${LABEL}`,
      `key ${LABEL}`,
    ]);
    await openRename(page);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy the path' }).click();
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(NEW);
  });

  it('names the actors below the timeline on a phone', async () => {
    tenant ??= longTenant(fixture());
    const page = await fixture().openSignedIn(`#/tenants/${await tenant}`);
    await page.setViewportSize(SIZES.phone);
    const legend = page.getByRole('list', { name: 'Changes by actor' });
    await legend.getByRole('link', { name: `key ${LABEL}`, exact: true }).waitFor();
    expect(await legend.getByRole('listitem').count()).toBe(13);
  });
});
