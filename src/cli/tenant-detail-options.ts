import { type Command, InvalidArgumentError } from 'commander';
import type { StoreDetailsChange } from '../tenants/stores.ts';

export type DetailOptions = StoreDetailsChange;

/** Options for what people say of a tenant. */
export function addDetailOptions(command: Command): Command {
  return command
    .option('--name <name>', 'a name for people', textOf(1, 255))
    .option('--description <text>', 'what the memory contains', textOf(0, 1024))
    .option(
      '--metadata <key=value>',
      'a pair of metadata (repeatable); without a value: remove it',
      metadataPair,
    );
}

/** The details in the options of a command, without those that are not given. */
export function detailsOf({ name, description, metadata }: DetailOptions): StoreDetailsChange {
  return {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

function textOf(min: number, max: number) {
  return (value: string): string => {
    if (value.length >= min && value.length <= max) return value;
    throw new InvalidArgumentError(`Use ${min} to ${max} characters.`);
  };
}

function metadataPair(
  value: string,
  before: Record<string, string | null> = {},
): Record<string, string | null> {
  const [, key = '', given = ''] = /^([^=]{1,64})=([\s\S]{0,512})$/.exec(value) ?? [];
  if (key === '') throw new InvalidArgumentError('Use key=value, with up to 64 and 512 characters.');
  return { ...before, [key]: given === '' ? null : given };
}
