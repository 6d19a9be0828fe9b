/**
 * Attacks that stopped the process or blocked other tenants in earlier versions. CI runs all of them in a short form
 * (`npm run test:attacks`). To add an attack, write a file in this directory and list it here.
 */
import type { Environment } from '../environment.ts';
import type { Row } from '../fault-report.ts';
import { crowds } from './crowds.ts';
import { departures } from './departures.ts';
import { differenceShares } from './difference-shares.ts';
import { draftSecrets } from './draft-secrets.ts';
import { draftShares } from './draft-shares.ts';
import { forgedProvenance } from './forged-provenance.ts';
import { guessedPaths } from './guessed-paths.ts';
import { keptOutCosts } from './kept-out-costs.ts';
import { keptOutErasures } from './kept-out-erasures.ts';
import { longRequests } from './long-requests.ts';
import { subscriptions } from './many-subscriptions.ts';
import { mountedRoots } from './mounted-roots.ts';
import { rejectedRequests } from './rejected-requests.ts';
import { replacedTenants } from './replaced-tenants.ts';
import { scopedAdmins } from './scoped-admins.ts';
import { sharedMemories } from './shared-memories.ts';
import { signInCallbacks } from './sign-in-callbacks.ts';
import { unreadResponses } from './unread-responses.ts';

export const attackCases: Record<string, (environment: Environment) => Promise<Row>> = {
  longRequests,
  crowds,
  rejectedRequests,
  departures,
  differenceShares,
  draftShares,
  draftSecrets,
  forgedProvenance,
  guessedPaths,
  keptOutErasures,
  keptOutCosts,
  replacedTenants,
  scopedAdmins,
  sharedMemories,
  signInCallbacks,
  subscriptions,
  unreadResponses,
  mountedRoots,
};
