import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { jsonInSlices } from '../lib/json.ts';
import { timeSliced } from '../lib/time-slice.ts';
import { tenantScope } from './admin-authentication.ts';

/**
 * Encodes responses in time slices, because a response may contain many files or large contents. Register this plugin
 * after other hooks that read a response's data.
 */
export const responseJson = fp(
  async (app) => {
    app.addHook('preSerialization', (_request, _reply, data) => jsonInSlices(data));
    // Fastify sends a buffer unchanged, although its types require a string.
    app.setSerializerCompiler(() => (encoded) => encoded as string);
  },
  { name: 'response-json', dependencies: ['admin-concurrency-limit'] },
);

/** Response field names that contain a tenant ID. */
const NAMING: ReadonlySet<string> = new Set(['tenant', 'via_tenant']);
/** In an audit event's details, `to` also contains a tenant ID: the new ID for a copied or renamed tenant. */
const NAMING_IN_DETAILS: ReadonlySet<string> = new Set([...NAMING, 'to']);
/** Metadata is not searched for tenant IDs, because operators choose its names and values. */
const METADATA = 'metadata';

/** Replaces the IDs of tenants outside the admin key's scope with null in every response. */
export const scopedResponses = fp(
  async (app) => {
    app.addHook('preSerialization', (request, _reply, payload) =>
      request.administrator === undefined ? Promise.resolve(payload) : hideOtherTenants(request, payload),
    );
  },
  { name: 'scoped-responses', dependencies: ['admin-authentication'] },
);

/** Returns data without the IDs of tenants outside the admin key's scope. */
export async function hideOtherTenants<T>(request: FastifyRequest, data: T): Promise<T> {
  const scope = tenantScope(request);
  return scope === null ? data : ((await hideTenants(data, new Set(scope), NAMING)) as T);
}

async function hideTenants(
  value: unknown,
  scope: ReadonlySet<string>,
  naming: ReadonlySet<string>,
): Promise<unknown> {
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for await (const each of timeSliced(value)) items.push(await hideTenants(each, scope, naming));
    return items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const fields: [string, unknown][] = [];
  for (const [name, each] of Object.entries(value)) {
    if (name === METADATA) fields.push([name, each]);
    else if (naming.has(name) && typeof each === 'string') fields.push([name, scope.has(each) ? each : null]);
    else fields.push([name, await hideTenants(each, scope, name === 'details' ? NAMING_IN_DETAILS : naming)]);
  }
  return Object.fromEntries(fields);
}
