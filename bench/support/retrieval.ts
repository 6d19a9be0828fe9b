import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

export interface Document {
  id: string;
  text: string;
}

interface Question {
  query: string;
  /** IDs of the documents with the evidence. */
  evidence: string[];
  /** Evidence texts, each with its document's ID. */
  passages: Document[];
}

/** Documents from one conversation, with questions about the conversation. */
export interface Conversation {
  documents: Document[];
  questions: Question[];
}

export interface DataSet {
  name: string;
  conversations: Conversation[];
}

/** A conversation in a file. `sess` has a document per session, and equals `docs` if the sessions are unknown. */
interface Prepared {
  docs: Document[];
  sess: Document[];
  qs: { q: string; ev: string[]; evs: string[] }[];
}

/**
 * Reads the files `*.json.gz` in a directory. Questions without evidence are omitted.
 *
 * @param half 'even' or 'odd' selects every second conversation
 */
export function readDataSets(directory: string, half: string | undefined): DataSet[] {
  const names = readdirSync(directory).filter((name) => name.endsWith('.json.gz'));
  if (names.length === 0) throw new Error(`${directory} has no files *.json.gz.`);
  return names.sort().flatMap((name) => {
    const all = JSON.parse(gunzipSync(readFileSync(join(directory, name))).toString()) as Prepared[];
    const chosen = all.filter((_, i) => half === undefined || (i % 2 === 0) === (half === 'even'));
    const set = name.slice(0, -'.json.gz'.length);
    const byDocument = chosen.map(({ docs, qs }) => conversation(docs, docs, qs, 'ev'));
    const hasSessions = chosen.some(({ docs, sess }) => sess.length < docs.length);
    if (!hasSessions) return [{ name: set, conversations: byDocument }];
    const bySession = chosen.map(({ docs, sess, qs }) => conversation(docs, sess, qs, 'evs'));
    return [
      { name: `${set}, a file per turn`, conversations: byDocument },
      { name: `${set}, a file per session`, conversations: bySession },
    ];
  });
}

/** @param docs documents whose texts are the evidence, and are parts of `documents` */
function conversation(
  docs: readonly Document[],
  documents: readonly Document[],
  questions: Prepared['qs'],
  key: 'ev' | 'evs',
): Conversation {
  const texts = new Map(docs.map(({ id, text }) => [id, text]));
  const evidencePassages = (question: Prepared['qs'][number]) =>
    question.ev.flatMap((id) => {
      const text = texts.get(id);
      const document = documents.find(
        (each) => text !== undefined && containsPassage(each, text, question[key]),
      );
      return text === undefined || document === undefined ? [] : [{ id: document.id, text }];
    });
  return {
    documents: documents.map(({ id, text }) => ({ id, text })),
    questions: questions
      .map((question) => ({
        query: question.q,
        evidence: question[key],
        passages: evidencePassages(question),
      }))
      .filter(({ evidence }) => evidence.length > 0),
  };
}

function containsPassage(document: Document, text: string, ids: readonly string[]): boolean {
  return ids.includes(document.id) && document.text.includes(text);
}

/** Ranking quality: means over all questions. */
export class Quality {
  #questions = 0;
  #reciprocal = 0;
  readonly #recall = new Map<number, number>();
  readonly #limits: readonly number[];

  /** @param limits numbers of best documents for which the recall is measured */
  constructor(limits: readonly number[]) {
    this.#limits = limits;
  }

  add(ranked: readonly string[], evidence: readonly string[]): void {
    this.#questions++;
    const first = ranked.findIndex((id) => evidence.includes(id));
    if (first >= 0) this.#reciprocal += 1 / (first + 1);
    for (const limit of this.#limits) {
      const best = new Set(ranked.slice(0, limit));
      const found = evidence.filter((id) => best.has(id)).length / evidence.length;
      this.#recall.set(limit, (this.#recall.get(limit) ?? 0) + found);
    }
  }

  /** Returns the mean share of the evidence among the best documents, from 0 to 1, for each limit. */
  recalls(): number[] {
    return this.#limits.map((limit) => (this.#recall.get(limit) ?? 0) / this.#questions);
  }

  /** Returns the mean reciprocal rank for the first document with evidence. */
  meanReciprocalRank(): number {
    return this.#reciprocal / this.#questions;
  }
}
