import type { FastifyRequest } from 'fastify';

/** A feature's text about a memory, which MCP serves as a resource and as a prompt. */
export interface FeatureText {
  /** The prompt's name. */
  name: string;
  /** The resource's URI. */
  uri: string;
  title: string;
  description: string;
  /** @throws ServiceError */
  read(request: FastifyRequest): Promise<string>;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Texts from features. */
    texts: readonly FeatureText[];
  }
}
