import type { Command, Option } from 'commander';

/* Commander reads the program's options only before a command's name. */

/**
 * Moves the program's options, with their values, before the command's name. Other options' values, a command's options
 * with the same name, and arguments after `--` stay where they are.
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
