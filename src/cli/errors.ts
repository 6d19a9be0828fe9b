/** What a command cannot do, in words for the person who ran it; the CLI prints them and exits with 1. */
export class CliError extends Error {
  override name = 'CliError';
}
