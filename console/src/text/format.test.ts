import { expect, it } from 'vitest';
import { formatAge } from './format.ts';

it('formats an age in the largest unit of which the age has at least one, when rounded', () => {
  const now = Date.parse('2026-11-25T12:00:00Z');
  const ages = [0, 59, 60, 3599, 3600, 86_399, -3597].map((seconds) =>
    formatAge(new Date(now - seconds * 1000).toISOString(), now),
  );
  expect(ages).toStrictEqual([
    'just now',
    'just now',
    '1 minute ago',
    '1 hour ago',
    '1 hour ago',
    'yesterday',
    'in 1 hour',
  ]);
});
