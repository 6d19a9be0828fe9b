import fp from 'fastify-plugin';

/**
 * Closes the connection of a client that has its answer, a refusal for example, but takes longer than `timeoutMs` to send the rest of its
 * body. It is not closed at once, because a client that still sends might then lose the answer.
 */
export const unreadBodies = fp<{ timeoutMs: number }>(
  async (app, { timeoutMs }) => {
    app.addHook('onResponse', ({ raw }, _reply, done) => {
      const closeUnlessComplete = () => {
        if (!raw.complete) raw.socket.destroy();
      };
      if (raw.complete === false) setTimeout(closeUnlessComplete, timeoutMs).unref();
      done();
    });
  },
  { name: 'unread-bodies' },
);
