import { InvalidArgumentError } from 'commander';
import { expect, it } from 'vitest';
import { newTenantId as adminTenantId } from '../admin/fields.ts';
import { newTenantId as commandTenantId } from '../cli/arguments.ts';
import { loadConfig } from '../config.ts';
import { loadBootstrap } from './initial-data.ts';
import { Tenants } from './tenants.ts';

const id = 'draft_0123456789abcdef0123456789abcdef';
const RULE =
  'must be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ -, without "-" or "draft_" at the start, and not "." or ".."';

it.each([id, 'draft_x', '-x', '.', '..', 'a b'])("rejects %s as a new tenant's ID", async (each) => {
  expect(adminTenantId.safeParse(each).error?.issues.map(({ message }) => message)).toStrictEqual([RULE]);
  expect(() => commandTenantId(each)).toThrow(new InvalidArgumentError(`A new tenant ID ${RULE}.`));
  const query = () => Promise.reject(new Error('nothing is sent to the database'));
  const transaction = (work: (given: typeof query) => Promise<unknown>) => work(query);
  const tenants = new Tenants({ transaction } as unknown as ConstructorParameters<typeof Tenants>[0]);
  await expect(tenants.create(each)).rejects.toThrow(`The id of the new tenant is ${each}, and ${RULE}.`);
});

it.each([{ tenants: [{ id }] }, { keys: [{ key: 'msk_', tenant: id }] }])(
  'rejects a draft ID in BOOTSTRAP: %o',
  (bootstrap) => {
    const config = loadConfig({ AUTH: 'keys', BOOTSTRAP: JSON.stringify(bootstrap) });
    expect(() => loadBootstrap(config)).toThrow(RULE);
  },
);

it('accepts a tenant ID that contains the prefix for drafts after its start', () => {
  expect(adminTenantId.parse('my-draft_1')).toBe('my-draft_1');
  expect(commandTenantId('my-draft_1')).toBe('my-draft_1');
});
