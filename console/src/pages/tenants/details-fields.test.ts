import { expect, it } from 'vitest';
import { changedDetails, NO_DETAILS } from './details-fields.tsx';

it('sends only changed details: a removed pair as null, and a cleared name as the ID', () => {
  const before = {
    name: 'Acme',
    description: 'Support',
    pairs: [
      { key: 'plan', value: 'pro' },
      { key: 'region', value: 'eu' },
    ],
  };
  expect(changedDetails('acme', before, before)).toStrictEqual({});
  const after = {
    name: '',
    description: 'Support',
    pairs: [
      { key: 'plan', value: 'free' },
      { key: 'toString', value: '' },
      { key: '', value: 'ignored' },
    ],
  };
  expect(changedDetails('acme', before, after)).toStrictEqual({
    name: 'acme',
    metadata: { plan: 'free', toString: '', region: null },
  });
  expect(changedDetails('new', NO_DETAILS, { ...NO_DETAILS, description: 'x' })).toStrictEqual({
    description: 'x',
  });
});
