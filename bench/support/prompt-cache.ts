import { createHash } from 'node:crypto';

type Json = Record<string, unknown>;

/** A request to the Messages API, as far as the prompt cache reads it. */
export interface PromptRequest {
  cache_control?: unknown;
  tools: readonly Json[];
  system: readonly Json[];
  messages: readonly { role: string; content: string | readonly Json[] }[];
}

/** Input tokens by price. */
export interface PromptTokens {
  /** Tokens outside the cache, at the price of input. */
  plain: number;
  written: number;
  read: number;
}

interface Prefix {
  key: string;
  /** Tokens in the prefix. */
  tokens: number;
  isBreakpoint: boolean;
}

const MIN_TOKENS = 1024;
/** Blocks before a breakpoint that the API compares with the cache. */
const LOOKBACK = 20;
const CHARS_PER_TOKEN = 4;
/** Size that the API's own definition and instruction for the memory tool have (docs/costs.md). */
const MEMORY_TOOL_CHARS = 3000;

/** Simulates the Claude API's prompt cache, without expiration. A token is four characters. */
export class PromptCache {
  readonly #keys = new Set<string>();

  /** Returns a request's input tokens, and stores the prefixes at its breakpoints. */
  send(request: PromptRequest): PromptTokens {
    const prefixes = readPrefixes(request);
    const total = prefixes.at(-1)?.tokens ?? 0;
    const breakpoints = prefixes.flatMap(({ isBreakpoint, tokens }, i) =>
      isBreakpoint && tokens >= MIN_TOKENS ? [i] : [],
    );
    const found = breakpoints.flatMap((end) =>
      prefixes.slice(Math.max(0, end - LOOKBACK), end + 1).filter(({ key }) => this.#keys.has(key)),
    );
    const read = Math.max(0, ...found.map(({ tokens }) => tokens));
    const cached = Math.max(read, ...breakpoints.map((i) => prefixes[i]?.tokens ?? 0));
    for (const i of breakpoints) this.#keys.add(prefixes[i]?.key ?? '');
    return { plain: total - cached, written: cached - read, read };
  }
}

/** Returns the prefix up to each block, in the API's order: tools, system, messages. */
function readPrefixes({ cache_control, tools, system, messages }: PromptRequest): Prefix[] {
  const blocks = [
    ...tools.map((block) => ({ block, text: toolText(block) })),
    ...system.map((block) => ({ block, text: blockText(block) })),
    ...messages.flatMap(({ content }) => {
      const list = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
      return list.map((block: Json) => ({ block, text: blockText(block) }));
    }),
  ];
  let key = '';
  let characters = 0;
  return blocks.map(({ block, text }, i) => {
    key = createHash('sha256').update(key).update(text).digest('base64');
    characters += text.length;
    const isLast = i === blocks.length - 1;
    return {
      key,
      tokens: Math.ceil(characters / CHARS_PER_TOKEN),
      isBreakpoint: block.cache_control !== undefined || (isLast && cache_control !== undefined),
    };
  });
}

function toolText(tool: Json): string {
  return tool.name === 'memory' ? '.'.repeat(MEMORY_TOOL_CHARS) : JSON.stringify(tool);
}

function blockText({ text, input, content }: Json): string {
  return String(text ?? content ?? JSON.stringify(input));
}
