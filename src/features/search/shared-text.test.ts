import { expect, it } from 'vitest';
import { readText, shareTexts } from './shared-text.ts';

const file = (content: string) => ({ content, bytes: Buffer.byteLength(content) });

it('restores texts with any characters from a shared buffer, even at odd offsets', () => {
  const texts = ['abc', '', 'é', 'λόγος\n', 'x', '😀 日記', '\ufeffa'];
  const shared = shareTexts(texts.map(file));
  expect(shared.map(({ content }) => readText(content))).toStrictEqual(texts);
  expect(new Set(shared.map(({ content }) => content.buffer)).size).toBe(1);
});

it('shares an empty text list', () => {
  expect(shareTexts([])).toStrictEqual([]);
});
