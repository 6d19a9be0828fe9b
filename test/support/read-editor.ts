import type { Locator } from 'playwright-core';

/**
 * Reads the text in a code editor in the console, without the buttons beside conflict markers. A long text is
 * incomplete: the page has only the lines on the screen.
 */
export async function readEditor(editor: Locator): Promise<string> {
  await editor.waitFor();
  const lines = await editor
    .locator('.cm-line')
    .evaluateAll((all) =>
      all.map(({ textContent, children }) =>
        [...children]
          .filter(({ className }) => className === 'conflict-buttons')
          .reduce((text, buttons) => text.replace(buttons.textContent, ''), textContent),
      ),
    );
  return lines.join('\n');
}
