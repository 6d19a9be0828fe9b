/**
 * Symbol under which all 1.x versions of OpenTelemetry's API share an object, after an application has set up tracing.
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
 * Adds the headers with which the service continues the caller's trace (`traceparent`), in an application that uses
 * OpenTelemetry. The API is not imported, so that the client has no dependency, and bundlers do not search for one.
 */
export function injectTrace(headers: Headers): void {
  const api: OpenTelemetry | undefined = Reflect.get(globalThis, OPENTELEMETRY);
  if (api?.context && api.propagation) api.propagation.inject(api.context.active(), headers, setter);
}
