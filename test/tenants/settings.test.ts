/**
 * Completeness checks for the settings table (src/core/tenants/settings.ts) in every place that lists settings.
 *
 * @module-tag long-on-pglite
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { camelCase, renameKeys, snakeCase } from '../../src/core/lib/text-forms.ts';
import { typedQuantity } from '../../src/core/lib/units.ts';
import { effectiveSettings } from '../../src/core/tenants/effective-settings.ts';
import { loadBootstrap } from '../../src/core/tenants/initial-data.ts';
import { ALL_SETTINGS, isNumberSetting, SETTINGS, type Setting } from '../../src/core/tenants/settings.ts';
import { useAdmin } from '../support/admin.ts';
import { runOn } from '../support/run-program.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const file = (name: string) => readFileSync(join(import.meta.dirname, '../..', name), 'utf8');

/** Returns a value other than the default. */
const sample = (setting: Setting) =>
  isNumberSetting(setting)
    ? Math.min(2000, setting.max)
    : 'choices' in setting
      ? Object.keys(setting.choices)[1]
      : '/memories/user.md,/memories/team';
const samples = Object.fromEntries(
  ALL_SETTINGS.map(([name, setting]) => [snakeCase(name), sample(setting)] as [string, number | string]),
);
/** Returns a default as the documentation shows it. */
const typedDefault = (setting: Setting) => {
  if (!isNumberSetting(setting) || setting.default === 0) return setting.default;
  return setting.unit === 'days'
    ? `${setting.default}d`
    : typedQuantity(setting.default, setting.unit).replace(' ', '');
};
const KINDS = {
  bytes: 'size',
  days: 'duration in days',
  drafts: 'number of drafts',
  files: 'number of files',
  characters: 'number of characters',
  requests: 'number of requests',
};
const flag = (name: string) => `--${name.replaceAll('_', '-')}`;

describeService('a tenant setting', (service) => {
  const admin = useAdmin(service);
  const storedSettings = async (id: string) => {
    const columns = Object.keys(samples).map((name) => `to_jsonb(${name}) AS ${name}`);
    return (await service().query(`SELECT ${columns.join(', ')} FROM tenants WHERE id = '${id}'`))[0];
  };

  it('stores each setting from the admin API in a column with the same name', async () => {
    const id = freshTenant();
    const created = await admin().call('POST', '/tenants', { body: { id, settings: samples } });
    expect(created.body).toMatchObject({ settings: samples, effective: samples });
    expect(await storedSettings(id)).toStrictEqual(samples);
    const defaults = Object.fromEntries(Object.keys(samples).map((name) => [name, null]));
    const changed = await admin().call('PATCH', `/tenants/${id}`, { body: { settings: defaults } });
    expect(changed.body.settings).toStrictEqual(defaults);
  });

  it('accepts each tenant setting as a CLI option, and prints each setting in tenants show', async () => {
    const id = freshTenant();
    const options = Object.entries(samples).flatMap(([name, value]) => [flag(name), String(value)]);
    expect((await runOn(service(), ['tenants', 'create', id, ...options])).stderr).toBe('');
    expect(await storedSettings(id)).toStrictEqual(samples);
    const { stdout: help } = await runOn(service(), ['tenants', 'set', '--help']);
    const { stdout: table } = await runOn(service(), ['tenants', 'show', id]);
    const rows = table.split('\n').map((line) => line.split(/ {2,}/));
    for (const [name, value] of Object.entries(samples)) {
      expect(help).toMatch(new RegExp(`^ {2}${flag(name)} <`, 'm'));
      const shown = name.endsWith('_bytes')
        ? '2 KB (2000)'
        : name.endsWith('_days')
          ? '2000 days'
          : `${value}`;
      expect(rows).toContainEqual([name, shown, 'tenant']);
    }
    const defaults = Object.keys(samples).flatMap((name) => [flag(name), 'default']);
    await runOn(service(), ['tenants', 'set', id, ...defaults]);
    expect(new Set(Object.values((await storedSettings(id)) ?? {}))).toStrictEqual(new Set([null]));
  });
});

