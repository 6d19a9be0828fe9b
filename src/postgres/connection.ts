import pg from 'pg';
import { parse } from 'pg-connection-string';

/** What each URL held when the files of its certificates could last be read. */
const lastRead = new Map<string, pg.ClientConfig>();

/**
 * Reads a URL, and the files of certificates that it names: for each connection anew, because certificates are renewed. Files that
 * disappear later change nothing.
 *
 * @throws Error when a file cannot be read the first time
 */
function read(url: string): pg.ClientConfig {
  try {
    // pg reads its options of connections from the same function, though the types of the two differ.
    const options = parse(withPlainSslMode(url)) as unknown as pg.ClientConfig;
    lastRead.set(url, options);
    return options;
  } catch (error) {
    const last = lastRead.get(url);
    if (last === undefined) throw error;
    return last;
  }
}

/** pg takes these modes for `verify-full`, and warns on standard error that they will mean less in its next version. */
function withPlainSslMode(text: string): string {
  const url = new URL(text);
  const isWeaker = /^(prefer|require|verify-ca)$/.test(url.searchParams.get('sslmode') ?? '');
  if (!isWeaker || url.searchParams.get('uselibpqcompat') === 'true') return text;
  return text.replace(/(?<=[?&]sslmode=)[^&]*/, 'verify-full');
}

/**
 * A connection all of whose faults reject `connect`, or the running or next query. Those of pg can also be thrown while the pool opens a
 * connection, or emitted as an error that nobody listens to, and both would end the process.
 */
export class Connection extends pg.Client {
  constructor({ connectionString, ...options }: pg.ClientConfig = {}) {
    super({ ...options, ...read(connectionString ?? '') });
    this.on('error', () => {});
    failOnUnreadableMessages(this);
  }
}

/** The internals of a connection, which pg's types do not have. */
interface Wire {
  attachListeners(stream: NodeJS.ReadableStream & { destroy(error: unknown): void }): void;
}

/** pg's parser throws at messages that it does not know, such as a request for GSSAPI. */
function failOnUnreadableMessages(client: pg.Client): void {
  const { connection } = client as unknown as { connection: Wire };
  const attachListeners = connection.attachListeners.bind(connection);
  connection.attachListeners = (stream) => {
    attachListeners(stream);
    const parse = stream.listeners('data').at(-1) as (bytes: Buffer) => void;
    stream.off('data', parse);
    stream.on('data', (bytes: Buffer) => {
      try {
        parse(bytes);
      } catch (error) {
        stream.destroy(error);
      }
    });
  };
}
