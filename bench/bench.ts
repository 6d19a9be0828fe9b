/** `npm run bench -- NAME`: runs the bench NAME with the remaining arguments. Without a name, it lists all benches. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const benches = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts') && file !== basename(import.meta.filename))
  .map((file) => basename(file, '.ts'));

const [, , name] = process.argv;
if (name === undefined) {
  const lines = benches.map((each) => `  ${each.padEnd(14)}${firstSentence(each)}`);
  process.stdout.write(`Usage: npm run bench -- NAME\n\n${lines.join('\n')}\n`);
} else if (benches.includes(name)) {
  process.argv.splice(2, 1);
  await import(pathToFileURL(join(import.meta.dirname, `${name}.ts`)).href);
} else {
  process.stderr.write(`There is no bench ${name}. Use one of ${benches.join(', ')}.\n`);
  process.exitCode = 1;
}

/** Returns the first sentence in a bench's first comment, without the command at its start. */
function firstSentence(bench: string): string {
  const text = readFileSync(join(import.meta.dirname, `${bench}.ts`), 'utf8');
  const comment = /^\/\*\*([\s\S]*?)\*\//.exec(text)?.[1] ?? '';
  const [sentence = ''] = comment
    .replace(/\s*\n ?\*?\s*/g, ' ')
    .trim()
    .split(/(?<=\.) /, 1);
  return sentence.replace(/^`[^`]*`:\s*/, '');
}
