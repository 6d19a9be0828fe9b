import fp from 'fastify-plugin';

/**
 * Reads what a client that has its answer, a refusal for example, still sends of its body, so that the connection can take the next
 * request. It is not closed at once, because a client that still sends might then lose the answer, but after `timeoutMs`.
 */
export const unreadBodies = fp<{ timeoutMs: number }>(
  async (app, { timeoutMs }) => {
    app.addHook('onResponse', ({ raw }, _reply, done) => {
      const closeUnlessComplete = () => {
        if (!raw.complete) raw.socket.destroy();
      };
      if (raw.complete === false) {
        setTimeout(closeUnlessComplete, timeoutMs).unref();
        raw.resume();
      }
      done();
    });
  },
  { name: 'unread-bodies' },
);
