import fp from 'fastify-plugin';
import { jsonInSlices } from '../lib/json.ts';
import { timeSliced } from '../lib/time-slice.ts';
import { scopeOf } from './authentication.ts';

/**
 * Encodes responses in time slices: what an administrator reads or changes at once may have many files, and large
 * contents. Register it after other hooks that read the data of a response.
 */
export const responseJson = fp(
  async (app) => {
    app.addHook('preSerialization', (_request, _reply, data) => jsonInSlices(data));
    // Fastify sends a buffer as it is, and only its types require a text.
    app.setSerializerCompiler(() => (encoded) => encoded as string);
  },
  { name: 'response-json', dependencies: ['admin-concurrency-limit'] },
);

/** The fields of responses that name a tenant. */
const NAMING: ReadonlySet<string> = new Set(['tenant', 'via_tenant']);
/** The same in the details of an audit event, where `to` is the new id of a tenant that was copied or renamed. */
const NAMING_IN_DETAILS: ReadonlySet<string> = new Set([...NAMING, 'to']);
/** The pairs of metadata are the operator's, whatever their names. */
const METADATA = 'metadata';

/** Replaces the ids of tenants outside the scope of an admin key by null, in every response to it. */
export const scopedResponses = fp(
  async (app) => {
    app.addHook('preSerialization', async (request, _reply, payload) => {
      const scope = request.administrator === undefined ? null : scopeOf(request);
      return scope === null ? payload : hideTenants(payload, new Set(scope), NAMING);
    });
  },
  { name: 'scoped-responses', dependencies: ['admin-authentication'] },
);

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
