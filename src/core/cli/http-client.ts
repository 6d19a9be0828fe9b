import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { capitalize, type LocalService } from '../database/open-database.ts';
import { OperatorError } from '../errors/errors.ts';

const CONNECT_MS = 15_000;
/**
 * Maximum time without a byte in either direction. The limit is long because an operation on a large memory sends its
 * first byte at its end.
 */
const SILENCE_MS = 65 * 60_000;
const EMPTY_STATUSES = new Set([204, 304]);

/**
 * Sends a request to an admin API. Redirects are not followed, because the key is only for this host.
 *
 * @param options.body text, or bytes that are sent while they are read; a failed read rejects the request
 * @param options.service the service to connect to, instead of the host in the URL
 * @throws OperatorError with the reason and a remedy if the API cannot be reached, also while the response is read
 */
export function request(
  url: URL,
  {
    method,
    headers,
    body,
    service,
  }: {
    method: string;
    headers: Record<string, string>;
    body: string | AsyncIterable<Uint8Array> | undefined;
    service?: LocalService | undefined;
  },
): Promise<Response> {
  const send = url.protocol === 'https:' ? tlsRequest : plainRequest;
  const name = apiName(url, service);
  return new Promise((resolve, reject) => {
    const sent = send(url, {
      method,
      headers,
      timeout: SILENCE_MS,
      ...(service && { socketPath: service.socketPath }),
    });
    const fail = (reason: string) => sent.destroy(unreachable(name, reason));
    const connecting = setTimeout(
      () => fail(`it accepted no connection within ${CONNECT_MS / 1000} seconds`),
      CONNECT_MS,
    );
    const clearConnectTimer = () => clearTimeout(connecting);
    sent.on('socket', (socket) => {
      if (!socket.connecting) return clearConnectTimer();
      socket.setKeepAlive(true, 60_000);
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', clearConnectTimer);
    });
    sent.on('timeout', () => fail('it has not responded for an hour'));
    sent.on('close', clearConnectTimer);
    let bodyFailure: unknown;
    sent.on('error', (error) => reject(bodyFailure ?? explainFault(name, error)));
    sent.on('response', (message) => {
      const { statusCode: status = 0 } = message;
      message.on('error', () => {});
      const content = async function* () {
        try {
          yield* message;
        } catch {
          throw bodyFailure ?? lostConnection(name);
        }
      };
      const headers = Object.entries(message.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      );
      // If the service rejected the request early, the rest of the body is useless.
      message.once('end', () => {
        if (!sent.writableFinished) sent.destroy();
      });
      const isEmpty = EMPTY_STATUSES.has(status);
      if (isEmpty) message.resume();
      const stream = isEmpty ? null : (Readable.toWeb(Readable.from(content())) as ReadableStream);
      resolve(new Response(stream, { status, headers }));
    });
    if (body === undefined || typeof body === 'string') {
      sent.end(body);
      return;
    }
    const chunks = async function* () {
      try {
        yield* body;
      } catch (error) {
        bodyFailure = error;
        throw error;
      }
    };
    // The rejection is ignored here, because the request's `error` event reports the failure.
    pipeline(Readable.from(chunks()), sent).catch(() => {});
  });
}

/** Returns an admin API's name for the middle of a sentence. */
export function apiName({ origin }: URL, service: LocalService | undefined): string {
  return service === undefined ? `the admin API at ${origin}` : `the service on ${service.directory}`;
}

function unreachable(name: string, reason: string): OperatorError {
  return new OperatorError(`${capitalize(name)} cannot be reached: ${reason}.`, { isTemporary: true });
}

export function lostConnection(name: string): OperatorError {
  return new OperatorError(`The connection to ${name} was lost during the response.`, { isTemporary: true });
}

function explainFault(name: string, error: NodeJS.ErrnoException): Error {
  const { code = '', message } = error;
  return error instanceof OperatorError ? error : unreachable(name, REASONS[code] ?? (code || message));
}

const UNTRUSTED =
  'its TLS certificate is not trusted. Set NODE_EXTRA_CA_CERTS to the file of its certificate authority';
const NO_TLS = 'it does not use TLS at this port. Use the port with TLS';

/** Explanations for network errors whose code alone is not clear enough. */
const REASONS: Partial<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_HAS_EXPIRED: 'its TLS certificate has expired. Renew it',
  CERT_NOT_YET_VALID: 'its TLS certificate is not valid yet. Check the clock of this machine',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its TLS certificate is for another host name. Use the name in the certificate',
  EPROTO: NO_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
};