describe('a tenant setting in the configuration', () => {
  it('reads the default for each setting from an environment variable', () => {
    const env = Object.fromEntries(
      ALL_SETTINGS.map(([, setting]) => [setting.variable, String(sample(setting))]),
    );
    expect(effectiveSettings({}, loadConfig(env))).toStrictEqual(renameKeys(samples, camelCase));
  });

  it('accepts each setting as a field in BOOTSTRAP, and rejects values outside its range', () => {
    const load = (settings: object) =>
      loadBootstrap(loadConfig({ BOOTSTRAP: JSON.stringify({ tenants: [{ id: 'acme', ...settings }] }) }));
    expect(load(samples).tenants).toStrictEqual([
      { id: 'acme', ...(renameKeys(samples, camelCase) as object) },
    ]);
    for (const [name, setting] of ALL_SETTINGS) {
      const tooMuch = 'max' in setting ? setting.max + 1 : 'neither';
      expect(() => load({ [name]: tooMuch })).toThrow(`tenants.0.${snakeCase(name)}: `);
    }
  });

  it('parses values with units, such as 10MB and 2w, in variables and in BOOTSTRAP', () => {
    const env = {
      MAX_TENANT_BYTES: '10MB',
      MAX_FILE_BYTES: '512 KiB',
      HISTORY_DAYS: '2w',
      MEMORY_TTL_DAYS: '90d',
    };
    const expected = { maxBytes: 10_485_760, maxFileBytes: 524_288, historyDays: 14, ttlDays: 90 };
    expect(effectiveSettings({}, loadConfig(env))).toMatchObject(expected);
    const load = (settings: object) =>
      loadBootstrap(loadConfig({ BOOTSTRAP: JSON.stringify({ tenants: [{ id: 'acme', ...settings }] }) }));
    const typed = { max_bytes: '10MB', maxFileBytes: '512 KiB', history_days: '2w', ttl_days: 90 };
    expect(load(typed).tenants).toStrictEqual([{ id: 'acme', ...expected }]);
    expect(() => load({ max_bytes: '10 apples' })).toThrow(
      'tenants.0.max_bytes: must be a size such as 10MB, or a whole number of bytes',
    );
    expect(() => load({ max_files: 'many' })).toThrow('tenants.0.max_files: must be a whole number');
  });

  it.each(ALL_SETTINGS)('documents the setting %s in OpenAPI and in docs/settings.md', (name, setting) => {
    const field = snakeCase(name);
    expect(file('admin-openapi.yaml').match(new RegExp(`^ {8}${field}:$`, 'gm'))).toHaveLength(3);
    const [, section = ''] = file('docs/settings.md').split(`\n### ${setting.variable}\n`);
    const [reference = ''] = section.split('\n### ');
    const byDefault =
      setting === SETTINGS.maxBodyBytes
        ? '6 × `MAX_FILE_BYTES` + 64 KB'
        : setting === SETTINGS.pinnedPaths
          ? 'none'
          : `\`${typedDefault(setting)}\``;
    const kind = isNumberSetting(setting) ? KINDS[setting.unit] : 'choices' in setting ? 'choice' : 'text';
    expect(reference).toContain(`\n- **Type**: ${kind}\n`);
    expect(reference).toContain(`\n- **Default**: ${byDefault}\n`);
    if ('choices' in setting) {
      const choices = Object.keys(setting.choices).map((each) => `\`${each}\``);
      expect(reference).toContain(`\n- **Values**: ${choices.join(', ')}\n`);
    }
    expect(reference).toContain(`\n- **For one tenant**: \`tenants set acme ${flag(field)} `);
    expect(reference).toContain(`, or the field \`${field}\`\n`);
  });
});
