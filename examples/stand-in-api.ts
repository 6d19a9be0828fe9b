/**
 * A stand-in for the Messages API, for the tutorial (docs/tutorial.md): it needs no account. It writes each message to
 * /memories/user.md, and deletes that file after a message that begins with "Forget".
 *
 *   npx tsx examples/stand-in-api.ts
 *   export ANTHROPIC_BASE_URL=http://localhost:8090 ANTHROPIC_API_KEY=none
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

const PORT = Number(process.env.STAND_IN_PORT ?? 8090);
const PATH = '/memories/user.md';

interface Request {
  model: string;
  messages: { content: string | { type: string; is_error?: boolean }[] }[];
}

type Block = { type: 'text'; text: string } | { type: 'tool_use'; id: string; name: string; input: object };

const server = createServer(async (request, response) => {
  const { model, messages } = (await json(request)) as Request;
  const block = nextBlock(messages);
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
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
});

/** Views the file, then changes it, then responds with text. */
function nextBlock(messages: Request['messages']): Block {
  const said = String(messages[0]?.content);
  const results = messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.filter((each) => each.type === 'tool_result'),
  );
  const [viewed, changed] = results;
  if (viewed === undefined) return use({ command: 'view', path: PATH });
  if (changed !== undefined) return { type: 'text', text: `Done: ${said}` };
  if (said.startsWith('Forget')) return use({ command: 'delete', path: PATH });
  if (viewed.is_error) return use({ command: 'create', path: PATH, file_text: `- ${said}\n` });
  return use({ command: 'insert', path: PATH, insert_line: 0, insert_text: `- ${said}\n` });
}

function use(input: object): Block {
  return { type: 'tool_use', id: `toolu_${crypto.randomUUID()}`, name: 'memory', input };
}

server.listen(PORT, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(`The stand-in listens on http://localhost:${port}`);
});
