import type { Random } from '../../support/random.ts';
import { cmd } from '../../support/step-table.ts';

/** The memory tool's input. */
export interface Input {
  command: string;
  path?: string;
  old_path?: string;
  new_path?: string;
}

const DIRECTORIES = 20;
/** Directories in which files are created. The others are targets for renames. */
const FIRST_DIRECTORIES = 8;
const FILES_PER_DIRECTORY = 25;
const MAX_FILLER = 2000;

export const directory = (random: Random) => `/memories/d${random.below(DIRECTORIES)}`;
const filePath = (number: number) =>
  `/memories/d${number % FIRST_DIRECTORIES}/f${Math.floor(number / FIRST_DIRECTORIES)}`;
/** Paths of the files with which each tenant begins. */
export const FILES = Array.from({ length: FIRST_DIRECTORIES * FILES_PER_DIRECTORY }, (_, i) => filePath(i));
const file = (random: Random) => random.of(FILES);

export const isFile = (path = '') => path.split('/').length === 4;

const INPUTS: ((random: Random) => Input)[] = [
  ...Array(8).fill((random: Random) =>
    cmd.create(file(random), `head ${random.below(1e9)}\n${'x'.repeat(random.below(MAX_FILLER))}\n`),
  ),
  ...Array(5).fill((random: Random) => cmd.insert(file(random), 1, `line ${random.below(1e9)}\n`)),
  ...Array(3).fill((random: Random) => cmd.replace(file(random), 'head', 'tail')),
  ...Array(3).fill((random: Random) => cmd.replace(file(random), 'tail', 'head')),
  ...Array(3).fill((random: Random) => cmd.rename(file(random), file(random))),
  ...Array(3).fill((random: Random) => cmd.delete(file(random))),
  ...Array(12).fill((random: Random) => cmd.rename(directory(random), directory(random))),
  (random: Random) => cmd.delete(directory(random)),
];

export const randomInput = (random: Random) => random.of(INPUTS)(random);
