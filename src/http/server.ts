import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { clientErrorHandler, type RawError, requestId } from './connections.ts';
import { handleError } from './problem-details.ts';

/**
 * Makes a Fastify instance with what all listeners have in common. The caller sets the compilers for schemas.
 *
 * @param options.requestTimeoutMs the time in which a request has to arrive; 0: no limit
 * @param options.onError sends the response to an error
 * @param options.rawError the same for requests that Fastify does not see
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
    // A logger for each request would cost more than its one line, which names the request itself.
    childLoggerFactory: (logger) => logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestId,
    bodyLimit: config.MAX_BODY_BYTES,
    requestTimeout: requestTimeoutMs,
    // Node looks for overdue requests every 30 s unless told otherwise, and gives headers 60 s.
    // Node checks that the headers' time is not longer than the request's, which is 5 minutes by default.
    http: {
      headersTimeout: config.REQUEST_TIMEOUT_MS,
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: 1000,
    },
    trustProxy: config.TRUST_PROXY,
    // Requests on connections that stay open while the service stops are completed, with Connection: close.
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
    frameworkErrors: onError,
    clientErrorHandler: clientErrorHandler(rawError),
    schemaController: { compilersFactory: { buildValidator: notCalled, buildSerializer: notCalled } },
  });
  app.setErrorHandler(onError);
  return app;
}

/** Of a part of the URL that a route names: a tenant id has up to 128 characters, each percent-encoded at worst. */
const MAX_PARAMETER_LENGTH = 3 * 128;

/** In the place of Fastify's makers of compilers, which take 50 ms to load: each listener sets its compilers itself. */
function notCalled(): never {
  throw new Error('The app sets compilers for schemas that work for all routes.');
}
