import type { ApiDescription } from '../http/openapi.ts';

export const ADMIN_API: ApiDescription = {
  title: 'Memory service administration',
  description: [
    'Run a fleet of tenants: their settings, keys and usage, their memory now and in the past. It has a port of its own, `ADMIN_PORT`.',
    '**Pages.** A listing has at most `limit` items. Its `next` is null on the last page; otherwise give it back as `after`, with the same other parameters.',
    '**Changes of a file** say what they are based on: `If-Match` with the `ETag` of what was read, `If-Match: *`, or `If-None-Match: *`. Otherwise an agent that writes at the same time would lose its change without a trace.',
    'The history names the admin key as the actor of a change, and the audit trail lists every change by this API, the console and the command line.',
  ].join('\n\n'),
  credential: 'An admin key: `memory-service keys create --admin`. None with `AUTH=none`.',
  tags: [
    { name: 'session', description: 'Who you are.' },
    { name: 'tenants', description: 'Tenants, their settings and what they use.' },
    { name: 'keys', description: 'Credentials of tenants, services and administrators.' },
    { name: 'memory', description: 'The files of a tenant, now and in the past.' },
    { name: 'history', description: 'Versions of files, and how to go back.' },
    { name: 'audit', description: 'What administrators changed.' },
    { name: 'operations', description: 'Whether the service works.' },
  ],
};
