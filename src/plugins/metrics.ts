import fp from 'fastify-plugin';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { prunedSinceStart } from '../history/pruning.ts';
import { droppedLogLines } from '../logger.ts';
import type { InFlight } from './in-flight.ts';

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Counts what the service does. No label holds a tenant, a path or anything else that a caller chooses. */
export class Metrics {
  readonly registry = new Registry();
  readonly #commands = new Counter({
    name: 'memory_commands_total',
    help: 'Memory commands by name and outcome: ok, error (a result that reports a failure) or fault (an HTTP error).',
    labelNames: ['command', 'outcome'] as const,
    registers: [this.registry],
  });
  readonly #durations = new Histogram({
    name: 'memory_command_duration_seconds',
    help: 'Time from the start of a memory command to its result.',
    labelNames: ['command'] as const,
    buckets: SECONDS,
    registers: [this.registry],
  });
  readonly #responses = new Counter({
    name: 'http_responses_total',
    help: 'HTTP responses by route and status code.',
    labelNames: ['route', 'status'] as const,
    registers: [this.registry],
  });

  /** @param pool tells how the database's connections stand */
  constructor(inFlight: InFlight, pool: () => { total: number; idle: number; waiting: number }) {
    collectDefaultMetrics({ register: this.registry });
    // No answer tells a version.
    this.registry.removeSingleMetric('nodejs_version_info');
    new Gauge({
      name: 'memory_requests_in_flight',
      help: 'Requests to POST /execute that hold a slot: those that are worked on.',
      registers: [this.registry],
      collect() {
        this.set(inFlight.requests.current.slots);
      },
    });
    new Gauge({
      name: 'memory_requests_waiting',
      help: 'Requests to POST /execute that wait for a slot, or for room for their body.',
      registers: [this.registry],
      collect() {
        this.set(inFlight.requests.current.waiting + inFlight.bytes.current.waiting);
      },
    });
    new Gauge({
      name: 'memory_bytes_in_flight',
      help: 'Bytes of requests and answers that are in memory.',
      registers: [this.registry],
      collect() {
        this.set(inFlight.bytes.current.inFlight);
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
  }

  /** @param seconds how long the command took. */
  observeCommand(command: string, outcome: 'ok' | 'error' | 'fault', seconds: number): void {
    this.#commands.inc({ command, outcome });
    this.#durations.observe({ command }, seconds);
  }

  observeResponse(route: string, status: number): void {
    this.#responses.inc({ route, status });
  }
}

/** Counts the responses of all routes. */
export const responseMetrics = fp<{ metrics: Metrics }>(
  async (app, { metrics }) => {
    app.addHook('onResponse', (request, reply, done) => {
      metrics.observeResponse(request.routeOptions.url ?? 'none', reply.statusCode);
      done();
    });
  },
  { name: 'response-metrics' },
);
