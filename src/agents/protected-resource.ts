import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Config } from '../config.ts';
import { ServiceError } from '../errors/errors.ts';
import { problemResponses } from '../http/problem-responses.ts';

const HOST = /^[\w.-]+(:\d+)?$|^\[[\da-f:.]+\](:\d+)?$/i;

/**
 * Returns the public URL of the service: the configured URL, or the URL of the request. Undefined if the request's host
 * is invalid.
 */
export function publicUrlOf(
  { protocol, host }: FastifyRequest,
  { PUBLIC_URL }: Pick<Config, 'PUBLIC_URL'>,
): string | undefined {
  if (PUBLIC_URL !== undefined) return PUBLIC_URL;
  return HOST.test(host) ? `${protocol}://${host}` : undefined;
}

/** The path of the metadata (RFC 9728). The path of the resource is appended. */
export const METADATA_PATH = '/.well-known/oauth-protected-resource';

const metadataSchema = z
  .object({
    resource: z.string().meta({ examples: ['https://memory.example.com/mcp'] }),
    resource_name: z.string(),
    bearer_methods_supported: z.array(z.literal('header')).optional(),
    authorization_servers: z
      .array(z.string())
      .optional()
      .meta({
        description: 'The issuer of the tokens, with `AUTH=jwt`.',
        examples: [['https://login.example.com']],
      }),
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
          summary: path === '' ? 'Get the issuer of tokens' : 'Get the issuer of tokens for MCP',
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
            ]),
          },
        },
      },
      async (request): Promise<Metadata> => {
        const base = publicUrlOf(request, config);
        if (base === undefined) throw new ServiceError('invalid_request', 400);
        return { resource: `${base}${path}`, resource_name: 'Memory service', ...authorizationOf(config) };
      },
    );
  }
}

function authorizationOf({ AUTH, JWT_ISSUER = '' }: Config): Partial<Metadata> {
  if (AUTH === 'none') return {};
  // An issuer's name may be something other than a URL, and hosts cannot find such an issuer.
  const isUrl = AUTH === 'jwt' && /^https?:/.test(JWT_ISSUER) && URL.canParse(JWT_ISSUER);
  return {
    bearer_methods_supported: ['header'],
    ...(isUrl ? { authorization_servers: [JWT_ISSUER] } : {}),
  };
}
