/** `npm run dev`: runs the CLI from source, with the settings in .env if the file exists. */
import { existsSync } from 'node:fs';

if (existsSync('.env')) process.loadEnvFile();
await import('../src/main.ts');
