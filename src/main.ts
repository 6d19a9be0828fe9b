#!/usr/bin/env node
import { printLine } from './cli/output.ts';
import { runProgram } from './cli/program.ts';
import { findService, openPlace, openSession } from './database/open.ts';
import { version } from './lib/version.ts';

const notify = (line: string) => printLine(process.stderr, line);

// Node's own listener adds a hint to trace the warning. Deprecations are for the authors of the service.
process.removeAllListeners('warning');
process.on('warning', ({ name, message }) => {
  if (name !== 'DeprecationWarning' && name !== 'ExperimentalWarning')
    notify(`Warning: ${message.replaceAll('\n', ' ')}`);
});

const code = await runProgram(process.argv.slice(2), {
  version,
  findService: () => findService(process.env),
  open: () => openSession(process.env, { notify }),
  openMigrated: () => openSession(process.env, { notify, migrate: true }),
  openPlace: (place, { migrate }) => openPlace(process.env, place, { notify, migrate }),
  // Imported on demand: loading the server takes longer than most commands.
  serve: async () => (await import('./server.ts')).serve(process.env),
  io: process,
  env: process.env,
});
// Not after success: a service runs on, and output may still be on its way.
if (code !== 0) process.exit(code);
