import { createHmac } from 'node:crypto';
import { lookup as resolve } from 'node:dns';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { jsonInSlices } from '../../core/lib/json.ts';
import { parseRetryAfter } from '../../core/lib/retry-after.ts';
import { type AddressRules, guardedLookup, requireAllowedHost } from './addresses.ts';
import type { DeliveryError } from './delivery-errors.ts';
import type { Message } from './messages.ts';
import type { DeliveredWebhook } from './webhooks.ts';

export interface Attempt {
  /** HTTP status; null without a response. */
  status: number | null;
  /** Null if the receiver accepted the message. */
  error: DeliveryError | null;
  durationMs: number;
  /** Time for which the receiver asks to wait. */
  retryAfterMs: number;
}

export interface ReceiverOptions {
  /** Networks that are allowed besides the public addresses. */
  allowed: readonly string[];
  timeoutMs?: number;
  lookup?: typeof resolve;
}

const TIMEOUT_MS = 15_000;
/** Size after which a response's body is not read further, and its connection is not used again. */
const MAX_BODY_BYTES = 16 * 1024;

/** Sends messages to an endpoint, one after another on one connection. Redirects are not followed. */
export class Receiver {
  readonly #webhook: DeliveredWebhook;
  readonly #url: URL;
  readonly #rules: AddressRules;
  readonly #timeoutMs: number;
  readonly #agent: http.Agent;

  constructor(
    webhook: DeliveredWebhook,
    { allowed, timeoutMs = TIMEOUT_MS, lookup = resolve }: ReceiverOptions,
  ) {
    this.#webhook = webhook;
    this.#url = new URL(webhook.url);
    const isTls = this.#url.protocol === 'https:';
    this.#rules = { allowed, isPublicAllowed: isTls };
    this.#timeoutMs = timeoutMs;
    const options = { keepAlive: true, maxSockets: 1, lookup: guardedLookup(this.#rules, lookup) };
    this.#agent = isTls ? new https.Agent(options) : new http.Agent(options);
  }

  /**
   * Signs and sends a message.
   *
   * @param signal ends the attempt early
   */
  async send(message: Message, signal: AbortSignal): Promise<Attempt> {
    const start = performance.now();
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    const attempt = (status: number | null, error: DeliveryError | null, retryAfterMs = 0): Attempt => ({
      status,
      error,
      durationMs: Math.round(performance.now() - start),
      retryAfterMs,
    });
    try {
      requireAllowedHost(this.#url.hostname, this.#rules);
      const response = await this.#post(message, AbortSignal.any([timeout, signal]));
      const { statusCode: status = 0, headers } = response;
      await discardBody(response);
      return attempt(status, statusError(status), parseRetryAfter(headers['retry-after']) ?? 0);
    } catch (error) {
      return attempt(null, timeout.aborted ? 'timeout' : networkError(error));
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  async #post({ id, payload }: Message, signal: AbortSignal): Promise<IncomingMessage> {
    const body = await jsonInSlices(payload);
    const headers = {
      'content-type': 'application/json',
      'content-length': body.length,
      'user-agent': 'memory-service',
      ...signatureHeaders(this.#webhook, id, body, new Date()),
    };
    const { request } = this.#url.protocol === 'https:' ? https : http;
    return new Promise((resolvePromise, reject) => {
      request(this.#url, { method: 'POST', agent: this.#agent, headers, signal }, resolvePromise)
        .on('error', reject)
        .end(body);
    });
  }
}

/** Signs a body with the secret and, during a rotation's overlap, with the previous secret. */
function signatureHeaders(
  { secret, previousSecret, previousUntil }: DeliveredWebhook,
  id: string,
  body: Buffer,
  now: Date,
) {
  const seconds = String(Math.floor(now.getTime() / 1000));
  const isOverlap = previousSecret !== null && Date.parse(previousUntil ?? '') > now.getTime();
  const secrets = isOverlap ? [secret, previousSecret] : [secret];
  return {
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': secrets.map((each) => `v1,${sign(each, `${id}.${seconds}.`, body)}`).join(' '),
  };
}

/** Signs like the library `standardwebhooks`, whose SHA-256 in JavaScript would block other requests. */
function sign(secret: string, head: string, body: Buffer): string {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  return createHmac('sha256', key).update(head).update(body).digest('base64');
}

async function discardBody(response: IncomingMessage): Promise<void> {
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    if (bytes > MAX_BODY_BYTES) return;
  }
}

function statusError(status: number): DeliveryError | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? 'redirected' : 'rejected';
}

function networkError(error: unknown): DeliveryError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'address_not_allowed') return code;
  if (/^(ENOTFOUND|EAI_)/.test(code)) return 'name_not_resolved';
  return /TLS|SSL|CERT|SIGNATURE/.test(code) ? 'tls_failed' : 'connection_failed';
}
