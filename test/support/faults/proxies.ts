/** Proxies between clients and servers in the fault tests: a TCP proxy that can fail, and a load balancer. */
import { once } from 'node:events';
import { Agent, createServer, type Server as HttpServer, request } from 'node:http';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net';

interface Address {
  host: string;
  port: number;
}

/** Forwards TCP connections to `target`, which can change. It can reject, reset, and blackhole connections. */
export class TcpProxy {
  target: Address;
  port = 0;
  #server: Server | undefined;
  readonly #pairs = new Set<[Socket, Socket]>();

  constructor(target: Address) {
    this.target = target;
  }

  /** Starts to accept connections. Reopening keeps the port. */
  async open(): Promise<void> {
    const server = createTcpServer((client) => {
      const upstream = connect(this.target);
      const pair: [Socket, Socket] = [client, upstream];
      this.#pairs.add(pair);
      for (const [one, other] of [pair, [upstream, client]] as const) {
        one.on('error', () => {});
        one.on('close', () => {
          other.destroy();
          this.#pairs.delete(pair);
        });
        one.pipe(other);
      }
    });
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Rejects new connections and resets the open ones. */
  async reject(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = undefined;
    const closed = once(server, 'close');
    server.close();
    this.reset();
    await closed;
  }

  reset(): void {
    for (const [client, upstream] of this.#pairs) {
      client.resetAndDestroy();
      upstream.resetAndDestroy();
    }
  }

  /** Keeps the open connections but forwards no more data. */
  blackhole(): void {
    for (const [client, upstream] of this.#pairs) {
      client.unpipe(upstream);
      upstream.unpipe(client);
      upstream.removeAllListeners('close').destroy();
      client.resume();
    }
  }
}

/**
 * A simple round-robin HTTP proxy. It polls `/readyz` on each replica and sends requests only to replicas that last
 * responded with 200. It never retries a request.
 */
export class Balancer {
  readonly #replicas: { url: URL; ready: boolean }[];
  readonly #probeMs: number;
  readonly #agent = new Agent({ keepAlive: false });
  readonly #server: HttpServer;
  #next = 0;
  #probing: NodeJS.Timeout | undefined;

  constructor(urls: string[], probeMs: number) {
    this.#replicas = urls.map((url) => ({ url: new URL(url), ready: false }));
    this.#probeMs = probeMs;
    this.#server = createServer((incoming, outgoing) => {
      const ready = this.#replicas.filter((replica) => replica.ready);
      const replica = ready[this.#next++ % Math.max(1, ready.length)];
      if (!replica) return void outgoing.writeHead(502).end('no replica is ready');
      const { hostname, port } = replica.url;
      const { connection: _, ...headers } = incoming.headers;
      const options = {
        hostname,
        port,
        agent: this.#agent,
        path: incoming.url,
        method: incoming.method,
        headers,
      };
      const upstream = request(options, (answer) => {
        const { connection: _closes, ...answered } = answer.headers;
        outgoing.writeHead(answer.statusCode ?? 502, answered);
        answer.pipe(outgoing);
        answer.on('error', () => outgoing.destroy());
      });
      upstream.on('error', (error) => {
        if (!outgoing.headersSent) outgoing.writeHead(502).end(String(error));
        else outgoing.destroy();
      });
      incoming.pipe(upstream);
    });
  }

  get ready(): number {
    return this.#replicas.filter(({ ready }) => ready).length;
  }

  async open(): Promise<string> {
    const probe = async () => {
      await Promise.all(
        this.#replicas.map(async (replica) => {
          const answer = await fetch(new URL('/readyz', replica.url)).catch(() => undefined);
          await answer?.text().catch(() => {});
          replica.ready = answer?.status === 200;
        }),
      );
      this.#probing = setTimeout(probe, this.#probeMs);
    };
    await probe();
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    clearTimeout(this.#probing);
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
