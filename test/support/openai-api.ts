/** A stand-in for the Chat Completions API that plays a conversation, and records the messages that it receives. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

export interface ChatMessage {
  role: string;
  content: string | null;
  tool_call_id?: string;
}

export interface OpenAiApi {
  /** Value for `OPENAI_BASE_URL`. */
  url: string;
  requests: { messages: ChatMessage[]; tools: { function: { name: string } }[] }[];
  close(): Promise<void>;
}

/** Arguments as the API sends them: a JSON text, or another text that a model wrote. */
const CALLS = [
  '{"command":"view","path":"/memories"}',
  '{"command":"create","path":"/memories/user.md",',
  '{"command":"create","path":"/memories/user.md","file_text":"Lives in Lyon."}',
];

/** Starts the stand-in on a free port. Its calls have the IDs `call_0`, `call_1`, and so on, like some providers. */
export async function startOpenAi(): Promise<OpenAiApi> {
  const requests: OpenAiApi['requests'] = [];
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as OpenAiApi['requests'][number];
    requests.push(body);
    const done = body.messages.filter(({ role }) => role === 'tool').length;
    const called = CALLS[done];
    const call = { id: `call_${done}`, type: 'function', function: { name: 'memory', arguments: called } };
    const content = called === undefined ? 'I will remember that you live in Lyon.' : null;
    const message = { role: 'assistant', content, ...(called === undefined ? {} : { tool_calls: [call] }) };
    const finish_reason = called === undefined ? 'stop' : 'tool_calls';
    const choices = [{ index: 0, finish_reason, message }];
    const reply = {
      id: `chatcmpl_${requests.length}`,
      object: 'chat.completion',
      created: 0,
      model: 'test',
      choices,
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
