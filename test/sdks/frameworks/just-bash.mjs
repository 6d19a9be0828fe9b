/** Runs just-bash commands on a memory and on its in-memory filesystem, and compares their output. */
import assert from 'node:assert/strict';
import { Bash, DefenseInDepthBox, InMemoryFs, MountableFs } from 'just-bash';
import { MemoryClient } from 'memory-service-client';
import { MemoryFileSystem } from 'memory-service-client/just-bash';

const memory = new MemoryClient({
  url: process.env.MEMORY_SERVICE_URL,
  apiKey: process.env.MEMORY_SERVICE_API_KEY,
  tenant: process.env.MEMORY_SERVICE_TENANT,
});
const bashWith = (fs) => {
  const mounted = new MountableFs();
  mounted.mount('/memories', fs);
  return new Bash({ fs: mounted, cwd: '/memories' });
};
const ours = bashWith(new MemoryFileSystem(memory, { DefenseInDepthBox }));
const theirs = bashWith(new InMemoryFs());

const COMMANDS = [
  'ls',
  'cat missing.md',
  "printf 'Likes tea.\\nLives in Lyon – 里昂.\\n' > user.md",
  'cat user.md',
  'echo "Speaks French." >> user.md; wc user.md',
  'mkdir -p projects/web empty; ls; ls -d empty/',
  'mkdir projects',
  'echo "port 5433" > projects/web/notes.md',
  'echo hidden > projects/.hidden',
  'ls -A projects',
  'find . -type f | sort',
  'find . -type d | sort',
  'grep -rn port .',
  'rg -n tea . | sort',
  'sed -i s/5433/5434/ projects/web/notes.md && cat projects/web/notes.md',
  'echo projects/*/*.md user.*',
  'cp user.md copy.md && diff user.md copy.md && cat copy.md',
  'cp -r projects archive && find archive -type f | sort',
  'mv copy.md moved.md; ls',
  'mv moved.md projects/web/notes.md; cat projects/web/notes.md',
  'mv archive/web renamed && find renamed archive | sort',
  'rm projects',
  'rm -r projects && ls',
  'rmdir empty; ls',
  'rm missing.md',
  'rm -f missing.md; echo $?',
  'cat renamed',
  'cd renamed && pwd && cat notes.md',
  'touch new.md && test -f new.md && stat -c "%s %F" new.md',
  '[ -e user.md ] && [ ! -e nothing ] && [ -d renamed ] && echo yes',
  'jq -n "{a: 1}" > data.json && jq .a data.json',
  'sort user.md | head -n 1 | tee first.txt',
  'tail -n +2 user.md',
  'ls nowhere',
  'tree renamed',
  'du -a renamed | sort -k 2 | cut -f 2',
];
const shown = ({ stdout, stderr, exitCode }) => ({ stdout, stderr, exitCode });
for (const command of COMMANDS) {
  const [given, expected] = [await ours.exec(command), await theirs.exec(command)];
  assert.deepEqual(shown(given), shown(expected), command);
}
console.log(`${COMMANDS.length} commands as on InMemoryFs`);

// A file that the memory tool changed is read again.
await memory.execute({
  command: 'str_replace',
  path: '/memories/user.md',
  old_str: 'tea',
  new_str: 'coffee',
});
console.log((await ours.exec('head -n 1 user.md')).stdout.trim());

// A rejected write fails its command. just-bash ends the script if the write is a redirection.
const reader = new MemoryClient({
  url: process.env.MEMORY_SERVICE_URL,
  apiKey: process.env.MEMORY_SERVICE_READ_KEY,
  tenant: process.env.MEMORY_SERVICE_TENANT,
});
const readOnly = bashWith(new MemoryFileSystem(reader, { DefenseInDepthBox }));
const outcome = (bash, command) =>
  bash.exec(command).then(
    ({ stdout, stderr }) => stdout + stderr,
    ({ message }) => message,
  );
for (const [bash, command] of [
  [readOnly, 'head -n 1 user.md'],
  [readOnly, 'cp user.md other.md'],
  [readOnly, 'echo x > other.md'],
  [ours, 'echo x > user.md/below'],
  [ours, 'gzip -c user.md > bytes.gz'],
]) {
  console.log(`${command}: ${(await outcome(bash, command)).trim()}`);
}
