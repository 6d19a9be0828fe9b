import { Argument, type Command } from 'commander';
import { bashCompletion, fishCompletion, zshCompletion } from './completion.ts';
import type { Io } from './io.ts';

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

/** `completion`. */
export function registerCompletionCommand(program: Command, io: Io): void {
  program
    .command('completion')
    .description('Print the script that lets a shell complete commands and options.')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SHELLS)))
    .addHelpText(
      'after',
      `
Examples:
  memory-service completion bash > ~/.local/share/bash-completion/completions/memory-service
  echo 'source <(memory-service completion zsh)' >> ~/.zshrc
  memory-service completion fish > ~/.config/fish/completions/memory-service.fish`,
    )
    .action((shell: keyof typeof SHELLS) => {
      io.stdout.write(SHELLS[shell](program));
    });
}
