import { operationsIn } from '../../core/admin/operation.ts';
import type { Feature } from '../../core/feature.ts';
import { exportCommand, importCommand } from './cli/archives.ts';
import { pushCommand } from './cli/hosted.ts';
import { migrateDataCommand } from './cli/migrate-data.ts';
import * as operations from './operations.ts';

/** Memories as archives, from and to hosted memory stores, and in another database. */
export const archive: Feature = {
  name: 'archive',
  uses: ['secrets'],
  operations: operationsIn(operations),
  commands: [exportCommand, importCommand, pushCommand, migrateDataCommand],
};
