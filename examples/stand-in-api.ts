/**
 * A stand-in for the Messages API, for the tutorial (docs/tutorial.md): it needs no account. It writes each message to
 * /memories/user.md, and deletes that file after a message that begins with "Forget".
 *
 *   npx tsx examples/stand-in-api.ts
 *   export ANTHROPIC_BASE_URL=http://localhost:8090 ANTHROPIC_API_KEY=none
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

const PORT = Number(process.env.STAND_IN_PORT ?? 8090);
const PATH = '/memories/user.md';

type Content = string | { type: string; text?: string; is_error?: boolean }[];

interface Message {
  content: Content;
}

interface Request {
  model: string;
  messages: Message[];
  /** Newer SDKs' tool runners send each message once, and continue from the last reply. */
  thread?: { type: 'create' } | { type: 'continue'; previous_message_id: string };
}

type Block = { type: 'text'; text: string } | { type: 'tool_use'; id: string; name: string; input: object };

/** The user's messages in each thread, by the ID of the thread's last reply. */
const threads = new Map<string, Message[]>();

const server = createServer(async (request, response) => {
  const { model, messages, thread } = (await json(request)) as Request;
  const before = thread?.type === 'continue' ? threads.get(thread.previous_message_id) : [];
  if (before === undefined) return rejectThread(response);
  const conversation = [...before, ...messages];
  const block = nextBlock(conversation);
  const reply = {
    id: `msg_${crypto.randomUUID()}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [block],
    stop_reason: block.type === 'tool_use' ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 0, output_tokens: 0 },
  };
  if (thread) threads.set(reply.id, conversation);
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
});

/** Responds as the Messages API does for an unknown thread. The SDK then sends the whole conversation again. */
function rejectThread(response: ServerResponse): void {
  const details = { error_code: 'thread_not_found' };
  const error = { type: 'not_found_error', message: 'The thread was not found.', details };
  response
    .writeHead(404, { 'content-type': 'application/json' })
    .end(JSON.stringify({ type: 'error', error }));
}

/** Views the file, then changes it, then responds with text. */
function nextBlock(messages: Message[]): Block {
  const said = contentText(messages[0]?.content ?? '');
  const results = messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.filter((each) => each.type === 'tool_result'),
  );
  const [viewed, changed] = results;
  if (viewed === undefined) return toolUse({ command: 'view', path: PATH });
  if (changed !== undefined) return { type: 'text', text: `Done: ${said}` };
  if (said.startsWith('Forget')) return toolUse({ command: 'delete', path: PATH });
  if (viewed.is_error) return toolUse({ command: 'create', path: PATH, file_text: `- ${said}\n` });
  return toolUse({ command: 'insert', path: PATH, insert_line: 0, insert_text: `- ${said}\n` });
}

function contentText(content: Content): string {
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('');
}

function toolUse(input: object): Block {
  return { type: 'tool_use', id: `toolu_${crypto.randomUUID()}`, name: 'memory', input };
}

server.listen(PORT, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(`The stand-in listens on http://localhost:${port}`);
});
