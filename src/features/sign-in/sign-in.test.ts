import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { claimedRoles, grantedAccess, type Person } from './provider.ts';
import { Sessions } from './sign-in-sessions.ts';

describe("a person's roles", () => {
  it.each([
    [{ roles: ['a', 'b'] }, 'roles', ['a', 'b']],
    [{ roles: 'a' }, 'roles', ['a']],
    [{ roles: ['a', 1, null] }, 'roles', ['a']],
    [{ realm_access: { roles: ['a'] } }, 'realm_access.roles', ['a']],
    [{ resource_access: { 'my.app': { roles: ['a'] } } }, 'resource_access.my.app.roles', ['a']],
    [
      { resource_access: { my: { app: {} }, 'my.app': { roles: ['a'] } } },
      'resource_access.my.app.roles',
      ['a'],
    ],
    [{ 'a.b': { roles: ['x'] }, a: { b: { roles: ['y'] } } }, 'a.b.roles', ['x']],
    [{ 'realm_access.roles': ['a'], realm_access: { roles: ['b'] } }, 'realm_access.roles', ['a']],
    [{ 'https://example.com/roles': ['a'] }, 'https://example.com/roles', ['a']],
    [{ roles: { a: true } }, 'roles', []],
    [{ realm_access: null }, 'realm_access.roles', []],
    [{}, 'constructor.name', []],
    [{}, 'roles', []],
  ])('reads the claims %j and returns the roles in the claim %s', (claims, name, roles) => {
    expect(claimedRoles(claims, name)).toStrictEqual(roles);
  });

  it("grants the highest access among a person's roles", () => {
    const roles = { admins: 'read_write', support: 'operate', all: 'read_only' } as const;
    expect(grantedAccess(['all', 'support'], roles)).toBe('operate');
    expect(grantedAccess(['admins', 'all'], roles)).toBe('read_write');
    expect(grantedAccess(['other', 'toString'], roles)).toBeUndefined();
  });
});

describe('the session cookie', () => {
  const person: Person = { actor: { type: 'user', id: '1', label: 'Anna' }, access: 'operate' };
  const ended = new Set<string>();
  const sessions = (consoleUrl: string, key = 'key') =>
    new Sessions({
      consoleUrl,
      hours: 2,
      key: async () => hash('sha256', key, 'buffer'),
      ended: { add: async (id) => void ended.add(id), has: async (id) => ended.has(id) },
    });
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
  ])("sets the cookie's name and attributes for the console at %s", async (url, expected) => {
    const header = await sessions(url).begin(person);
    expect(header).toMatch(expected);
    expect(await sessions(url).authenticate(withCookie(header))).toStrictEqual({
      ...person,
      onlyTenants: null,
      expiresAt: expect.any(Number),
    });
  });

  it("rejects a cookie after its session ended, but accepts the person's other sessions", async () => {
    const at = sessions('https://example.com');
    const [first, second] = [withCookie(await at.begin(person)), withCookie(await at.begin(person))];
    await at.end(first.headers.cookie);
    await expect(at.authenticate(first)).rejects.toMatchObject({ code: 'unauthorized' });
    expect(await at.authenticate(second)).toMatchObject(person);
  });

  it('rejects a session cookie that was signed with another key', async () => {
    const header = await sessions('https://example.com').begin(person);
    const other = sessions('https://example.com', 'another key');
    await expect(other.authenticate(withCookie(header))).rejects.toMatchObject({ code: 'unauthorized' });
  });
});
