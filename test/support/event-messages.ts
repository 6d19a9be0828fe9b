export interface Message<Data> {
  id?: string;
  event?: string;
  data?: Data;
}

/**
 * Yields the server-sent events in a response, except comments and `retry` fields.
 *
 * @param chunks the response's text
 */
export async function* readMessages<Data>(chunks: AsyncIterable<string>): AsyncGenerator<Message<Data>> {
  let text = '';
  for await (const chunk of chunks) {
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/s, 2)));
      const { id, event, data } = fields as { id?: string; event?: string; data?: string };
      if (id === undefined && data === undefined) continue;
      yield {
        ...(id !== undefined && { id }),
        ...(event !== undefined && { event }),
        ...(data !== undefined && { data: JSON.parse(data) }),
      };
    }
  }
}
