/**
 * The object that all 1.x versions of OpenTelemetry's API share under this symbol after an application has set up
 * tracing.
 */
const OPENTELEMETRY = Symbol.for('opentelemetry.js.api.1');

interface OpenTelemetry {
  context?: { active(): unknown };
  propagation?: {
    inject(
      context: unknown,
      carrier: Headers,
      setter: { set(carrier: Headers, name: string, value: string): void },
    ): void;
  };
}

const setter = { set: (headers: Headers, name: string, value: string) => headers.set(name, value) };

/**
 * Adds the headers by which the service continues the caller's trace (`traceparent`), in an application that traces
 * with OpenTelemetry. Its API is not imported, so that the client needs no package, and bundlers look for none.
 */
export function injectTrace(headers: Headers): void {
  const api: OpenTelemetry | undefined = Reflect.get(globalThis, OPENTELEMETRY);
  if (api?.context && api.propagation) api.propagation.inject(api.context.active(), headers, setter);
}
