import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { OperatorError } from '../errors.ts';
import { parseTime } from '../history/time.ts';

export const TIME_HELP = `
TIME is ISO 8601 (2026-11-22, 2026-11-22T09:30:00Z; without an offset, it is UTC) or how long ago (90m, 2h, 3d, 1w).`;

/** A commander argument parser for times. */
export function timeArgument(value: string): string {
  try {
    return parseTime(value, new Date());
  } catch (error) {
    throw error instanceof OperatorError ? new InvalidArgumentError(error.message) : error;
  }
}

/** Some ids of versions are hashes, which are no UUIDs of a version that RFC 9562 knows. */
const VERSION_ID = z.guid();

export function isVersionId(value: string): boolean {
  return VERSION_ID.safeParse(value).success;
}

/** A commander argument parser for ids of versions. */
export function versionArgument(value: string): string {
  if (isVersionId(value)) return value.toLowerCase();
  throw new InvalidArgumentError('It is not the id of a version, which `memory-service log` shows.');
}

/** A commander argument parser for how many at most. */
export function limitArgument(value: string): number {
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('It has to be a whole number from 1.');
}
