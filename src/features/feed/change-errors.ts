import { ServiceError } from '../../core/errors/errors.ts';

/* Errors as examples in the API description. */

export const invalidChangeCursor = new ServiceError('invalid_change_cursor');
export const changesExpired = new ServiceError('changes_expired', 'acme', '2026-11-22T09:30:00.123456Z');
