/**
 * `npm run bench -- context`: compares an agent's input tokens if it reads its memory with tool calls, gets every file
 * in its system prompt, or gets its context. Prints Markdown. A script takes the model's place, and a simulated prompt
 * cache counts the tokens, so each run prints the same numbers. The service and its texts are real.
 *
 * The agent knows from a path whether it needs the file, and views the file once. It has no other tools, because their
 * tokens are the same each way. Output tokens are not counted.
 *
 * Environment: SESSIONS (10); TURNS (user messages per session, 30); FILE_CHARS (mean file length, 2000);
 * SHARED_CACHE=1 (sessions within the cache's lifetime; by default, each session starts with an empty cache);
 * TEST_DATABASE_URL as for the tests.
 */
import Anthropic from '@anthropic-ai/sdk';
import {
  MEMORY_SEARCH_TOOL,
  MemoryClient,
  MemoryContext,
  type MemoryInput,
  runMemoryTools,
} from 'memory-service-client';
import { type Block, startMessagesApi } from '../test/support/messages-api.ts';
import { setting, withCleanup } from './support/cleanup.ts';
import { planSessions, type SessionPlan, writeFiles } from './support/context-plan.ts';
import { PromptCache, type PromptRequest, type PromptTokens } from './support/prompt-cache.ts';
import { startService } from './support/service.ts';

const CACHED = { cache_control: { type: 'ephemeral' } } as const;
/** Prices relative to input. */
const WRITE_PRICE = 1.25;
const READ_PRICE = 0.1;

type TextBlock = Anthropic.TextBlockParam;
const textBlock = (text: string): TextBlock => ({ type: 'text', text });
const cachedBlock = (text: string): TextBlock => ({ type: 'text', text, ...CACHED });

/** The agent's own system prompt. */
const AGENT = textBlock('You help with the work on a project. '.repeat(100));

/** The memory's part of a turn's first request. */
interface Texts {
  system: TextBlock[];
  /** Blocks in the user message, before the task. */
  message: TextBlock[];
}

interface Way {
  name: string;
  /** Views when a session starts, by request. */
  views(pinned: readonly string[]): string[][];
  /** Whether the agent has read a file without a view. */
  knows(path: string, pinned: readonly string[]): boolean;
  /** Whether the agent learns that another agent changed a file, so that it views the file again. */
  seesChanges: boolean;
  /** Returns a function that reads a session's texts before each turn. */
  open(memory: MemoryClient): () => Promise<Texts>;
}

const readAll = async (memory: MemoryClient) =>
  (await memory.files().readAll('/'))
    .map(({ path, content }) => `<file path="${path}">\n${content}\n</file>`)
    .join('\n');
const allFiles = { views: () => [], knows: () => true, seesChanges: true };

const WAYS: Way[] = [
  {
    name: 'Tool calls alone',
    views: (pinned) => [['/memories'], [...pinned]],
    knows: () => false,
    seesChanges: false,
    open: () => async () => ({ system: [{ ...AGENT, ...CACHED }], message: [] }),
  },
  {
    ...allFiles,
    name: 'All files in the system prompt, after each change',
    open: (memory) => async () => ({
      system: [{ ...AGENT, ...CACHED }, cachedBlock(await readAll(memory))],
      message: [],
    }),
  },
  {
    ...allFiles,
    name: 'All files in the system prompt, once per session',
    seesChanges: false,
    open: (memory) => {
      let files: string | undefined;
      return async () => {
        files ??= await readAll(memory);
        return { system: [{ ...AGENT, ...CACHED }, cachedBlock(files)], message: [] };
      };
    },
  },
  {
    name: 'Context',
    views: () => [],
    knows: (path, pinned) => pinned.includes(path),
    seesChanges: true,
    open: (memory) => {
      const context = new MemoryContext(memory);
      let isFirst = true;
      return async () => {
        const text = await context.update();
        const message = text === undefined ? [] : [isFirst ? cachedBlock(text) : textBlock(text)];
        isFirst = false;
        return { system: [AGENT, cachedBlock(context.guidance)], message };
      };
    },
  },
];

interface Totals extends PromptTokens {
  requests: number;
  /** Requests whose reply only views files or directories. */
  reading: number;
}

