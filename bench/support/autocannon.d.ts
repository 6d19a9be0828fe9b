/** Types for autocannon, limited to the parts in use here. The package has no types. */
declare module 'autocannon' {
  import type { EventEmitter } from 'node:events';

  interface Request {
    method?: string;
    headers?: Record<string, string>;
    body?: string;
  }

  interface Client extends EventEmitter {
    setRequests(requests: Request[]): void;
  }

  interface Options {
    url: string;
    method: string;
    connections: number;
    /** In whole seconds. */
    duration: number;
    /** Requests per second on all connections together. */
    overallRate?: number;
    headers: Record<string, string>;
    setupClient(client: Client): void;
    verifyBody(body: string): boolean;
  }

  export interface Result {
    non2xx: number;
    errors: number;
    timeouts: number;
    mismatches: number;
  }

  export interface Instance extends EventEmitter, PromiseLike<Result> {}

  export default function autocannon(options: Options): Instance;
}
