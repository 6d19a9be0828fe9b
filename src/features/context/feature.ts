import { operationsIn } from '../../core/admin/admin-operation.ts';
import type { Feature } from '../../core/feature.ts';
import { contextCommand } from './cli/context-command.ts';
import * as operations from './context-operation.ts';

/** Texts for an agent before its first token: guidance for the system prompt, and a snapshot of the memory. */
export const context: Feature = {
  name: 'context',
  uses: [],
  operations: operationsIn(operations),
  commands: [contextCommand],
  async start({ services }) {
    const { contextRoute, contextText } = await import('./context-route.ts');
    return {
      text: contextText(services),
      agentRoutes: (app) => contextRoute(app, services),
    };
  },
};
