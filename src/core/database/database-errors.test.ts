import { expect, it } from 'vitest';
import { ConnectionWatch } from './connection-watch.ts';
import { DatabaseError } from './database-errors.ts';

const createError = (code: string, message: string) =>
  new DatabaseError(Object.assign(new Error(message), { code }));

it('asks the caller to retry after Citus moved a shard', () => {
  const error = createError('XX000', 'could not find valid entry for shard 102107');
  expect(error).toMatchObject({ status: 503, code: 'database_busy', outcomeUnknown: false });
  expect(error.retryAfter).toBeGreaterThan(0);
});

it('asks the caller to retry when a Citus server stops', () => {
  const error = createError('XX000', 'postmaster was shut down, exiting');
  expect(error).toMatchObject({ status: 503, code: 'database_unavailable', outcomeUnknown: true });
  expect(error.retryAfter).toBeGreaterThan(0);
});

it("maps the server's other internal errors to status 500", () => {
  expect(createError('XX000', 'unexpected data beyond EOF')).toMatchObject({
    status: 500,
    code: 'internal_error',
  });
});

const unavailable = { status: 503, code: 'database_unavailable', retryAfter: 2, isUnavailable: true };

it.each([
  ['28P01', 'FATAL', 'password authentication failed for user "ada"'],
  ['28000', 'FATAL', 'role "ada" is not permitted to log in'],
  ['3D000', 'FATAL', 'database "memory" does not exist'],
  ['42501', 'ERROR', 'permission denied for table entries'],
  ['08P01', 'FATAL', 'server login has been failing, try again later (server_login_retry)'],
  ['08P01', 'FATAL', 'query_wait_timeout'],
  ['53300', 'FATAL', 'too many connections for role "ada"'],
  ['53400', 'ERROR', 'configuration limit exceeded'],
  ['57P04', 'FATAL', 'the database was dropped'],
  ['58000', 'FATAL', 'could not get connection from the pool - AllServersDown'],
  ['58P01', 'FATAL', 'could not access file "missing"'],
  ['XX000', 'FATAL', 'Tenant or user not found'],
  ['XX000', 'ERROR', 'failure on connection marked as essential: worker:5432'],
])('responds with 503 when a pooler or the server reports %s as %s: %s', (code, severity, message) => {
  const error = new DatabaseError(Object.assign(new Error(message), { code, severity }));
  expect(error).toMatchObject(unavailable);
  expect(error.unavailability).toMatch(/\w/);
  expect(error.unavailability).not.toMatch(/ada|entries|memory "/);
});

it.each([
  'EPIPE',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPROTO',
  'ERR_SSL_BAD_RECORD_TYPE',
])('responds with 503 when a connection breaks with %s', (code) => {
  expect(createError(code, 'write failed')).toMatchObject({
    ...unavailable,
    sqlState: undefined,
    faultCode: code,
  });
});

it.each([
  [
    '22023',
    'invalid value for parameter',
    'it rejects a setting of the connection; check options in DATABASE_URL',
  ],
  [
    '42501',
    'permission denied',
    'the user has no permission to connect to the database; GRANT CONNECT ON DATABASE … TO the user',
  ],
  [
    'CERT_HAS_EXPIRED',
    '',
    'its TLS certificate has expired or is not valid yet; renew it, and check the clocks',
  ],
  [
    'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
    '',
    'it rejects the TLS handshake (ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED); check whether it requires a client certificate: sslcert=FILE and sslkey=FILE in DATABASE_URL',
  ],
  ['EMFILE', '', 'this machine cannot open another connection; raise its limits of files and ports'],
  [
    undefined,
    'Unknown authenticationOk message type 7',
    'it asks for a kind of authentication that the service does not have; use scram-sha-256 for this user in pg_hba.conf',
  ],
  [undefined, 'secret', 'the driver fails (Error); check DATABASE_URL'],
])('responds with 503 when no connection can be opened: %s %s', (code, message, reason) => {
  const error = new DatabaseError(Object.assign(new Error(message), { code }), { connecting: true });
  expect(error).toMatchObject({ ...unavailable, neverSent: true, unavailability: reason });
});

it('reports a transaction as never sent if Citus rolled it back after a node failure', () => {
  const error = createError('XX000', 'failure on connection marked as essential: worker:5432');
  expect(error).toMatchObject({ sqlState: '08006', neverSent: true, isNodeLost: true });
});

it('reports a connection failure once, repeats it only rarely, and reports when connections work again', () => {
  const events: string[] = [];
  let now = 0;
  const watch = new ConnectionWatch(
    { unreachable: (reason) => events.push(reason), reachable: () => events.push('reachable') },
    () => now,
  );
  watch.noteOpened();
  for (now = 0; now < 15 * 60_000; now += 1000) watch.noteFailure(now < 5000 ? 'rejected' : 'starting');
  watch.noteOpened();
  watch.noteOpened();
  watch.noteFailure('rejected');
  expect(events).toStrictEqual(['rejected', 'starting', 'starting', 'reachable', 'rejected']);
});
