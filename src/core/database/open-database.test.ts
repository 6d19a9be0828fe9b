import { expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { describeListenFault, describeStartFault } from './open-database.ts';

const failure = (code: string) => Object.assign(new Error(`driver's words about ada:secret`), { code });

it.each([
  ['EADDRINUSE', 'set PORT to another port'],
  ['EACCES', 'set PORT to a number above 1023'],
  ['EADDRNOTAVAIL', 'set HOST to an address of this machine'],
  ['EAFNOSUPPORT', 'set HOST to an address that it has'],
  ['ENOTFOUND', 'set HOST to an address of this machine'],
  ['EAI_AGAIN', 'set HOST to an address of this machine'],
])('explains the listen error %s and names the setting to change', (code, advice) => {
  const line = describeListenFault({ host: '127.0.0.1', port: 80, variables: '' }, failure(code));
  expect(line).toMatch(/^Cannot listen on 127\.0\.0\.1:80: .*\.$/);
  expect(line).toContain(advice);
});

it.each([
  ['ECONNREFUSED', 'nothing listens there'],
  ['ENOTFOUND', 'the host name does not resolve'],
  ['EAI_AGAIN', 'the host name does not resolve'],
  ['28P01', 'it rejects the user or the password'],
  ['28000', 'pg_hba.conf'],
  ['3D000', 'there is no such database'],
  ['42501', 'has no permission to create tables'],
  ['25006', 'it is read-only'],
  ['XX001', 'SQLSTATE XX001; check DATABASE_URL'],
])('describes the server error %s in one line with advice and without credentials', (code, advice) => {
  const config = loadConfig({ DATABASE_URL: 'postgres://ada:secret@db.example/memory' });
  const line = describeStartFault(config, failure(code));
  expect(line).toMatch(/^The database at db\.example:5432\/memory cannot be used: .*\.$/);
  expect(line).toContain(advice);
  expect(line).not.toMatch(/ada|secret/);
});

it.each([
  ['25006', 'used: its disk is nearly full; make room'],
  ['53100', 'used: its disk is full; make room'],
  ['XX001', 'opened: SQLSTATE XX001. Restore the directory from a backup'],
])('describes the embedded database error %s and gives advice', (code, advice) => {
  const line = describeStartFault(loadConfig({ DATA_DIR: '/data' }), failure(code));
  expect(line).toContain(`The embedded database in /data cannot be ${advice}`);
});
