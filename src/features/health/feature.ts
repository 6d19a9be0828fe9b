import { operationsIn } from '../../core/admin/admin-operation.ts';
import type { Feature } from '../../core/feature.ts';
import { healthCommand } from './cli/health-command.ts';
import * as operations from './health-operations.ts';

/** Findings about a memory's files, each with the command that helps. */
export const health: Feature = {
  name: 'health',
  uses: ['secrets'],
  operations: operationsIn(operations),
  commands: [healthCommand],
};
