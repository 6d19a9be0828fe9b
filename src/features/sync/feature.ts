import type { Feature } from '../../core/feature.ts';
import { syncCommand } from './cli/sync-command.ts';
import { listHashes } from './hash-operation.ts';

/** A local directory and a memory with the same files. */
export const sync: Feature = {
  name: 'sync',
  uses: ['memory-stores'],
  operations: [listHashes],
  commands: [syncCommand],
};
