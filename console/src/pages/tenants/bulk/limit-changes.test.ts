import { expect, it } from 'vitest';
import type { Tenant } from '../../../api/api-types.ts';
import { limitChanges, settingChanges } from './limit-changes.ts';

const DEFAULT = 1000;
const tenant = (id: string, files: number | null) => ({
  id,
  status: 'active' as const,
  files: 0,
  settings: { max_files: files } as Tenant['settings'],
  effective: { max_files: files ?? DEFAULT } as Tenant['effective'],
});
const TENANTS = [tenant('acme', 50), tenant('globex', 500), tenant('free', 0), tenant('plain', null)];

it('counts the tenants whose limits are raised, and those whose limits are lowered', () => {
  expect(limitChanges(TENANTS, { max_files: 100 })).toStrictEqual([
    'Files: raised to 100 for 1 tenant.',
    'Files: lowered to 100 for 3 tenants.',
  ]);
});

it('treats "no limit" as higher than any number', () => {
  expect(limitChanges(TENANTS, { max_files: 0 })).toStrictEqual(['Files: raised to no limit for 3 tenants.']);
});

it("compares limits with the service's default only if a selected tenant uses the default", () => {
  expect(limitChanges(TENANTS.slice(1), { max_files: null })).toStrictEqual([
    'Files: raised to 1000 for 1 tenant.',
    'Files: lowered to 1000 for 1 tenant.',
  ]);
  expect(limitChanges(TENANTS.slice(0, 2), { max_files: null })).toStrictEqual([
    "Files: 2 tenants will get the service's default.",
  ]);
});

it('returns an empty list if each tenant already has the value', () => {
  expect(limitChanges(TENANTS.slice(0, 1), { max_files: 50 })).toStrictEqual([]);
});

it("lists a setting's values before and after a change in each tenant that changes", () => {
  const list = (max_files: number | null) =>
    settingChanges(TENANTS, { max_files }).map(({ tenant, title, before, after }) => [
      tenant,
      title,
      before,
      after,
    ]);
  expect(list(500)).toStrictEqual([
    ['acme', 'Files', '50', '500'],
    ['free', 'Files', 'no limit', '500'],
    ['plain', 'Files', 'default (1000)', '500'],
  ]);
  expect(list(null)[0]).toStrictEqual(['acme', 'Files', '50', 'default (1000)']);
});
