/**
 * One conversation on the SDK's local class (`BetaLocalFilesystemMemoryTool`) and on the service. The results are equal
 * except for the differences in section 5 of docs/contract.md.
 */
import { mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import { BetaLocalFilesystemMemoryTool, betaMemoryTool } from '@anthropic-ai/sdk/tools/memory/node';
import { memoryTool } from 'memory-service-client/anthropic';
import { expect, inject, it } from 'vitest';
import { resultsSent } from '../support/messages-api.ts';
import { cmd } from '../support/step-table.ts';
import { text, use, useAgentFixture } from './agent-fixture.ts';

const fixture = useAgentFixture();

/** A difference between the two results and its sentence in the contract. */
interface Difference {
  why: string;
  local: string;
  service: string;
}
type Step = [input: object, difference?: Difference];

const LISTING =
  "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n";
const snippet = (lines: string) =>
  `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${lines}`;

const STEPS: Step[] = [
  [
    cmd.view('/memories'),
    { why: 'one decimal in sizes', local: `${LISTING}4K\t/memories`, service: `${LISTING}4.0K\t/memories` },
  ],
  [cmd.create('/memories/todo.txt', '- one\n- two\n- three\n')],
  [cmd.create('/memories/todo.txt', 'again')],
  [cmd.create('/memories/work/plan.xml', 'x'.repeat(1536))],
  [cmd.view('/memories/todo.txt')],
  [cmd.view('/memories/todo.txt', [2, -1])],
  [cmd.replace('/memories/todo.txt', '- two', '- TWO')],
  [cmd.insert('/memories/todo.txt', 1, '- one and a half\n')],
  [cmd.rename('/memories/work', '/memories/archive/work')],
  [cmd.rename('/memories/todo.txt', '/memories/archive')],
  [cmd.rename('/memories/nope', '/memories/yes')],
  [cmd.insert('/memories/todo.txt', 99, 'x')],
  [cmd.delete('/memories/nope')],
  [cmd.delete('/memories')],
  [cmd.view('/memories/../etc/passwd')],
  [cmd.view('/etc/passwd')],
  [
    cmd.view('/memories'),
    {
      why: 'one decimal in sizes',
      local: `${LISTING}4K\t/memories\n4K\t/memories/archive/\n4K\t/memories/archive/work/\n37B\t/memories/todo.txt`,
      service: `${LISTING}4.0K\t/memories\n4.0K\t/memories/archive/\n4.0K\t/memories/archive/work/\n37B\t/memories/todo.txt`,
    },
  ],
  [
    cmd.view('/memories/nope'),
    {
      why: 'documented error strings and prefixes',
      local: 'is_error: Error: The path /memories/nope does not exist. Please provide a valid path.',
      service: 'is_error: The path /memories/nope does not exist. Please provide a valid path.',
    },
  ],
  [
    cmd.view('/memories/todo.txt', [9, 12]),
    {
      why: '`view_range` out of range is an error, not an empty listing',
      local: "Here's the content of /memories/todo.txt with line numbers:\n",
      service:
        'is_error: Error: Invalid `view_range` parameter: [9, 12]. It should be within the range of lines of the file: [1, 5]',
    },
  ],
  [
    cmd.replace('/memories/todo.txt', 'nope', 'x'),
    {
      why: 'documented error strings and prefixes',
      local:
        'is_error: Error: No replacement was performed, old_str `nope` did not appear verbatim in /memories/todo.txt.',
      service:
        'is_error: No replacement was performed, old_str `nope` did not appear verbatim in /memories/todo.txt.',
    },
  ],
  [cmd.replace('/memories/nope', 'a', 'b')],
  [
    cmd.insert('/memories/nope', 0, 'x'),
    {
      why: 'documented error strings and prefixes',
      local: 'is_error: Error: The path /memories/nope does not exist. Please provide a valid path.',
      service: 'is_error: Error: The path /memories/nope does not exist',
    },
  ],
  [
    cmd.insert('/memories/archive', 0, 'x'),
    {
      why: '`insert` and `str_replace` on a directory',
      local: 'is_error: Error: The path /memories/archive is not a file.',
      service: 'is_error: Error: The path /memories/archive does not exist',
    },
  ],
  [
    cmd.replace('/memories/todo.txt', '- one\n- one and a half', '- 1'),
    {
      why: '`str_replace` matches across lines',
      local:
        'is_error: Error: No replacement was performed, old_str `- one\n- one and a half` did not appear verbatim in /memories/todo.txt.',
      service: snippet('     1\t- 1\n     2\t- TWO\n     3\t- three'),
    },
  ],
  [cmd.create('/memories/twice.txt', 'a a')],
  [
    cmd.replace('/memories/twice.txt', 'a', 'b'),
    {
      why: 'reports two matches on one line',
      local: snippet('     1\tb a'),
      service:
        'is_error: No replacement was performed. Multiple occurrences of old_str `a` in lines: 1, 1. Please ensure it is unique',
    },
  ],
  [cmd.delete('/memories/twice.txt')],
  [
    cmd.view('/memories//archive'),
    {
      why: 'canonical paths in results',
      local:
        "Here're the files and directories up to 2 levels deep in /memories//archive, excluding hidden items and node_modules:\n4K\t/memories//archive\n4K\t/memories//archive/work/\n1.5K\t/memories//archive/work/plan.xml",
      service:
        "Here're the files and directories up to 2 levels deep in /memories/archive, excluding hidden items and node_modules:\n4.0K\t/memories/archive\n4.0K\t/memories/archive/work/\n1.5K\t/memories/archive/work/plan.xml",
    },
  ],
  [cmd.delete('/memories/archive')],
];

/** Returns the results that the SDK's tool runner sends in the conversation. */
async function converse(tool: BetaRunnableTool): Promise<string[]> {
  const turns = STEPS.map(([input], i) => [use(`toolu_${i}`, input)]);
  const api = await fixture.messagesApi([...turns, [text('Done.')]]);
  await new Anthropic({ baseURL: api.url, apiKey: 'test', maxRetries: 0 }).beta.messages.toolRunner({
    model: 'claude-sonnet-5-5',
    max_tokens: 2048,
    messages: [{ role: 'user', content: 'Show what you can do.' }],
    tools: [tool],
  });
  return resultsSent(api)
    .slice(1)
    .map(([sent]) => `${sent?.is_error ? 'is_error: ' : ''}${sent?.content}`);
}

/** Replaces a directory's size, which depends on the filesystem, with the usual 4096 bytes. */
function withUsualSizes(content: string): string {
  if (!content.startsWith("Here're")) return content;
  const lines = content.split('\n');
  return lines
    .map((line, i) => (i === 1 || line.endsWith('/') ? line.replace(/^[^\t]*/, '4K') : line))
    .join('\n');
}

it("returns the same results as the SDK's local class, except for the documented differences", async () => {
  const directory = await mkdtemp(join(inject('scratch'), 'local-'));
  const local = await converse(betaMemoryTool(await BetaLocalFilesystemMemoryTool.init(directory)));
  const remote = await converse(memoryTool(fixture.client()));
  const diff = STEPS.flatMap(([input], i) => {
    const [before, after] = [withUsualSizes(local[i] ?? ''), remote[i]];
    return before === after ? [] : [{ input, local: before, service: after }];
  });
  expect(local).toHaveLength(STEPS.length);
  expect(diff).toStrictEqual(
    STEPS.flatMap(([input, difference]) =>
      difference ? [{ input, local: difference.local, service: difference.service }] : [],
    ),
  );
});

it("lists each tested difference from the SDK's local class in docs/contract.md", async () => {
  const contract = await readFile(new URL('../../docs/contract.md', import.meta.url), 'utf8');
  const section = contract.slice(contract.indexOf('## 5. Deliberate differences')).replace(/\s+/g, ' ');
  for (const [, difference] of STEPS) {
    for (const words of difference?.why.split(' reports') ?? [])
      expect(section.toLowerCase()).toContain(words);
  }
});
