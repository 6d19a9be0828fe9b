import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import type { TenantPolicy } from '../tenants/policy-cache.ts';

const HEADER = 'x-memory-provenance';

export const invalidProvenance = () =>
  new ServiceError('invalid_parameter', 'The header X-Memory-Provenance is neither include nor omit.');

/** Header that asks for provenance, for the OpenAPI document. */
export const provenanceHeader = {
  [HEADER]: z
    .enum(['include', 'omit'])
    .optional()
    .meta({
      description:
        "Whether views and searches say who wrote each line last, and when. Applies if the tenant's " +
        'setting `provenance` is `on_request` or `always`.',
    }),
};

/**
 * Whether a request's views and searches have provenance, by its header and its tenant's setting.
 *
 * @throws ServiceError 400 if the header is neither `include` nor `omit`
 */
export function asksForProvenance(
  { headers }: FastifyRequest,
  { provenance }: Pick<TenantPolicy, 'provenance'>,
): boolean {
  const given = headers[HEADER];
  if (given !== undefined && given !== 'include' && given !== 'omit') throw invalidProvenance();
  return given === undefined ? provenance === 'always' : given === 'include' && provenance !== 'never';
}
