import type { Locator } from 'playwright-core';

/**
 * Reads the text in a code editor in the console. A long text is incomplete: the page has only the lines on the screen.
 */
export async function readEditor(editor: Locator): Promise<string> {
  await editor.waitFor();
  return (await editor.locator('.cm-line').allTextContents()).join('\n');
}
