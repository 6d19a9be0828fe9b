import type { FastifyInstance, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type OpenMetricsContentType,
  Registry,
} from 'prom-client';
import { z } from 'zod';
import { prunedSinceStart } from '../history/pruning.ts';
import { droppedLogLines } from '../lib/logger.ts';
import { prefers } from './accept.ts';
import type { Capacity } from './capacity.ts';
import { openStreams } from './streams.ts';

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

declare module 'fastify' {
  interface FastifyInstance {
    /** Metrics shared by all listeners. */
    metrics: Metrics;
  }
}

/** The service's metrics. Labels never contain a tenant, a path, or another value that a caller chooses. */
export class Metrics {
  readonly registry = new Registry();
  /** The same metrics in the OpenMetrics format, which supports exemplars. Undefined if exemplars are off. */
  readonly openMetrics: Registry<OpenMetricsContentType> | undefined;
  readonly #commands = new Counter({
    name: 'memory_commands_total',
    help: 'Memory commands by name and outcome: ok, error (a result that reports a failure) or fault (an HTTP error).',
    labelNames: ['command', 'outcome'] as const,
    registers: [this.registry],
  });
  readonly #durations: Histogram<'command'>;
  readonly #responses = new Counter({
    name: 'http_responses_total',
    help: 'HTTP responses by route and status code.',
    labelNames: ['route', 'status'] as const,
    registers: [this.registry],
  });

  /**
   * @param pool returns the connection pool's state
   * @param options.exemplars whether each duration links to an example trace
   */
  constructor(
    capacity: Capacity,
    pool: () => { total: number; idle: number; waiting: number },
    { exemplars }: { exemplars: boolean },
  ) {
    this.openMetrics = exemplars ? createOpenMetrics() : undefined;
    this.#durations = new Histogram({
      name: 'memory_command_duration_seconds',
      help: 'Time from the start of a memory command to its result.',
      labelNames: ['command'] as const,
      buckets: SECONDS,
      enableExemplars: exemplars,
      // prom-client rejects a histogram with exemplars in a registry for the Prometheus text format.
      registers: [this.openMetrics ?? this.registry],
    });
    this.registry.registerMetric(this.#durations);
    collectDefaultMetrics({ register: this.registry });
    // The metric is removed because responses must not reveal versions.
    this.registry.removeSingleMetric('nodejs_version_info');
    new Gauge({
      name: 'memory_requests_in_flight',
      help: 'Requests to POST /execute that hold a slot: those that are worked on.',
      registers: [this.registry],
      collect() {
        this.set(capacity.requests.current.slots);
      },
    });
    new Gauge({
      name: 'memory_requests_waiting',
      help: 'Requests to POST /execute that wait for a slot, or for room for their body.',
      registers: [this.registry],
      collect() {
        this.set(capacity.requests.current.waiting + capacity.bytes.current.waiting);
      },
    });
    new Gauge({
      name: 'memory_bytes_in_flight',
      help: 'Bytes of requests and responses that are in memory.',
      registers: [this.registry],
      collect() {
        this.set(capacity.bytes.current.inFlight);
      },
    });
    new Gauge({
      name: 'memory_streams_open',
      help: 'Open streams on all listeners: event streams and MCP subscriptions.',
      registers: [this.registry],
      collect() {
        this.set(openStreams());
      },
    });
    new Gauge({
      name: 'memory_log_lines_dropped',
      help: 'Log lines dropped since the start, because standard output took none.',
      registers: [this.registry],
      collect() {
        this.set(droppedLogLines());
      },
    });
    new Counter({
      name: 'memory_history_versions_pruned_total',
      help: 'Superseded versions that this process deleted because of their age or number of bytes.',
      registers: [this.registry],
      collect() {
        this.reset();
        this.inc(prunedSinceStart().versions);
      },
    });
    new Counter({
      name: 'memory_history_bytes_pruned_total',
      help: 'Bytes of history that this process deleted because of their age or number.',
      registers: [this.registry],
      collect() {
        this.reset();
        this.inc(prunedSinceStart().bytes);
      },
    });
    new Gauge({
      name: 'memory_database_connections',
      help: 'Database connections: in use, idle, and requests waiting for one.',
      labelNames: ['state'] as const,
      registers: [this.registry],
      collect() {
        const { total, idle, waiting } = pool();
        this.set({ state: 'used' }, total - idle);
        this.set({ state: 'idle' }, idle);
        this.set({ state: 'waiting' }, waiting);
      },
    });
    if (this.openMetrics) copyMetrics(this.registry, this.openMetrics);
  }

  /**
   * @param seconds the command's duration
   * @param exemplar labels that identify the command's trace
   */
  observeCommand(
    command: string,
    outcome: 'ok' | 'error' | 'fault',
    seconds: number,
    exemplar?: Record<string, string>,
  ): void {
    this.#commands.inc({ command, outcome });
    if (this.openMetrics === undefined) this.#durations.observe({ command }, seconds);
    else this.#durations.observe({ labels: { command }, value: seconds, exemplarLabels: exemplar ?? {} });
  }

  observeResponse(route: string, status: number): void {
    this.#responses.inc({ route, status });
  }
}

function createOpenMetrics(): Registry<OpenMetricsContentType> {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  return registry;
}

/** Registers one registry's metrics with a registry that writes the same values as OpenMetrics. */
function copyMetrics(from: Registry, to: Registry<OpenMetricsContentType>): void {
  for (const metric of from.getMetricsAsArray()) {
    // When prom-client writes a counter as OpenMetrics, it removes `_total` from the counter's name. The derived object
    // receives the change, and the original counter keeps its name.
    if (to.getSingleMetric(metric.name) === undefined) to.registerMetric(Object.create(metric));
  }
}

export const responseMetrics = fp<{ metrics: Metrics }>(
  async (app, { metrics }) => {
    app.addHook('onResponse', (request, reply, done) => {
      metrics.observeResponse(request.routeOptions.url ?? 'none', reply.statusCode);
      done();
    });
  },
  { name: 'response-metrics' },
);

/** Serves `GET /metrics` for Prometheus. */
export async function metricsRoute(app: FastifyInstance, { metrics }: { metrics: Metrics }): Promise<void> {
  app.get(
    '/metrics',
    {
      schema: {
        operationId: 'metrics',
        summary: 'Metrics for Prometheus',
        tags: ['operations'],
        security: [],
        response: {
          200: { description: 'The metrics.', content: { 'text/plain': { schema: z.string() } } },
        },
      },
    },
    async (request, reply) => {
      const { registry, openMetrics } = metrics;
      const chosen = openMetrics && wantsOpenMetrics(request) ? openMetrics : registry;
      return reply.type(chosen.contentType).send(await chosen.metrics());
    },
  );
}

/**
 * Whether the client prefers OpenMetrics, as Prometheus does. Other clients get the older text format, which has no
 * exemplars.
 */
function wantsOpenMetrics({ headers }: FastifyRequest): boolean {
  return prefers(headers.accept, 'application/openmetrics-text', 'text/plain');
}
