export const EVENT_STREAM = 'text/event-stream';

/** A server-sent event. */
export interface ServerSentEvent {
  /** The position that the client sends as `Last-Event-ID` when it connects again. No line break. */
  id?: string;
  /** Event type. No line break. The default is `message`. */
  event?: string;
  /** An object is sent as JSON. Undefined sends only the ID, which clients remember without reporting an event. */
  data?: string | object;
}

export interface EventStream {
  /** Aborts when the stream ends. Its reason is the ServiceError that says why. */
  readonly signal: AbortSignal;
  /**
   * Sends an event, and waits until the client can receive another. Await each call, because the stream has no queue.
   *
   * @throws ServiceError the signal's reason, if the stream has ended
   */
  send(event: ServerSentEvent): Promise<void>;
}

/** Sends a response's events, until there are no more or the stream's signal aborts. */
export type SendEvents = (stream: EventStream) => Promise<void>;
