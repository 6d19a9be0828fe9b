import { z } from 'zod';
import { type MemoryPath, parsePath, ROOT } from '../memory/path.ts';
import type { PathsSetting } from './settings.ts';

/** Maximum length of a setting with paths, in UTF-16 units. */
const MAX_LENGTH = 8192;

/** Returns the paths in a valid setting. */
export function splitPaths(value: string): MemoryPath[] {
  return value === '' ? [] : (value.split(',') as MemoryPath[]);
}

/** Schema for a setting with paths, which converts each path to its canonical form. */
export function pinnedPathsSchema({ maxPaths }: Pick<PathsSetting, 'maxPaths'>): z.ZodType<string> {
  const rule = `must have at most ${maxPaths} paths, separated by commas, such as /memories/user.md,/memories/team`;
  return z
    .string()
    .max(MAX_LENGTH, rule)
    .overwrite((given) => {
      const paths = given.split(',').flatMap((each) => {
        const parsed = parsePath(each.trim());
        return parsed.ok ? parsed.path : each.trim();
      });
      return [...new Set(paths.filter((path) => path !== ''))].join(',');
    })
    .refine((value) => {
      const paths = splitPaths(value);
      return paths.length <= maxPaths && paths.every((path) => path !== ROOT && parsePath(path).ok);
    }, rule);
}
