/*
 * Reasons why a database cannot be used, each with advice. Apart from codes, all texts are fixed, because messages from
 * the driver and the server may contain users and parameters. They may even contain parts of a password, if a URL was
 * parsed wrongly.
 */

const NOT_RESOLVED = 'the host name does not resolve to an address; check DATABASE_URL';
const NO_ROUTE = 'this machine has no route to it; check DATABASE_URL, the network, and firewalls';
const SLOW = 'it does not respond in time; check DATABASE_URL, that the server runs, and firewalls';
const BROKEN = 'the connection breaks off; its log says why';
const NO_SOCKETS = 'this machine cannot open another connection; raise its limits of files and ports';
const NO_ACCESS =
  'this process has no permission to connect to it; check firewalls, and the permissions of its socket';

/** Reasons by system error code. */
const SYSTEM: Partial<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there; check DATABASE_URL, and that the server runs',
  ENOTFOUND: NOT_RESOLVED,
  EAI_AGAIN: NOT_RESOLVED,
  EAI_FAIL: NOT_RESOLVED,
  EAI_NODATA: NOT_RESOLVED,
  EAI_NONAME: NOT_RESOLVED,
  ETIMEDOUT: SLOW,
  EHOSTUNREACH: NO_ROUTE,
  EHOSTDOWN: NO_ROUTE,
  ENETUNREACH: NO_ROUTE,
  ENETDOWN: NO_ROUTE,
  ECONNRESET: BROKEN,
  ECONNABORTED: BROKEN,
  EPIPE: BROKEN,
  EMFILE: NO_SOCKETS,
  ENFILE: NO_SOCKETS,
  ENOBUFS: NO_SOCKETS,
  EADDRNOTAVAIL: NO_SOCKETS,
  ENOENT: 'there is no socket; check the directory of the socket in DATABASE_URL, and that the server runs',
  EACCES: NO_ACCESS,
  EPERM: NO_ACCESS,
  ERR_SOCKET_BAD_PORT: 'the port is not a number from 1 to 65535; check DATABASE_URL',
};

const CA =
  'name the file with the certificate of its CA: add sslrootcert=FILE to the query of DATABASE_URL, or set NODE_EXTRA_CA_CERTS=FILE';
const UNTRUSTED = `its TLS certificate is not signed by a CA that this process trusts; ${CA}`;
const EXPIRED = 'its TLS certificate has expired or is not valid yet; renew it, and check the clocks';

/** Reasons by Node's TLS error code. */
const TLS: Partial<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_UNTRUSTED: UNTRUSTED,
  CERT_SIGNATURE_FAILURE: UNTRUSTED,
  CERT_HAS_EXPIRED: EXPIRED,
  CERT_NOT_YET_VALID: EXPIRED,
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its TLS certificate is for another host name; use a name of the certificate in DATABASE_URL, or issue a certificate for this name',
};

const USER_OR_PASSWORD =
  'it rejects the user or the password; check both in DATABASE_URL, where special characters must be percent-encoded';
const FULL =
  'it accepts no more connections; lower DB_POOL_MAX, or raise the limit of the server, database, or role';
const STOPPED = 'it is starting, stopping, or recovering, or has ended the session; its log says why';
const DISK = 'its disk is full or fails; make room there, and see its log';
const UNMIGRATED = 'the schema of the service is missing; run memory-service migrate';

/** Reasons by SQLSTATE. */
const SERVER: Partial<Record<string, string>> = {
  '08P01': 'a pooler there rejects the connection; its log says why',
  25006: 'it is read-only; check that DATABASE_URL names the primary, and that its disk has room',
  '25P03': 'it has ended a transaction that was idle for too long',
  28000:
    "it rejects this user from this address; check DATABASE_URL and the server's pg_hba.conf, and add sslmode=verify-full if the server requires TLS",
  '28P01': USER_OR_PASSWORD,
  '3D000': 'there is no such database on the server; create it, or check DATABASE_URL',
  42501:
    'the user has no permission to create tables, or lacks another privilege; make it the owner of the database and its tables',
  53100: DISK,
  53200: 'the server is out of memory; see its log',
  53300: FULL,
  55000: 'the database accepts no connections (ALTER DATABASE … ALLOW_CONNECTIONS)',
  '57P01': STOPPED,
  '57P02': STOPPED,
  '57P03': STOPPED,
  '57P04': 'the database has been dropped; create it, or check DATABASE_URL',
  '57P05': 'it has ended a session that was idle for too long',
  58030: DISK,
  '08006': 'the connection to it, or between the nodes of its cluster, has failed; its log says why',
  '42P01': UNMIGRATED,
  42883: UNMIGRATED,
  '3F000': UNMIGRATED,
};

