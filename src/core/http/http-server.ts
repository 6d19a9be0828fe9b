import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { clientErrorHandler, type RawError, requestId } from './connections.ts';
import { forwardedFor } from './forwarded-for.ts';
import { handleError } from './problem-details.ts';

/**
 * Creates a Fastify instance with the settings that all listeners share. The caller sets the compilers for schemas.
 *
 * @param options.requestTimeoutMs maximum time in which a request must arrive; 0 means no limit
 * @param options.onError sends the response to an error
 * @param options.rawError creates the response to an error before Fastify receives the request
 */
export function createHttpServer(
  config: Config,
  {
    log,
    requestTimeoutMs,
    onError = handleError,
    rawError,
  }: { log: Logger; requestTimeoutMs: number; onError?: typeof handleError; rawError?: RawError },
): FastifyInstance {
  const app: FastifyInstance = fastify({
    loggerInstance: log as FastifyBaseLogger,
    // The single log line for a request identifies the request, so a logger for each request would only cost time.
    childLoggerFactory: (logger) => logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestId,
    bodyLimit: config.MAX_BODY_BYTES,
    requestTimeout: requestTimeoutMs,
    // Node's defaults are a check for overdue requests every 30 s and 60 s for headers.
    // The timeout for headers must not exceed the timeout for requests, which is 5 minutes by default.
    http: {
      headersTimeout: config.REQUEST_TIMEOUT_MS,
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: 1000,
    },
    trustProxy: config.TRUST_PROXY,
    keepAliveTimeout: config.KEEP_ALIVE_MS,
    // Requests on connections that are open during the shutdown are completed, with Connection: close.
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
    frameworkErrors: onError,
    clientErrorHandler: clientErrorHandler(rawError),
    schemaController: { compilersFactory: { buildValidator: throwUncalled, buildSerializer: throwUncalled } },
  });
  app.setErrorHandler(onError);
  // The very first hook, because later hooks read the address.
  if (config.TRUST_PROXY !== false) void app.register(forwardedFor);
  return app;
}

/**
 * Maximum URL parameter length: a tenant ID has up to 128 characters, each with three percent-encoded bytes at most.
 */
const MAX_PARAMETER_LENGTH = 3 * 128;

/**
 * Replaces Fastify's default compiler factories, which take 50 ms to load. Each listener sets its compilers itself.
 */
function throwUncalled(): never {
  throw new Error('The app sets compilers for schemas that work for all routes.');
}
