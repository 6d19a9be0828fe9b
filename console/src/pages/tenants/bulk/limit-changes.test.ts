import { expect, it } from 'vitest';
import type { Tenant } from '../../../api/api-types.ts';
import { limitChanges } from './limit-changes.ts';

const DEFAULT = 1000;
const tenant = (id: string, files: number | null) => ({
  id,
  status: 'active' as const,
  files: 0,
  settings: { max_files: files } as Tenant['settings'],
  effective: { max_files: files ?? DEFAULT } as Tenant['effective'],
});
const TENANTS = [tenant('acme', 50), tenant('globex', 500), tenant('free', 0), tenant('plain', null)];

it('names the tenants whose limits are raised, and those whose limits are lowered', () => {
  expect(limitChanges(TENANTS, { max_files: 100 })).toStrictEqual([
    'Files: raised to 100 for 1 tenant (acme, now 50).',
    'Files: lowered to 100 for 3 tenants (globex, now 500; free, now no limit; plain, now 1000).',
  ]);
});

it('treats "no limit" as higher than any number', () => {
  expect(limitChanges(TENANTS, { max_files: 0 })).toStrictEqual([
    'Files: raised to no limit for 3 tenants (acme, now 50; globex, now 500; plain, now 1000).',
  ]);
});

it("compares limits with the service's default only if a selected tenant uses the default", () => {
  expect(limitChanges(TENANTS.slice(1), { max_files: null })).toStrictEqual([
    'Files: raised to 1000 for 1 tenant (globex, now 500).',
    'Files: lowered to 1000 for 1 tenant (free, now no limit).',
  ]);
  expect(limitChanges(TENANTS.slice(0, 2), { max_files: null })).toStrictEqual([
    'Files: 2 tenants (acme; globex) will get the default of the service.',
  ]);
});

it('returns an empty list if each tenant already has the value', () => {
  expect(limitChanges(TENANTS.slice(0, 1), { max_files: 50 })).toStrictEqual([]);
});
