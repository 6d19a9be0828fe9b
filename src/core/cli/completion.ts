import { Argument, type Command, type Option } from 'commander';
import { type Cli, command } from './cli-command.ts';

/*
 * Completion scripts generated from commander's command tree. Commander itself has no completion, and a script that
 * calls the program would start Node at each Tab.
 */

/** A command with its path, such as `['tenants', 'set']`. */
interface Node {
  path: string[];
  command: Command;
}

function* nodes(command: Command, path: string[] = []): Generator<Node> {
  yield { path, command };
  for (const each of command.commands) yield* nodes(each, [...path, each.name()]);
}

const visibleOptions = (command: Command): readonly Option[] => command.createHelp().visibleOptions(command);
const optionFlags = (option: Option) => [option.short, option.long].filter((flag) => flag !== undefined);
const takesValue = (option: Option) => option.required || option.optional;

/** Returns the words that may follow the command, except option values. */
function commandWords(command: Command): string[] {
  return [
    ...command.commands.map((each) => each.name()),
    ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    ...visibleOptions(command).flatMap(optionFlags),
  ];
}

export function bashCompletion(program: Command): string {
  const all = [...nodes(program)];
  const steps = all.filter(({ path }) => path.length > 0).map(({ path }) => `"${path.join(' ')}"`);
  const words = all.map(
    ({ path, command }) => `    "${path.join(' ')}") words="${commandWords(command).join(' ')}" ;;`,
  );
  const values = all.flatMap(({ path, command }) =>
    visibleOptions(command)
      .filter(takesValue)
      .map(
        ({ long, argChoices }) =>
          `    "${path.join(' ')} ${long}") words="${(argChoices ?? []).join(' ')}" ;;`,
      ),
  );
  return `# memory-service completion for bash
_memory_service() {
  local i step command="" words="" current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    step="\${command:+$command }\${COMP_WORDS[i]}"
    case "$step" in
      ${steps.join('|')}) command="$step" ;;
    esac
  done
  case "$command" in
${words.join('\n')}
  esac
  case "$command $before" in
${values.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _memory_service memory-service
`;
}

/**
 * Returns the script for zsh, which runs the bash script with `bashcompinit` after `compinit`. The bash script avoids
 * the variable `path`, which is special in zsh.
 */
export function zshCompletion(program: Command): string {
  return `autoload -U +X bashcompinit && bashcompinit
${bashCompletion(program)}`;
}

export function fishCompletion(program: Command): string {
  const lines = [...nodes(program)].flatMap(({ path, command }) => {
    const condition = fishCondition(path, command);
    const words = [
      ...command.commands.map((each) => [each.name(), each.summary() || firstSentence(each.description())]),
      ...command.registeredArguments.flatMap(({ argChoices }) =>
        (argChoices ?? []).map((each) => [each, '']),
      ),
    ];
    return [
      ...words.map(
        ([word = '', text = '']) => `${condition} -f -a ${quoteForShell(word)} -d ${quoteForShell(text)}`,
      ),
      ...visibleOptions(command).map((option) => `${condition} ${fishOption(option)}`),
    ];
  });
  return `# memory-service completion for fish\n${lines.join('\n')}\n`;
}

function fishCondition(path: string[], command: Command): string {
  const seen = path.map((name) => `__fish_seen_subcommand_from ${name}`);
  const next = command.commands.map((each) => each.name());
  const unseen = next.length > 0 ? [`not __fish_seen_subcommand_from ${next.join(' ')}`] : [];
  return `complete -c memory-service -n ${quoteForShell([...seen, ...unseen].join('; and ') || 'true')}`;
}

function fishOption(option: Option): string {
  const parts = [`-l ${option.long?.replace(/^--/, '')}`];
  if (option.short) parts.push(`-s ${option.short.slice(1)}`);
  if (takesValue(option)) parts.push('-r');
  if (option.argChoices) parts.push(`-f -a ${quoteForShell(option.argChoices.join(' '))}`);
  return [...parts, `-d ${quoteForShell(option.description)}`].join(' ');
}

export function firstSentence(text: string): string {
  return text.split(/[.:] /, 1)[0] ?? '';
}

function quoteForShell(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

export const completionCommand = (cli: Cli) =>
  command(cli, 'completion', 'Print a completion script for a shell.')
    .addArgument(new Argument('<shell>', 'name of the shell').choices(Object.keys(SHELLS)))
    .examples(
      'memory-service completion bash > ~/.local/share/bash-completion/completions/memory-service',
      "echo 'source <(memory-service completion zsh)' >> ~/.zshrc",
      'memory-service completion fish > ~/.config/fish/completions/memory-service.fish',
    )
    .action((shell: keyof typeof SHELLS, _, { parent }: Command) => {
      if (parent !== null) cli.io.stdout.write(SHELLS[shell](parent));
    });
