import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { adminTarget } from './profiles.ts';

const directory = mkdtempSync(join(tmpdir(), 'profiles-'));
afterAll(() => rmSync(directory, { recursive: true }));
const file = join(directory, 'memory-service', 'config.json');
mkdirSync(join(directory, 'memory-service'));

const PROFILES = {
  profiles: {
    prod: { url: 'https://admin.example.com/base', key: 'msk_prod' },
    local: { url: 'http://127.0.0.1:8081' },
  },
};
function write(text: string, mode = 0o600): void {
  writeFileSync(file, text);
  chmodSync(file, mode);
}
write(JSON.stringify(PROFILES));

const chosen = (options: { url?: string; profile?: string }, env: object = {}) => {
  const target = adminTarget(options, { XDG_CONFIG_HOME: directory, ...env });
  return target && `${target.url.href} ${target.key}`;
};

describe("a command's admin API", () => {
  it('takes the admin API from an option, else from a variable, else from the profile in MEMORY_PROFILE', () => {
    const url = { MEMORY_ADMIN_URL: 'https://env.example.com', MEMORY_ADMIN_KEY: 'msk_env' };
    expect(chosen({})).toBeUndefined();
    expect(chosen({}, { MEMORY_ADMIN_URL: '', MEMORY_PROFILE: '' })).toBeUndefined();
    expect(chosen({}, { MEMORY_PROFILE: 'prod' })).toBe('https://admin.example.com/base msk_prod');
    expect(chosen({}, { ...url, MEMORY_PROFILE: 'prod' })).toBe('https://env.example.com/ msk_env');
    expect(chosen({ profile: 'prod' }, url)).toBe('https://admin.example.com/base msk_prod');
    expect(chosen({ profile: 'local' }, url)).toBe('http://127.0.0.1:8081/ msk_env');
    expect(chosen({ url: 'https://a.example.com' }, { MEMORY_PROFILE: 'prod' })).toBe(
      'https://a.example.com/ undefined',
    );
  });

  it('rejects an admin API to which a key would travel without encryption', () => {
    const env = { MEMORY_ADMIN_KEY: 'msk_1' };
    expect(() => chosen({ url: 'http://admin.example.com:8081' }, env)).toThrow(
      'The admin key would travel to admin.example.com:8081 unencrypted. Use https://, or a tunnel to a loopback address.',
    );
    expect(chosen({ url: 'http://admin.example.com:8081' })).toBe('http://admin.example.com:8081/ undefined');
    expect(chosen({ url: 'http://[::1]:8081' }, env)).toBe('http://[::1]:8081/ msk_1');
    expect(chosen({ url: 'http://localhost:8081' }, env)).toBe('http://localhost:8081/ msk_1');
  });

  it('rejects invalid values for the admin API, without quoting a key', () => {
    expect(() => chosen({ url: 'https://a', profile: 'prod' })).toThrow(
      'Use either --url or --profile, not both.',
    );
    expect(() => chosen({ profile: 'test' })).toThrow(`${file} has no profile test. It has: prod, local.`);
    expect(() => chosen({}, { MEMORY_ADMIN_URL: 'admin.example.com' })).toThrow(
      'MEMORY_ADMIN_URL is not a URL such as https://admin.example.com.',
    );
    expect(() => chosen({}, { MEMORY_ADMIN_URL: 'https://user:secret@admin.example.com' })).toThrow(
      'MEMORY_ADMIN_URL is not a URL such as https://admin.example.com.',
    );
    expect(() => chosen({ url: 'https://a' }, { MEMORY_ADMIN_KEY: 'msk_1\nmsk_2' })).toThrow(
      'The admin key contains characters that no key has. Copy it again.',
    );
  });
});

describe('the profiles file', () => {
  it('rejects a profiles file that other users can read', () => {
    write(JSON.stringify(PROFILES), 0o640);
    expect(() => chosen({ profile: 'prod' })).toThrow(
      `${file} has keys, and other users can use it (mode 0640). Run: chmod 600 '${file}'`,
    );
  });

  it('rejects a missing or malformed profiles file', () => {
    write('{"profiles": {"prod": {"url": "https://a", "kee": "msk_secret"}}}');
    expect(() => chosen({ profile: 'prod' })).toThrow(
      `${file} is not valid at profiles.prod. Expected: {"profiles": {"prod": {"url": "https://…", "key": "msk_…"}}}`,
    );
    write('{');
    expect(() => chosen({ profile: 'prod' })).toThrow(`${file} is not valid. Expected: {"profiles": `);
    rmSync(file);
    expect(() => chosen({ profile: 'prod' })).toThrow(`Cannot read the profiles in ${file} (ENOENT).`);
  });
});
