import { Command } from 'commander';
import { type Connect, type Context, withCaller } from './caller.ts';
import type { OpenPlace } from './cli-session.ts';
import { type Io, print } from './io.ts';
import { formatJson, printLine } from './output.ts';
import type { OverTenants } from './over-tenants.ts';

/** A command's connection, databases, and output, and the feature that adds many tenants to commands. */
export interface Cli {
  connect: Connect;
  openPlace: OpenPlace;
  io: Io;
  overTenants?: OverTenants | undefined;
}

/** Creates a command, or a command group. `commands.ts` and the features list these functions. */
export type CliEntry = (cli: Cli) => Command;

/**
 * A command's output: a line, or the output with `--json` and without it. Without it, `note` is printed to standard
 * error before the text.
 */
type Output = string | (Json & { note?: string; text: Text }) | undefined;

/** A value, or objects that are printed one per line. */
type Json = { json: unknown } | { lines: readonly object[] };

/** A line, or a function that prints the text. */
type Text = string | ((io: Io) => void | Promise<void>);

/** A commander command with examples, and with work that calls the admin API. */
export class CliCommand extends Command {
  readonly #cli: Cli;

  constructor(cli: Cli, name: string, description: string) {
    super(name);
    this.#cli = cli;
    this.description(description);
  }

  /** Adds options that several commands share. */
  with(addOptions: (command: Command) => unknown): this {
    addOptions(this);
    return this;
  }

  /** Adds command lines to the help. */
  examples(...lines: string[]): this {
    const title = lines.length === 1 ? 'Example' : 'Examples';
    return this.addHelpText('after', [`\n${title}:`, ...lines].join('\n  '));
  }

  /** Sets an action that needs no checks before it connects. */
  run<Args extends unknown[]>(
    work: (context: Context, ...args: Args) => Promise<Output> | Promise<void>,
  ): this {
    return this.action((...args) => this.runConnected((context) => work(context, ...(args as Args))));
  }

  /** Connects while the work runs, and prints the output that the work returns. */
  runConnected(work: (context: Context) => Promise<Output> | Promise<void>): Promise<void> {
    const { connect, io } = this.#cli;
    return withCaller(connect, async (caller) => {
      const output = await work({ caller, io });
      if (output === undefined) return;
      if (typeof output === 'string') return printLine(io.stdout, output);
      if (this.opts().json) return print(io.stdout, jsonText(output));
      const { note, text } = output;
      if (note !== undefined) printLine(io.stderr, note);
      if (typeof text === 'string') printLine(io.stdout, text);
      else await text(io);
    });
  }
}

function jsonText(json: Json): string[] {
  if ('json' in json) return [formatJson(json.json)];
  return json.lines.map((each) => `${JSON.stringify(each)}\n`);
}

export function command(cli: Cli, name: string, description: string): CliCommand {
  return new CliCommand(cli, name, description);
}

/** Creates a command group, such as `tenants`. */
export function group(name: string, description: string, entries: readonly CliEntry[]): CliEntry {
  return (cli) => {
    const parent = new Command(name).description(description);
    for (const entry of entries) parent.addCommand(entry(cli));
    return parent;
  };
}
