import { expect, it } from 'vitest';
import { revealHidden } from './visible.tsx';

it('limits the shown character codes, so that many invisible characters do not block the page', () => {
  expect(revealHidden('a\u202E')).toMatchObject(['a', { props: { children: 'U+202E' } }, false]);
  const shown = revealHidden(`${'a\u200B'.repeat(100_000)}b`);
  expect(shown).toHaveLength(1001);
  expect(shown).toMatchObject({
    999: { props: { children: 'U+200B' } },
    1000: { props: { children: `${'a\u200B'.repeat(99_500)}b` } },
  });
});
