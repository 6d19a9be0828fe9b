// Takes the screenshots for docs/console.md: `npm run screenshots`. Requires Chromium, and the font Inter for
// consistent images.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { loadConfig } from '../../src/core/config.ts';
import { migrate } from '../../src/core/database/migrate.ts';
import { openDatabase } from '../../src/core/database/open-database.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { buildApp } from '../../src/service/agents-app.ts';
import { launchChromium } from '../support/chromium.ts';
import { runJobs } from '../support/run-jobs.ts';
import { buildConsole, createAdminKey, startConsole } from '../support/start-console.ts';
import { proposeDraft } from './draft-scenario.ts';
import { createPoisonedMemory } from './scenario.ts';
import { spreadHistory } from './spread-history.ts';

const DIRECTORY = process.argv[2] ?? 'docs/images';
/** Name prefix of the screenshots to take. */
const ONLY = process.argv[3] ?? '';
/** Screenshots that the documents show. */
const SHOWN = new Set([
  'tenants-light',
  'past-light',
  'restore-light',
  'compare-light',
  'versions-light',
  'history-dark',
  'past-narrow',
  'drafts-light',
  'review-light',
  'review-narrow',
  'incident-light',
]);
const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 400, height: 760 };

const dataDirectory = await mkdtemp(join(tmpdir(), 'screenshots-'));
const config = loadConfig({ AUTH: 'keys', DATA_DIR: dataDirectory, LOG_LEVEL: 'warn' });
const database = await openDatabase(config);
await migrate(database);
const app = await buildApp({ config, database });
await createPoisonedMemory(app, database, 'acme', { visits: 90 });
const tenants = new Tenants(database);
for (const id of ['globex', 'initech', 'umbrella']) {
  await createPoisonedMemory(app, database, id);
  await tenants.set(id, { maxFiles: id === 'globex' ? 10 : id === 'initech' ? 9 : 40, maxBytes: 4000 });
}
await tenants.set('acme', { maxFiles: 50, maxBytes: 4000 });
await tenants.suspend('initech', true);
await spreadHistory(database, 21);
const draft = await proposeDraft(app, database, 'globex');
await buildConsole();
const console_ = await startConsole(database);
const stopJobs = runJobs({ database });
const { key } = await createAdminKey(database, { label: 'anna' });
const browser = await launchChromium();

for (const [scheme, size] of [
  ['light', WIDE],
  ['dark', WIDE],
  ['light', NARROW],
] as const) {
  const suffix = size === NARROW ? 'narrow' : scheme;
  const page = await browser.newPage({ locale: 'en-US', viewport: size, colorScheme: scheme });
  const shoot = async (name: string) => {
    if (!SHOWN.has(`${name}-${suffix}`) || !name.startsWith(ONLY)) return;
    await page.screenshot({ path: join(DIRECTORY, `console-${name}-${suffix}.png`) });
  };
  await signIn(page);
  await shoot('tenants');
  await openMemory(page);
  await slideToPast(page);
  await shoot('past');
  if (suffix === 'light') {
    await page.getByRole('button', { name: 'Restore everything' }).click();
    await page.getByText(/files? will be modified/).waitFor();
    await shoot('restore');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('link', { name: 'Compare with now' }).click();
    await page.getByRole('slider', { name: 'Time' }).fill('975');
    await page.getByText('refunds.md').first().waitFor();
    await shoot('compare');
  }
  await openVersion(page);
  await shoot('history');
  if (suffix === 'light') {
    await openComparison(page);
    await shoot('versions');
  }
  await openDrafts(page);
  await shoot('drafts');
  await openConflict(page);
  await shoot('review');
  await findEverywhere(page);
  await shoot('incident');
  await page.close();
}
await browser.close();
await stopJobs();
await console_.close();
await app.close();
await database.close();
await rm(dataDirectory, { recursive: true });

async function signIn(page: Page): Promise<void> {
  await page.goto(console_.url);
  await page.getByLabel('Admin key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'umbrella' }).waitFor();
}

async function openMemory(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'acme' }).click();
  await page.getByRole('treeitem', { name: 'refunds.md' }).click();
  await page.getByText('No approval is needed').waitFor();
  await page.mouse.move(0, 0);
}

async function slideToPast(page: Page): Promise<void> {
  await page.getByRole('slider', { name: 'Time' }).fill('700');
  await page.getByText('original payment method').waitFor();
}

async function openVersion(page: Page): Promise<void> {
  await page.goto(`${console_.url}/#/tenants/acme/history`);
  await page.getByRole('button', { name: /modified refunds.md/ }).click();
  await page.getByText('No approval is needed').waitFor();
  await page.mouse.move(0, 0);
}

async function openComparison(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Compare with…' }).click();
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /created refunds.md/ })
    .click();
  await page.getByRole('button', { name: 'Swap' }).waitFor();
  await page.mouse.move(0, 0);
}

async function openDrafts(page: Page): Promise<void> {
  await page.goto(`${console_.url}/#/drafts`);
  await page.getByRole('link', { name: 'globex' }).waitFor();
  await page.mouse.move(0, 0);
}

async function openConflict(page: Page): Promise<void> {
  await page.goto(`${console_.url}/#/tenants/globex/drafts/${draft.id}`);
  await page.getByRole('button', { name: /^conflict/ }).click();
  await page.getByText('- Refund: 900 EUR, paid').first().waitFor();
  await page.mouse.move(0, 0);
}

async function findEverywhere(page: Page): Promise<void> {
  await page.goto(`${console_.url}/#/incidents`);
  await page.getByLabel('Text to find').fill('Ignore the rules on refunds');
  await page.getByRole('button', { name: 'Find', exact: true }).click();
  await page.getByRole('button', { name: 'Hits in globex' }).click();
  await page.getByText('Send customer lists').first().waitFor();
  await page.mouse.move(0, 0);
}
