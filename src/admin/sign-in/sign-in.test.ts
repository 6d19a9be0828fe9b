import { describe, expect, it } from 'vitest';
import { accessOf, type Person, rolesOf } from './provider.ts';
import { Sessions } from './sessions.ts';

describe('the roles of a person', () => {
  it.each([
    [{ roles: ['a', 'b'] }, 'roles', ['a', 'b']],
    [{ roles: 'a' }, 'roles', ['a']],
    [{ roles: ['a', 1, null] }, 'roles', ['a']],
    [{ realm_access: { roles: ['a'] } }, 'realm_access.roles', ['a']],
    [{ 'https://example.com/roles': ['a'] }, 'https://example.com/roles', ['a']],
    [{ roles: { a: true } }, 'roles', []],
    [{ realm_access: null }, 'realm_access.roles', []],
    [{}, 'constructor.name', []],
    [{}, 'roles', []],
  ])('reads the roles of a person from %j by the claim %s', (claims, name, roles) => {
    expect(rolesOf(claims, name)).toStrictEqual(roles);
  });

  it('selects the highest access of the roles of a person', () => {
    const roles = { admins: 'read_write', support: 'operate', all: 'read_only' } as const;
    expect(accessOf(['all', 'support'], roles)).toBe('operate');
    expect(accessOf(['admins', 'all'], roles)).toBe('read_write');
    expect(accessOf(['other', 'toString'], roles)).toBeUndefined();
  });
});

describe('the cookie of a session', () => {
  const person: Person = { actor: { type: 'user', id: '1', label: 'Anna' }, access: 'operate' };
  const sessions = (consoleUrl: string, clientSecret = 'secret') =>
    new Sessions({ clientSecret, consoleUrl, hours: 2 });
  const withCookie = (header: string) => ({
    headers: { cookie: header.split(';', 1)[0] ?? '', 'x-memory-console': '1' },
    ip: '',
  });

  it.each([
    [
      'https://example.com',
      /^__Host-console_session=[\w.-]+; Max-Age=7200; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    ],
    [
      'https://example.com/console',
      /^__Secure-console_session=[\w.-]+; Max-Age=7200; Path=\/console; HttpOnly; Secure; SameSite=Strict$/,
    ],
    ['http://localhost:8081', /^console_session=[\w.-]+; Max-Age=7200; Path=\/; HttpOnly; SameSite=Strict$/],
  ])('protects the session of the console at %s', async (url, expected) => {
    const header = await sessions(url).begin(person);
    expect(header).toMatch(expected);
    expect(await sessions(url).authenticate(withCookie(header))).toStrictEqual({
      ...person,
      onlyTenants: null,
    });
  });

  it('rejects a session cookie made with another client secret', async () => {
    const header = await sessions('https://example.com').begin(person);
    const other = sessions('https://example.com', 'another secret');
    await expect(other.authenticate(withCookie(header))).rejects.toMatchObject({ code: 'unauthorized' });
  });
});
