/** `npm run dev`: the command line from source, with the settings of .env where there is one. */
import { existsSync } from 'node:fs';

if (existsSync('.env')) process.loadEnvFile();
await import('../src/main.ts');
