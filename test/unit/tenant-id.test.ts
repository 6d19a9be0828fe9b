/** The ids of drafts, wherever a tenant is created: in every other place, a tenant with such an id would look like a draft. */
import { InvalidArgumentError } from 'commander';
import { expect, it } from 'vitest';
import { newTenantId as adminTenantId } from '../../src/admin/fields.ts';
import { newTenantId as commandTenantId } from '../../src/cli/arguments.ts';
import { loadConfig } from '../../src/config.ts';
import { loadBootstrap } from '../../src/initial-data.ts';
import { Tenants } from '../../src/tenants/tenants.ts';

const id = 'draft_0123456789abcdef0123456789abcdef';

it.each([id, 'draft_x'])('rejects %s as the id of a new tenant', async (each) => {
  const rule = 'must not start with "draft_", as the ids of drafts do';
  expect(adminTenantId.safeParse(each).error?.issues.map(({ message }) => message)).toStrictEqual([rule]);
  expect(() => commandTenantId(each)).toThrow(new InvalidArgumentError(`A new tenant ID ${rule}.`));
  const query = () => Promise.reject(new Error('nothing is sent to the database'));
  const tenants = new Tenants({ query } as unknown as ConstructorParameters<typeof Tenants>[0]);
  await expect(tenants.create(each)).rejects.toThrow(`Tenant id ${each} ${rule}.`);
});

it.each([{ tenants: [{ id }] }, { keys: [{ key: 'msk_', tenant: id }] }])(
  'rejects a draft in BOOTSTRAP: %o',
  (bootstrap) => {
    const config = loadConfig({ AUTH: 'keys', BOOTSTRAP: JSON.stringify(bootstrap) });
    expect(() => loadBootstrap(config)).toThrow('must not start with "draft_", as the ids of drafts do');
  },
);

it('accepts an id that only contains the prefix of drafts', () => {
  expect(adminTenantId.parse('my-draft_1')).toBe('my-draft_1');
  expect(commandTenantId('my-draft_1')).toBe('my-draft_1');
});
