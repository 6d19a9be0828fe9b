import type { Command, Option } from 'commander';

/* Commander reads the options of the program only before the name of a command. */

/**
 * Moves options of the program, with their values, before the name of the command. Values of other options, options of
 * the same name of a command, and arguments after `--` stay where they are.
 */
export function hoistGlobalOptions(program: Command, args: readonly string[]): string[] {
  const hoisted: string[] = [];
  const others: string[] = [];
  let command = program;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? '';
    if (arg === '--') {
      others.push(...args.slice(i));
      break;
    }
    if (!arg.startsWith('-')) {
      command = command.commands.find((each) => each.name() === arg) ?? command;
      others.push(arg);
      continue;
    }
    const own = findOption(command, arg);
    const option = own ?? findOption(program, arg);
    const taken = option?.required && !arg.includes('=') ? args.slice(i, i + 2) : [arg];
    const isGlobal = command !== program && own === undefined && option?.required;
    (isGlobal ? hoisted : others).push(...taken);
    i += taken.length - 1;
  }
  return [...hoisted, ...others];
}

function findOption(command: Command, arg: string): Option | undefined {
  const [flag = ''] = arg.split('=', 1);
  return command.options.find(({ short, long }) => flag === short || flag === long);
}
