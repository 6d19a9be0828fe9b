import { expect, it } from 'vitest';
import { fileDescription } from '../../src/features/context/description.ts';

it.each([
  ['---\ndescription: About Ada\n---\n# Heading', 'About Ada'],
  ['---\r\ntitle: x\r\ndescription: "Ada: likes"\r\n---\r\n', 'Ada: likes'],
  ['---\ntitle: x\n---\n## Second ##\ntext', 'Second'],
  ['text\n\n# First\n# Second', 'First'],
  ['description: not in front matter', ''],
  ['#hashtag', ''],
  ['# ##\n', ''],
  ['# About C#', 'About C#'],
  ['# Title\t##\r\n', 'Title'],
  ['', ''],
  ['---\ndescription: cut in the middle', 'cut in the middle'],
  ['# a\tb \u0007c', 'a b c'],
  [`# ${'x'.repeat(200)}`, `${'x'.repeat(119)}…`],
  [`# ${'x'.repeat(118)}😀😀`, `${'x'.repeat(118)}…`],
])('describes the file %j', (head, description) => {
  expect(fileDescription(head)).toBe(description);
});