/** Returns the replies for each turn: views, unless the agent knows the files, the write, and a text. */
function* script(way: Way, { id, pinned, turns }: SessionPlan): Generator<Block[][]> {
  const known = new Set<string>();
  let calls = 0;
  const use = (input: object): Block => ({
    type: 'tool_use',
    id: `${id}_${calls++}`,
    name: 'memory',
    input,
  });
  let views = way.views(pinned);
  for (const paths of views) for (const path of paths) known.add(path);
  for (const { reply, reads, write, foreign } of turns) {
    if (foreign !== undefined && way.seesChanges) known.delete(foreign.path);
    for (const path of reads) {
      if (known.has(path) || way.knows(path, pinned)) continue;
      views.push([path]);
      known.add(path);
    }
    if (write !== undefined) known.add(write.path);
    yield [
      ...views.map((paths) => paths.map((path) => use({ command: 'view', path }))),
      ...(write === undefined ? [] : [[use(write)]]),
      [{ type: 'text', text: reply }],
    ];
    views = [];
  }
}

const isReading = (reply: Block[]) =>
  reply.every((block) => block.type === 'tool_use' && (block.input as MemoryInput).command === 'view');

/** Plays a session, and adds its requests to the totals. */
async function playSession(
  way: Way,
  plan: SessionPlan,
  memory: MemoryClient,
  cache: PromptCache,
  totals: Totals,
) {
  const replies: Block[][] = [];
  const api = await startMessagesApi(replies);
  const anthropic = new Anthropic({ baseURL: api.url, apiKey: 'none' });
  const messages: Anthropic.MessageParam[] = [];
  const readTexts = way.open(memory);
  const scripted = script(way, plan);
  for (const { task, foreign } of plan.turns) {
    if (foreign !== undefined) await memory.execute(foreign);
    const { system, message } = await readTexts();
    messages.push({ role: 'user', content: [...message, textBlock(task)] });
    for (const reply of scripted.next().value ?? []) {
      replies.push(reply);
      const answer = await anthropic.messages.create({
        ...{ model: 'claude-sonnet-5-5', max_tokens: 2048, ...CACHED, system, messages },
        tools: [{ type: 'memory_20250818', name: 'memory' }, MEMORY_SEARCH_TOOL],
      });
      messages.push({ role: 'assistant', content: answer.content });
      const results = await runMemoryTools(memory, answer);
      if (results.some(({ is_error }) => is_error)) throw new Error(JSON.stringify(results));
      if (results.length > 0) messages.push({ role: 'user', content: results });
      const tokens = cache.send(api.requests.at(-1)?.body as unknown as PromptRequest);
      totals.requests++;
      if (isReading(reply)) totals.reading++;
      totals.plain += tokens.plain;
      totals.written += tokens.written;
      totals.read += tokens.read;
    }
  }
  await api.close();
}

await withCleanup(async (scratch, later) => {
  const [sessions, turns] = [setting('SESSIONS', 10), setting('TURNS', 30)];
  const characters = setting('FILE_CHARS', 2000);
  const isShared = setting('SHARED_CACHE', 0);
  const service = await startService(scratch, later);
  console.log(`SESSIONS=${sessions}, TURNS=${turns}, FILE_CHARS=${characters}, SHARED_CACHE=${isShared}.\n`);
  console.log('| Memory | Requests | Only to read | Input tokens | From the cache | Weighted tokens | |');
  console.log('| --- | ---: | ---: | ---: | ---: | ---: | ---: |');
  let first: number | undefined;
  for (const [i, way] of WAYS.entries()) {
    const memory = new MemoryClient({ url: service.url, tenant: `way-${i}` });
    for (const input of writeFiles(characters)) await memory.execute(input);
    const totals: Totals = { requests: 0, reading: 0, plain: 0, written: 0, read: 0 };
    let cache = new PromptCache();
    for (const plan of planSessions(sessions, turns)) {
      if (!isShared) cache = new PromptCache();
      await playSession(way, plan, memory, cache, totals);
    }
    const input = totals.plain + totals.written + totals.read;
    const weighted = totals.plain + WRITE_PRICE * totals.written + READ_PRICE * totals.read;
    first ??= weighted;
    const [requests, reading, all, paid] = [totals.requests, totals.reading, input, Math.round(weighted)].map(
      (count) => count.toLocaleString('en-US'),
    );
    const share = `${((100 * totals.read) / input).toFixed(1)} %`;
    const ratio = (weighted / first).toFixed(2);
    console.log(`| ${way.name} | ${requests} | ${reading} | ${all} | ${share} | ${paid} | ${ratio} |`);
  }
});
