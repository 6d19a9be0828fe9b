/** Each setting of the table (src/tenants/settings.ts) is everywhere that a setting has to be. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { loadBootstrap } from '../../src/initial-data.ts';
import { effectiveSettings } from '../../src/tenants/effective-settings.ts';
import { ALL_SETTINGS, SETTINGS, type Setting } from '../../src/tenants/settings.ts';
import { camelCase, renamed, snakeCase } from '../../src/util/snake-case.ts';
import { useAdmin } from '../support/admin.ts';
import { runOn } from '../support/program.ts';
import { describeService, freshTenant } from '../support/service.ts';

const file = (name: string) => readFileSync(join(import.meta.dirname, '../..', name), 'utf8');

/** A value that is not the default. */
const sample = (setting: Setting) =>
  'choices' in setting ? Object.keys(setting.choices)[1] : Math.min(2000, setting.max);
const samples = Object.fromEntries(
  ALL_SETTINGS.map(([name, setting]) => [snakeCase(name), sample(setting)] as [string, number | string]),
);
const flag = (name: string) => `--${name.replaceAll('_', '-')}`;

describeService('every setting of a tenant', (service) => {
  const admin = useAdmin(service);
  const stored = async (id: string) => {
    const columns = Object.keys(samples).map((name) => `to_jsonb(${name}) AS ${name}`);
    return (await service().query(`SELECT ${columns.join(', ')} FROM tenants WHERE id = '${id}'`))[0];
  };

  it('is a column, and a field of the admin API', async () => {
    const id = freshTenant();
    const created = await admin().call('POST', '/tenants', { body: { id, settings: samples } });
    expect(created.body).toMatchObject({ settings: samples, effective: samples });
    expect(await stored(id)).toStrictEqual(samples);
    const defaults = Object.fromEntries(Object.keys(samples).map((name) => [name, null]));
    const changed = await admin().call('PATCH', `/tenants/${id}`, { body: { settings: defaults } });
    expect(changed.body.settings).toStrictEqual(defaults);
  });

  it('is an option of tenants create and tenants set, and a line of tenants show', async () => {
    const id = freshTenant();
    const options = Object.entries(samples).flatMap(([name, value]) => [flag(name), String(value)]);
    expect((await runOn(service(), ['tenants', 'create', id, ...options])).stderr).toBe('');
    expect(await stored(id)).toStrictEqual(samples);
    const { stdout: help } = await runOn(service(), ['tenants', 'set', '--help']);
    const { stdout: table } = await runOn(service(), ['tenants', 'show', id]);
    for (const [name, value] of Object.entries(samples)) {
      expect(help).toMatch(new RegExp(`^ {2}${flag(name)} <`, 'm'));
      expect(table).toMatch(new RegExp(`^${name} +${value} +tenant$`, 'm'));
    }
    const defaults = Object.keys(samples).flatMap((name) => [flag(name), 'default']);
    await runOn(service(), ['tenants', 'set', id, ...defaults]);
    expect(new Set(Object.values((await stored(id)) ?? {}))).toStrictEqual(new Set([null]));
  });
});

describe('every setting of a tenant', () => {
  it('has a variable for the default of the service', () => {
    const env = Object.fromEntries(
      ALL_SETTINGS.map(([, setting]) => [setting.variable, String(sample(setting))]),
    );
    expect(effectiveSettings({}, loadConfig(env))).toStrictEqual(renamed(samples, camelCase));
  });

  it('is a field of BOOTSTRAP, in its range', () => {
    const load = (settings: object) =>
      loadBootstrap(loadConfig({ BOOTSTRAP: JSON.stringify({ tenants: [{ id: 'acme', ...settings }] }) }));
    expect(load(samples).tenants).toStrictEqual([{ id: 'acme', ...(renamed(samples, camelCase) as object) }]);
    for (const [name, setting] of ALL_SETTINGS) {
      const tooMuch = 'max' in setting ? setting.max + 1 : 'neither';
      expect(() => load({ [name]: tooMuch })).toThrow(`tenants.0.${snakeCase(name)}: `);
    }
  });

  it.each(ALL_SETTINGS)('%s is in the OpenAPI document and in the documentation', (name, setting) => {
    const fields = file('admin-openapi.yaml').match(new RegExp(`^ {8}${snakeCase(name)}:$`, 'gm'));
    expect(fields).toHaveLength(3);
    const byDefault = setting === SETTINGS.maxBodyBytes ? '6 × `MAX_FILE_BYTES`' : `\`${setting.default}\``;
    const row = file('docs/configuration.md')
      .split('\n')
      .find((line) => line.startsWith(`| \`${setting.variable}\` `));
    expect(row).toContain(`| ${byDefault} `);
    expect(row).toContain('| **t** |');
  });
});
