import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';

const root = new URL('../..', import.meta.url);

/** A code block with commands, and the code block with their output, if one follows directly. */
export interface Step {
  commands: string;
  output: string | undefined;
}

/**
 * Reads the `sh` blocks on a documentation page, each with the `text` block that follows it before other prose.
 *
 * @param title title of the section to read; by default, the whole page is read
 */
export async function readSteps(page: string, title?: string): Promise<Step[]> {
  const whole = await readFile(new URL(page, root), 'utf8');
  const text =
    title === undefined ? whole : (whole.split(/^## /m).find((each) => each.startsWith(title)) ?? '');
  return [...text.matchAll(/^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?/gms)].map(
    ([, commands = '', output]) => ({ commands, output }),
  );
}

/** A shell in the project's root that keeps its variables between commands. */
export class Shell {
  readonly #child;
  #text = '';
  #isEnded = false;
  #check = () => {};

  /** @param env the environment, in addition to PATH */
  constructor(env: Record<string, string>) {
    this.#child = spawn('bash', [], {
      cwd: root,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, npm_config_update_notifier: 'false', ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      this.#text += chunk;
      this.#check();
    });
    this.#child.on('close', () => {
      this.#isEnded = true;
      this.#check();
    });
  }

  /** Runs commands, and resolves with the last command's exit code and the whole output, as a terminal shows it. */
  run(commands: string): Promise<{ code: number; output: string }> {
    this.#text = '';
    return new Promise((resolve, reject) => {
      this.#check = () => {
        const [, output, code] = /^(.*)\n<end (\d+)>\n$/s.exec(this.#text) ?? [];
        if (code !== undefined)
          resolve({ code: Number(code), output: `${output}`.replace(/(?<!\n)$/, '\n') });
        else if (this.#isEnded) reject(new Error(`The shell ended:\n${this.#text}`));
      };
      this.#child.stdin.write(`{\n${commands}\n} 2>&1 </dev/null\nprintf '\\n<end %d>\\n' $?\n`);
    });
  }

  close(): void {
    this.#child.kill();
  }
}

/** IDs, times, days, and user names, which differ in each run. The first group is an ID that later commands may contain. */
const VARIABLE =
  /\b(draft_[0-9a-f]{32}|(?:inv|key|shr)_[0-9a-f]{12}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{16}-\d{16}-[0-9a-f]{40})\b|\b\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?|\b[0-9a-f]{16}\b|\boperator \S+/g;

/** Replaces variable parts, and runs of spaces, whose width depends on the variable parts. */
export function maskVariables(text: string): string {
  return text
    .replaceAll(VARIABLE, (found) => (found.startsWith('operator') ? 'operator NAME' : '<…>'))
    .replaceAll(/ {2,}/g, '  ');
}

/** Replaces lines with `…` where the documented output leaves lines out. */
export function leaveOut(output: string, documented: string): string {
  const lines = output.split('\n');
  const kept: string[] = [];
  let at = 0;
  const wanted = documented.split('\n');
  for (const [i, line] of wanted.entries()) {
    if (line !== '…') {
      kept.push(...lines.slice(at, ++at));
      continue;
    }
    kept.push('…');
    const next = wanted[i + 1];
    // The documented output ends with a line break, so the last line is empty.
    const isLast = i === wanted.length - 2;
    const found = lines.findIndex(
      (each, n) =>
        n >= at && (isLast ? n === lines.length - 1 : maskVariables(each) === maskVariables(next ?? '')),
    );
    at = found === -1 ? at : found;
  }
  return [...kept, ...lines.slice(at)].join('\n');
}

/** Returns the IDs in the output by the documented ID at the same place. */
export function matchIds(output: string, documented: string): [string, string][] {
  const ids = (text: string) => [...text.matchAll(VARIABLE)].map(([, id]) => id);
  const actual = ids(output);
  return ids(documented).flatMap((id, i) => {
    const other = actual[i];
    return id === undefined || other === undefined ? [] : [[id, other] as [string, string]];
  });
}
