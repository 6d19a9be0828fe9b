import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';
import type { KeyPurpose } from '../../src/core/tenants/keys.ts';
import { createPoisonedMemory } from '../console/scenario.ts';
import { describeInBrowser } from './browser.ts';
import { assertInvariants } from './invariants.ts';
import { type Console, createAdminKey, startConsole } from './start-console.ts';
import { freshTenant, type Service, type startService, startSharedService } from './test-service.ts';

export interface ConsoleFixture {
  url: string;
  service: Service;
  /** Creates a tenant with the memory from `createPoisonedMemory`. */
  poisonedTenant: () => Promise<string>;
  createKey: (purpose?: Partial<KeyPurpose>) => Promise<{ id: string; key: string }>;
  /** Opens a console page in a new browser context, signed in with a new admin key. */
  openSignedIn: (place: string, purpose?: Partial<KeyPurpose>) => Promise<Page>;
  open: (context: BrowserContext, place?: string) => Promise<Page>;
  newContext: () => Promise<BrowserContext>;
}

/**
 * Runs a suite on the console in a browser. After each test, the suite closes its pages and checks that no script
 * failed and that the content security policy blocked no resource.
 *
 * @param start starts the service; `startService` for a suite that counts all tenants
 */
export function describeConsole(
  name: string,
  suite: (fixture: () => ConsoleFixture) => void,
  start: typeof startService = startSharedService,
): void {
  describeInBrowser(name, (browser) => {
    let service: Service;
    let server: Console;
    let contexts: BrowserContext[] = [];
    let faults: string[] = [];
    beforeAll(async () => {
      service = await start('pglite', { AUTH: 'keys' });
      server = await startConsole(service.database, { SHARING: 'on' });
    });
    afterEach(async () => {
      for (const context of contexts) await context.close();
      const found = faults;
      [contexts, faults] = [[], []];
      if (found.length > 0) throw new Error(`In the pages: ${found.join('\n')}`);
    });
    afterAll(async () => {
      await server.close();
      await assertInvariants(service);
      await service.close();
    });

    async function newContext(): Promise<BrowserContext> {
      const context = await browser().newContext({ locale: 'en-US', timezoneId: 'UTC' });
      contexts.push(context);
      context.on('weberror', (error) => faults.push(error.error().message));
      context.on('console', (message) => {
        // The browser logs each error response, and tests cause such responses on purpose.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
          faults.push(message.text());
        }
      });
      return context;
    }
    async function open(context: BrowserContext, place = ''): Promise<Page> {
      const page = await context.newPage();
      await page.goto(`${server.url}/${place}`);
      return page;
    }
    const createKey = (purpose?: Partial<KeyPurpose>) => createAdminKey(service.database, purpose);
    const fixture: ConsoleFixture = {
      get url() {
        return server.url;
      },
      get service() {
        return service;
      },
      poisonedTenant: async () => {
        const tenant = freshTenant();
        await createPoisonedMemory(service.app, service.database, tenant);
        return tenant;
      },
      createKey,
      newContext,
      open,
      openSignedIn: async (place, purpose) => {
        const { key } = await createKey(purpose);
        const page = await open(await newContext(), place);
        await signIn(page, key);
        return page;
      },
    };
    suite(() => fixture);
  });
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('Admin key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}
