import type { ErrorDefinition } from './definition.ts';

/** Errors in the service and its dependencies. */
export const SERVICE_ERRORS = {
  internal_error: {
    description: 'The service failed.',
    problem: (cause?: unknown) => ({
      status: 500,
      message: 'The service failed to handle the request.',
      cause,
    }),
  },
  database_unavailable: {
    description: 'The database cannot be reached.',
    problem: (cause?: unknown, during: 'request' | 'readiness check' = 'request') => ({
      status: 503,
      message:
        during === 'request'
          ? 'The database is not available. Try again shortly.'
          : 'The database does not respond.',
      retryAfter: 2,
      cause,
    }),
  },
  database_busy: {
    description: 'A lock or a statement took too long.',
    problem: (cause?: unknown) => ({
      status: 503,
      message: 'The database is busy. Try again shortly.',
      retryAfter: 1,
      cause,
    }),
  },
  database_not_migrated: {
    description: "The database lacks this version's schema.",
    problem: () => ({
      status: 503,
      message: 'The database schema does not match this version. Migrate the database.',
      retryAfter: 2,
    }),
  },
  database_too_new: {
    description: 'A newer version has migrated the database, and this one cannot run beside it.',
    problem: () => ({
      status: 503,
      message: 'A newer version of the service has migrated the database. Run that version.',
      retryAfter: 2,
    }),
  },
  database_read_only: {
    description: 'The database is a standby, which cannot write.',
    problem: () => ({
      status: 503,
      message: 'The database is a standby, which cannot write: DATABASE_URL must name the primary.',
      retryAfter: 2,
    }),
  },
  installation_secret_differs: {
    description: 'The database belongs to another installation secret.',
    problem: () => ({
      status: 503,
      message:
        'INSTALLATION_SECRET is not the secret with which texts are kept out in this database. Set the earlier value again.',
    }),
  },
  shutting_down: {
    description: 'The process is shutting down.',
    problem: () => ({ status: 503, message: 'The service is shutting down.', retryAfter: 2 }),
  },
  overloaded: {
    description: 'The service is at capacity.',
    problem: () => ({
      status: 503,
      message: 'The service is at capacity. Try again shortly.',
      retryAfter: 1,
    }),
  },
  streams_full: {
    description: 'The replica has too many open streams.',
    problem: () => ({
      status: 503,
      message: 'Too many streams are open on this replica (MAX_STREAMS). Try again shortly.',
      retryAfter: 5,
    }),
  },
  timeout: {
    description: 'The request took longer than `HANDLER_TIMEOUT_MS`. A write may still have been applied.',
    problem: () => ({
      status: 503,
      message:
        'The request took too long. A write may still have been applied: retry with the same idempotency key.',
      retryAfter: 1,
    }),
  },
  issuer_unavailable: {
    description: "The token issuer's keys cannot be fetched.",
    problem: () => ({
      status: 503,
      message: "The token issuer's keys cannot be fetched. Try again shortly.",
      retryAfter: 2,
    }),
  },
} satisfies Record<string, ErrorDefinition<never[]>>;
