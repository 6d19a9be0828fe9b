import fp from 'fastify-plugin';
import { scopeOf } from './authentication.ts';

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

function hideTenants(value: unknown, scope: ReadonlySet<string>, naming: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((each) => hideTenants(each, scope, naming));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => {
      if (name === METADATA) return [name, each];
      if (naming.has(name) && typeof each === 'string') return [name, scope.has(each) ? each : null];
      return [name, hideTenants(each, scope, name === 'details' ? NAMING_IN_DETAILS : naming)];
    }),
  );
}
