import { expect, it } from 'vitest';
import { pathParts } from './path-text.tsx';

it('isolates right-to-left names in a path, so that all names keep their order', () => {
  expect(pathParts('/memories/ملاحظات/עברית.md')).toStrictEqual([
    { text: '/memories/', isRightToLeft: false },
    { text: 'ملاحظات', isRightToLeft: true },
    { text: '/', isRightToLeft: false },
    { text: 'עברית.md', isRightToLeft: true },
  ]);
  expect(pathParts('notes/lee.md')).toStrictEqual([{ text: 'notes/lee.md', isRightToLeft: false }]);
});
