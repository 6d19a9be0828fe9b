import type { ApiDescription } from '../http/openapi.ts';

export const ADMIN_API: ApiDescription = {
  title: 'Memory service administration',
  description: [
    'Manage a fleet of tenants: settings, keys, usage, and memories, now and in the past. It listens on a port of its own, `ADMIN_PORT`.',
    '**Pages.** A listing has at most `limit` items. Its `next` is null on the last page; otherwise pass it as `after`, with the same other parameters.',
    '**Changes to a file** require a precondition: `If-Match` with the `ETag` of the content that you read, `If-Match: *`, or `If-None-Match: *`. Otherwise you could silently overwrite the change of an agent that writes at the same time.',
    'The history names the admin key as the actor of a change, and the audit trail lists every change by this API, the console and the command line.',
  ].join('\n\n'),
  credential: 'An admin key: `memory-service keys create --admin`. None with `AUTH=none`.',
  tags: [
    { name: 'session', description: 'Who you are.' },
    { name: 'tenants', description: 'Tenants, their settings and what they use.' },
    { name: 'mounts', description: 'Memories of other tenants, shown as directories.' },
    { name: 'keys', description: 'Credentials of tenants, services and administrators.' },
    { name: 'memory', description: 'The files of a tenant, now and in the past.' },
    { name: 'history', description: 'Versions of files, restore and revert.' },
    {
      name: 'drafts',
      description: 'Copies of a memory to work on, to compare with it, and to merge into it.',
    },
    { name: 'audit', description: 'Administrative changes.' },
    { name: 'operations', description: 'Health checks.' },
  ],
};
