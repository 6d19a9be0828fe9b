/** @module-tag long */
import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeConsole } from '../support/console-suite.ts';

/** Returns the focused element's text. */
const focusedLabel = (page: Page) => page.evaluate<string>('document.activeElement.textContent');

/** Clicks, and returns the focused element's text in the same task, before the next frame. */
const focusedAfter = (button: Locator) =>
  button.evaluate(async (element) => {
    (element as unknown as { click: () => void }).click();
    for (let i = 0; i < 20; i++) await null;
    const { activeElement } = element.ownerDocument;
    return activeElement?.textContent || activeElement?.getAttribute('placeholder');
  });

describeConsole('dialogs in the console', (fixture) => {
  it('returns the focus from a dialog to the button that opened it', async () => {
    const page = await fixture().openSignedIn('#/keys');
    const dialog = page.getByRole('dialog');
    const opener = page.getByRole('button', { name: 'New key' });
    const ways = [
      () => page.keyboard.press('Escape'),
      () => dialog.getByRole('button', { name: 'Cancel' }).click(),
    ];
    for (const close of ways) {
      await opener.click();
      await dialog.waitFor();
      await close();
      await expect.poll(() => dialog.count()).toBe(0);
      expect(await focusedLabel(page)).toBe(await opener.textContent());
    }
  });

  it('moves the focus to a dialog and back before the next key press', async () => {
    const page = await fixture().openSignedIn('#/keys');
    const opener = page.getByRole('button', { name: 'New key' });
    await opener.focus();
    expect(await focusedAfter(opener)).toBe('The program or person that uses the key');
    expect(await focusedAfter(page.getByRole('button', { name: 'Cancel' }))).toBe(await opener.textContent());
  });

  it('returns the focus from a question to the form, and from the form to the button', async () => {
    const page = await fixture().openSignedIn('#/keys');
    const form = page.getByRole('dialog', { name: 'New key' });
    const question = page.getByRole('dialog', { name: 'Discard your changes?' });
    await page.getByRole('button', { name: 'New key' }).press('Enter');
    // The field receives text that is typed right after the dialog opens.
    await page.keyboard.type('typed');
    await form.getByRole('button', { name: 'Cancel' }).press('Enter');
    await question.waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => question.count()).toBe(0);
    expect(await focusedLabel(page)).toBe('Cancel');
    expect(await form.getByLabel('Label').inputValue()).toBe('typed');
    await page.keyboard.press('Enter');
    await question.getByRole('button', { name: 'Discard' }).press('Enter');
    await expect.poll(() => form.count()).toBe(0);
    expect(await focusedLabel(page)).toContain('New key');
  });
});
