import type { MemoryInput } from 'memory-service-client';
import { createRandom, type Random } from '../../test/support/random.ts';

type WriteInput = Extract<MemoryInput, { command: 'create' | 'insert' }>;

/** A user message, with the work that follows. */
interface Turn {
  task: string;
  reply: string;
  /** Files that the agent needs before its write and its reply. */
  reads: string[];
  write: WriteInput | undefined;
  /** A write by another agent before the turn. */
  foreign: WriteInput | undefined;
}

export interface SessionPlan {
  id: string;
  pinned: readonly string[];
  turns: Turn[];
}

const PINNED = ['rules', 'people', 'goals'].map((name) => `/memories/pinned/${name}.md`);
const TOPICS = ['build', 'customers', 'design', 'operations'];
const FILES_PER_TOPIC = 9;
const OTHERS = TOPICS.flatMap((topic) =>
  Array.from({ length: FILES_PER_TOPIC }, (_, i) => `/memories/${topic}/note-${i + 1}.md`),
);
/** Files that a session's tasks are about. */
const FILES_PER_SESSION = 8;
const TASK_CHARS = 400;
const REPLY_CHARS = 800;
/** The agent writes in each sixth turn: first a new file, then lines. Another agent writes once in 30 turns. */
const WRITE_INTERVAL = 6;
const CYCLE = 30;

const WORDS = 'the service reads a file before it writes and keeps each change with time and reason'.split(
  ' ',
);

/** Returns the same words in each version of this project. */
function prose(random: Random, length: number): string {
  let words = '';
  while (words.length < length) words += `${random.of(WORDS)}${random.below(15) === 0 ? '.\n' : ' '}`;
  return words.slice(0, length);
}

/** Returns the calls that create the memory's files. */
export function writeFiles(meanCharacters: number): WriteInput[] {
  const random = createRandom(1);
  return [...OTHERS, ...PINNED].map((path) => ({
    command: 'create',
    path,
    file_text: `# Facts about ${path.split('/').slice(2).join(' ')}\n${prose(random, Math.floor(meanCharacters / 2) + random.below(meanCharacters))}`,
  }));
}

/** Returns the same sessions in each call. */
export function planSessions(sessions: number, turns: number): SessionPlan[] {
  const random = createRandom(2);
  const insert = (path: string): WriteInput => ({
    ...{ command: 'insert', path, insert_line: 1 },
    insert_text: `${prose(random, 100).replaceAll('\n', ' ')}\n`,
  });
  return Array.from({ length: sessions }, (_, session) => {
    const subjects = Array.from({ length: FILES_PER_SESSION }, () => random.of(OTHERS));
    return {
      id: `session_${session}`,
      pinned: PINNED,
      turns: Array.from({ length: turns }, (_, turn) => {
        const count = session * turns + turn;
        const writes = count % WRITE_INTERVAL === WRITE_INTERVAL - 1;
        const isNew = writes && count % CYCLE < WRITE_INTERVAL;
        const isPinned = writes && count % (2 * CYCLE) === 2 * CYCLE - 1;
        const path = isPinned ? random.of(PINNED) : random.of(subjects);
        const created: WriteInput = {
          command: 'create',
          path: `/memories/${random.of(TOPICS)}/session-${session}.md`,
          file_text: `# Session ${session}\n${prose(random, 500)}`,
        };
        const change = isNew ? created : insert(path);
        return {
          task: prose(random, TASK_CHARS),
          reply: prose(random, REPLY_CHARS),
          reads: !isNew && (writes || random.below(3) === 0) ? [path] : [],
          write: writes ? change : undefined,
          foreign: count % CYCLE === CYCLE / 2 ? insert(random.of(subjects)) : undefined,
        };
      }),
    };
  });
}
