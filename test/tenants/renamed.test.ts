/**
 * A write that waits while its tenant is renamed. With a tenant key, the write follows the tenant. If the caller names
 * the tenant, the write applies to the old ID.
 */
import { generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import { expect, inject, it } from 'vitest';
import { moveTenantData } from '../../src/core/tenants/copy.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey } from '../support/admin.ts';
import { assertInvariants } from '../support/invariants.ts';
import { databaseUrl } from '../support/postgres/test-server.ts';
import { cmd } from '../support/step-table.ts';
import { lockWait } from '../support/test-database.ts';
import { describeService, freshTenant, type Service } from '../support/test-service.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const jwt = {
  AUTH: 'jwt',
  JWT_ISSUER: 'https://issuer.example',
  JWT_AUDIENCE: 'memory',
  JWT_PUBLIC_KEY: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
};

/** Returns the headers with which a caller writes to a tenant. */
type Caller = (service: Service, tenant: string) => Promise<Record<string, string>>;

const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });
const tenantKey: Caller = async (service, tenant) => bearer((await makeKey(service, { tenant })).key);
const tenantKeyThatNames: Caller = async (service, tenant) => ({
  ...(await tenantKey(service, tenant)),
  'x-tenant-id': tenant,
});
const serviceKey: Caller = async (service, tenant) => ({
  ...bearer((await makeKey(service)).key),
  'x-tenant-id': tenant,
});
const noCredential: Caller = async (_, tenant) => ({ 'x-tenant-id': tenant });
const token: Caller = async (_, tenant) =>
  bearer(
    await new SignJWT({ iss: jwt.JWT_ISSUER, aud: jwt.JWT_AUDIENCE, tenant })
      .setProtectedHeader({ alg: 'EdDSA' })
      .setExpirationTime('1h')
      .sign(privateKey),
  );

/** Response to a write, and the files under the old ID (undefined without a tenant) and the new ID. */
interface Outcome {
  response: [number, string];
  old?: string[];
  renamed: string[];
}

const DONE = 'File created successfully at: /memories/late';
const followed: Outcome = { response: [200, DONE], renamed: ['/memories/early', '/memories/late'] };
const createdAgain: Outcome = {
  response: [200, DONE],
  old: ['/memories/late'],
  renamed: ['/memories/early'],
};
const rejectedOutcome = (code: string): Outcome => ({ response: [403, code], renamed: ['/memories/early'] });

const cases: [string, Record<string, string>, Caller, Outcome][] = [
  ['a tenant key', { AUTH: 'keys' }, tenantKey, followed],
  ['a tenant key and the old ID', { AUTH: 'keys' }, tenantKeyThatNames, rejectedOutcome('tenant_mismatch')],
  ['a service key that creates tenants', { AUTH: 'keys' }, serviceKey, createdAgain],
  [
    'a service key that creates no tenants',
    { AUTH: 'keys', AUTO_CREATE_TENANTS: 'false' },
    serviceKey,
    rejectedOutcome('unknown_tenant'),
  ],
  ['a token', jwt, token, rejectedOutcome('unknown_tenant')],
  ['a token that creates tenants', { ...jwt, AUTO_CREATE_TENANTS: 'true' }, token, createdAgain],
  ['no credential', { AUTH: 'none' }, noCredential, createdAgain],
];

for (const [title, env, caller, expected] of cases) {
  describeService(
    'a write during a rename',
    (service, kind) => {
      const paths = async (tenant: string) =>
        (await new Tenants(service().database).find(tenant)) &&
        (
          await service().query(
            "SELECT path FROM entries WHERE tenant_id = $1 AND kind = 'file' ORDER BY path",
            [tenant],
          )
        ).map(({ path }) => path);

      // PGlite has one connection, so no statement waits for a lock.
      it.runIf(kind === 'postgres')(
        `delays a write with ${title} until the tenant's rename has ended`,
        async () => {
          const [old, renamed] = [freshTenant('old'), freshTenant('new')];
          await new Tenants(service().database).create(old);
          const headers = await caller(service(), old);
          expect((await service().execute(cmd.create('/memories/early', 'x'), { headers })).status).toBe(200);
          const write = await renameDuring(service(), [old, renamed], () =>
            service().execute(cmd.create('/memories/late', 'x'), { headers }),
          );
          const { status, body } = await write();
          expect([status, body.code ?? body.content]).toStrictEqual(expected.response);
          expect(await paths(old)).toStrictEqual(expected.old);
          expect(await paths(renamed)).toStrictEqual(expected.renamed);
          await assertInvariants(service());
        },
      );
    },
    env,
  );
}

/** Renames a tenant while a write to it waits for the rename. */
async function renameDuring<T>(
  { database, query }: Service,
  [from, to]: [string, string],
  write: () => Promise<T>,
): Promise<() => Promise<T>> {
  const [row] = await query('SELECT current_database() AS name');
  const url = databaseUrl(inject('postgres').url, String(row?.name));
  let written: Promise<T> | undefined;
  const transaction: typeof database.transaction = (work, options) =>
    database.transaction(
      (run) =>
        work(async (statement, params) => {
          // The files are copied and not yet deleted.
          if (statement.name === 'copy_stored_results') {
            written = write();
            await Promise.race([written, lockWait(url)]);
          }
          return run(statement, params);
        }),
      options,
    );
  await moveTenantData({ ...database, transaction }, from, to);
  if (written === undefined) throw new Error('The rename did not copy the stored results.');
  const result = written;
  return () => result;
}
