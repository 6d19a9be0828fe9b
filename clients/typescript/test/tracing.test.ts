/** The client sends `traceparent` in an application that uses OpenTelemetry. */
import { context, propagation, ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { afterEach, expect, it, vi } from 'vitest';
import { busyResponse, createScriptedClient, okResponse, useScriptedTime, VIEW } from './scripted-fetch.ts';

useScriptedTime();
afterEach(() => {
  context.disable();
  propagation.disable();
});

const span = trace.wrapSpanContext({
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  traceFlags: TraceFlags.SAMPLED,
});
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** Sets up tracing, as an application's OpenTelemetry SDK does at its start. */
function setUpTracing(): void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
}

it('sends the active span as traceparent with the first attempt and with the retry', async () => {
  setUpTracing();
  const { client, sent } = createScriptedClient([busyResponse({ 'retry-after': '0' }), okResponse()]);
  const answer = context.with(trace.setSpan(ROOT_CONTEXT, span), () => client.execute(VIEW));
  await vi.runAllTimersAsync();
  await answer;
  expect(sent.map(({ headers }) => headers.traceparent)).toStrictEqual([TRACEPARENT, TRACEPARENT]);
});

it('sends no traceparent outside a span or without an OpenTelemetry SDK', async () => {
  const { client, sent } = createScriptedClient([okResponse()]);
  await client.execute(VIEW);
  await context.with(trace.setSpan(ROOT_CONTEXT, span), () => client.execute(VIEW));
  setUpTracing();
  await client.execute(VIEW);
  expect(sent.map(({ headers }) => headers.traceparent)).toStrictEqual([undefined, undefined, undefined]);
});