/** SQLSTATEs with a different meaning while a connection is opened. */
const SERVER_ON_CONNECT: Partial<Record<string, string>> = {
  42501: 'the user has no permission to connect to the database; GRANT CONNECT ON DATABASE … TO the user',
  42704: 'it rejects a setting of the connection; check options in DATABASE_URL',
  22023: 'it rejects a setting of the connection; check options in DATABASE_URL',
};

/** Reasons by driver message, for errors without a code. */
const DRIVER: readonly [RegExp, string][] = [
  [
    /^The server does not support SSL connections/,
    'it does not offer TLS; turn TLS on there, or, where the network is trusted, use sslmode=disable in DATABASE_URL',
  ],
  [
    /^There was an error establishing an SSL connection/,
    'it does not answer the request for TLS as Postgres does; check that a Postgres server listens there, and its log',
  ],
  [
    /^SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must/,
    'it asks for a password, and DATABASE_URL has none; use postgres://user:password@host/database, or set PGPASSWORD',
  ],
  [
    /^SASL:/,
    'the exchange of the password by SCRAM fails; check the password, and any proxy between here and the server',
  ],
  [
    /^Unknown authenticationOk message type/,
    'it asks for a kind of authentication that the service does not have; use scram-sha-256 for this user in pg_hba.conf',
  ],
  [
    /^timeout exceeded when trying to connect/,
    'all connections of the pool are in use; raise DB_POOL_MAX, or see which statements take long',
  ],
  [
    /^the node of the tenant does not respond/,
    'the Citus node of the tenant does not respond; check that its server runs, and its log',
  ],
  [/^(timeout expired|Connection terminated due to connection timeout|Query read timeout)/, SLOW],
  [/sslmode=verify-ca requires specifying a CA/, `sslmode=verify-ca needs a CA; ${CA}`],
  [
    /^(Connection terminated|Client was closed|Client has encountered a connection error|This socket has been ended)/,
    'the connection was closed; check that a Postgres server listens there, and its log',
  ],
];

/** The inspected fields in an error from the driver, the server, or the system. */
export interface Layer {
  code?: unknown;
  message?: unknown;
  name?: unknown;
  severity?: unknown;
  syscall?: unknown;
}

/**
 * Describes why the database cannot be used.
 *
 * @param layers the error and its causes
 * @param connecting whether a connection was being opened
 */
export function describeUnavailability(layers: readonly Layer[], connecting: boolean): string {
  for (const layer of layers) {
    const reason = describeLayer(layer, connecting);
    if (reason !== undefined) return reason;
  }
  const code = layers
    .map((layer) => layer.code)
    .find((each) => typeof each === 'string' && /^\w+$/.test(each));
  if (typeof code !== 'string')
    return `the driver fails (${layers[0]?.name ?? 'no error'}); check DATABASE_URL`;
  const shown = /^[0-9A-Z]{5}$/.test(code) ? `SQLSTATE ${code}` : code;
  return `${shown}; check DATABASE_URL, and the log of the server`;
}

function describeLayer({ code, message, name, syscall }: Layer, connecting: boolean): string | undefined {
  if (name === 'URIError')
    return 'the password cannot be decoded; percent-encode it in DATABASE_URL (% as %25)';
  if (typeof code === 'string') {
    if (syscall === 'open' || syscall === 'read') {
      // Only certificates are read from files.
      if (code in { ENOENT: 0, EACCES: 0, EPERM: 0, EISDIR: 0, ENOTDIR: 0 })
        return `the file of sslrootcert, sslcert, or sslkey in DATABASE_URL cannot be read (${code}); check its path and permissions`;
    }
    return (
      (connecting ? SERVER_ON_CONNECT[code] : undefined) ??
      SERVER[code] ??
      SYSTEM[code] ??
      TLS[code] ??
      describeTlsCode(code)
    );
  }
  return DRIVER.find(([words]) => typeof message === 'string' && words.test(message))?.[1];
}

/** Describes an OpenSSL code. There are hundreds of such codes. */
function describeTlsCode(code: string): string | undefined {
  if (/^ERR_OSSL_/.test(code))
    return `the file of sslrootcert, sslcert, or sslkey in DATABASE_URL is no PEM that can be used (${code})`;
  if (/_ALERT_.*(CERTIFICATE|UNKNOWN_CA|HANDSHAKE_FAILURE|ACCESS_DENIED)/.test(code))
    return `it rejects the TLS handshake (${code}); check whether it requires a client certificate: sslcert=FILE and sslkey=FILE in DATABASE_URL`;
  if (/^(EPROTO$|ERR_SSL_|ERR_TLS_)/.test(code))
    return `the TLS handshake fails (${code}); check the TLS settings of the server`;
  if (/CERT|CRL|_CA$|PATH_LENGTH|HOSTNAME_MISMATCH/.test(code))
    return `its TLS certificate is not valid (${code}); ${CA}`;
  return undefined;
}
