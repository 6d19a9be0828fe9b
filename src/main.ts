#!/usr/bin/env node
import { printLine } from './core/cli/output.ts';
import { findService, openPlace, openSession } from './core/database/open-database.ts';
import { version } from './core/lib/service-version.ts';
import { runProgram } from './service/program.ts';

const notify = (line: string) => printLine(process.stderr, line);

// Node's listener adds a hint about tracing the warning. Deprecation warnings are only for developers of the service.
process.removeAllListeners('warning');
process.on('warning', ({ name, message }) => {
  if (name !== 'DeprecationWarning' && name !== 'ExperimentalWarning')
    notify(`Warning: ${message.replaceAll('\n', ' ')}`);
});

const code = await runProgram(process.argv.slice(2), {
  version,
  findService: () => findService(process.env),
  // The import is deferred, because most services are not needed for a command on another host, or for help.
  connectLocally: async () => {
    const { localCaller } = await import('./service/local-caller.ts');
    return localCaller(() => openSession(process.env, { notify }), process)();
  },
  openMigrated: () => openSession(process.env, { notify, migrate: true }),
  openPlace: (place, { migrate }) => openPlace(process.env, place, { notify, migrate }),
  // The import is deferred because loading the server takes longer than most commands.
  serve: async () => (await import('./service/server.ts')).serve(process.env),
  io: process,
  env: process.env,
});
// After a success, the process must not exit: the service continues to run, or output may be pending.
if (code !== 0) process.exit(code);
