import { ServiceError } from '../errors/errors.ts';

/* Examples for errors that several operations document. */

export const overQuota = (what: 'change' | 'import' | 'merge' | 'restore' | 'revert') =>
  new ServiceError('quota_exceeded', 'acme', what, { of: 'bytes', used: 99, limit: 100, needed: 20 });

export const archived = new ServiceError('tenant_archived', 'acme');

export const noSuchTenant = new ServiceError('no_such_tenant', 'acme');

export const incomplete = new ServiceError('history_incomplete', 'acme', '2026-11-20T08:00:00.000Z');
