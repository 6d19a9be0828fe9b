import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Config } from '../../core/config.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { problemResponses } from '../../core/http/problem-responses.ts';

const HOST = /^[\w.-]+(:\d+)?$|^\[[\da-f:.]+\](:\d+)?$/i;

/**
 * Returns the service's public URL: the configured URL, or the request's URL. Undefined if the request's host is
 * invalid.
 */
export function toPublicUrl(
  { protocol, host }: FastifyRequest,
  { PUBLIC_URL }: Pick<Config, 'PUBLIC_URL'>,
): string | undefined {
  if (PUBLIC_URL !== undefined) return PUBLIC_URL;
  return HOST.test(host) ? `${protocol}://${host}` : undefined;
}

/** Path for the metadata (RFC 9728). The resource's path is appended. */
export const METADATA_PATH = '/.well-known/oauth-protected-resource';

const metadataSchema = z
  .object({
    resource: z.string().meta({ examples: ['https://memory.example.com/mcp'] }),
    resource_name: z.string(),
    bearer_methods_supported: z.array(z.literal('header')),
    authorization_servers: z
      .array(z.string())
      .meta({ description: 'The token issuer.', examples: [['https://login.example.com']] }),
  })
  .meta({ id: 'ProtectedResource', description: 'RFC 9728, OAuth 2.0 Protected Resource Metadata.' });

type Metadata = z.output<typeof metadataSchema>;

/**
 * Serves the metadata from which an MCP host learns where its user signs in: at the organization's identity provider,
 * whose tokens the service verifies.
 */
export async function protectedResourceRoutes(
  app: FastifyInstance,
  { config }: { config: Config },
): Promise<void> {
  for (const [path, operationId] of [
    ['', 'protectedResource'],
    ['/mcp', 'protectedResourceOfMcp'],
  ] as const) {
    app.get(
      `${METADATA_PATH}${path}`,
      {
        schema: {
          operationId,
          summary: path === '' ? 'Get the token issuer' : 'Get the token issuer for MCP',
          description: 'For hosts that sign their users in. 404 without a token issuer that is a URL.',
          tags: ['operations'],
          security: [],
          response: {
            200: {
              description: 'The metadata.',
              content: { 'application/json': { schema: metadataSchema } },
            },
            ...problemResponses([
              new ServiceError('invalid_request', 400),
              new ServiceError('host_not_allowed', 'Host'),
              new ServiceError('route_not_found'),
            ]),
          },
        },
      },
      async (request): Promise<Metadata> => {
        // Hosts cannot use metadata without an authorization server.
        const issuer = authorizationServer(config);
        if (issuer === undefined) throw new ServiceError('route_not_found');
        const base = toPublicUrl(request, config);
        if (base === undefined) throw new ServiceError('invalid_request', 400);
        return {
          resource: `${base}${path}`,
          resource_name: 'Memory service',
          bearer_methods_supported: ['header'],
          authorization_servers: [issuer],
        };
      },
    );
  }
}

/** Returns the configured issuer's URL. Hosts cannot find an issuer whose name is not a URL. */
export function authorizationServer({
  AUTH,
  JWT_ISSUER = '',
}: Pick<Config, 'AUTH' | 'JWT_ISSUER'>): string | undefined {
  const isUrl = AUTH === 'jwt' && /^https?:/.test(JWT_ISSUER) && URL.canParse(JWT_ISSUER);
  return isUrl ? JWT_ISSUER : undefined;
}
