import { Argument, type Command } from 'commander';
import { bashCompletion, fishCompletion, zshCompletion } from './completion.ts';
import type { Io } from './io.ts';

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

/** `completion`. */
export function registerCompletionCommand(program: Command, io: Io): void {
  program
    .command('completion')
    .description('Print a completion script for a shell.')
    .addArgument(new Argument('<shell>', 'name of the shell').choices(Object.keys(SHELLS)))
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
