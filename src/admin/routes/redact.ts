import { z } from 'zod';
import { ServiceError } from '../../errors.ts';
import { eraseDirectories, eraseVersion } from '../../history/erase.ts';
import { noteAudit } from '../audit.ts';
import { originOf } from '../authentication.ts';
import { adminRoutes } from '../context.ts';
import { memoryPath, tenantParams } from '../fields.ts';
import { errorResponses, json, noSuchTenant } from '../responses.ts';
import { noSuchVersion, versionParams } from '../version-schemas.ts';

const counted = z.int().min(0);
const redactedSchema = z.object({
  versions: counted.meta({ description: 'The version itself and those with the same content.' }),
  same_path: counted.meta({ description: 'Versions that still contain a redacted path.' }),
  stored_results: counted.meta({ description: 'Stored results of idempotent requests.' }),
  drafts: z.array(z.string()).meta({
    description:
      'Open drafts that still have the file, as it was or changed. Close them, or delete and redact it there.',
  }),
});

const redactedDirectoriesSchema = z.object({
  directories: counted.meta({ description: 'A directory that existed twice counts twice.' }),
  stored_results: counted.meta({ description: 'Stored results of idempotent requests.' }),
});

const LIVE = '0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52';

/** `POST …/redact`: a version without its path and content, and directories without their names. */
export const redactRoutes = adminRoutes((app, { database }) => {
  app.post(
    '/tenants/:tenant/versions/:version/redact',
    {
      schema: {
        operationId: 'redactVersion',
        summary: 'Permanently remove the path and content of a superseded version',
        description:
          'Versions with the same content and all stored results of the tenant are redacted as well. Backups keep the text until you delete them.',
        tags: ['history'],
        params: versionParams,
        response: {
          200: json('What was redacted.', redactedSchema),
          ...errorResponses('changes', [
            noSuchTenant,
            noSuchVersion,
            new ServiceError('version_is_live', LIVE, LIVE),
          ]),
        },
      },
    },
    async (request) => {
      const { tenant, version } = request.params;
      const redacted = await eraseVersion(database, tenant, version, originOf(request));
      noteAudit(request, { details: { version, versions: redacted.versions } });
      return {
        versions: redacted.versions,
        same_path: redacted.samePath,
        stored_results: redacted.storedResults,
        drafts: redacted.drafts,
      };
    },
  );

  app.post(
    '/tenants/:tenant/directories/redact',
    {
      schema: {
        operationId: 'redactDirectories',
        summary: 'Permanently remove the names of deleted directories',
        description:
          'Applies to directories that were at or below the path, once no version of a file there is kept. All stored results of the tenant are redacted with them.',
        tags: ['history'],
        params: tenantParams,
        body: z.strictObject({ path: memoryPath }),
        response: {
          200: json('What was redacted.', redactedDirectoriesSchema),
          ...errorResponses('takes JSON', [
            noSuchTenant,
            new ServiceError('no_such_directory', 'acme', '/memories/old'),
            new ServiceError('directory_exists', '/memories/old'),
          ]),
        },
      },
    },
    async (request) => {
      const { tenant } = request.params;
      const { directories, storedResults } = await eraseDirectories(database, tenant, request.body.path);
      noteAudit(request, { details: { directories } });
      return { directories, stored_results: storedResults };
    },
  );
});
