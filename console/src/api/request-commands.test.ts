import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { type ApiRequest, post, remove } from './api-client.ts';
import { quoteWord, toCommandLine, toCurl } from './request-commands.ts';

const BASE = 'https://admin.example.com/console/index.html';
const NASTY = [
  "it's",
  '',
  '-n',
  '$HOME `id` $(id) "x" \\ ! # ~ * ? [a] {b,c}',
  'two\nlines\n',
  '\u001b[31mred\u202eevil\u{e0041}',
  'üñí ',
  '%s%n\\033',
  "'; rm -rf / #",
];

// The programs that the commands call print their arguments and standard input, each between NUL bytes.
const directory = mkdtempSync(join(tmpdir(), 'commands-'));
afterAll(() => rmSync(directory, { recursive: true }));
for (const [name, input] of [
  ['curl', 'cat'],
  ['memory-service', 'cat'],
  ['print', ':'],
]) {
  const script = `#!/bin/sh\nprintf '%s\\0' "$@"\n[ "$INPUT" = yes ] && ${input}\nprintf '\\0%s' "$MEMORY_ADMIN_URL $MEMORY_ADMIN_KEY"\n`;
  writeFileSync(join(directory, String(name)), script);
  chmodSync(join(directory, String(name)), 0o755);
}

/** Runs a command in a POSIX shell, and returns the program's arguments. */
function run(command: string, hasInput = false): string[] {
  const env = { PATH: `${directory}:${process.env.PATH}`, ADMIN_KEY: 'msk_x', INPUT: hasInput ? 'yes' : '' };
  return execFileSync('sh', ['-c', command], { env, encoding: 'utf8' }).split('\0');
}

it('quotes each word so that a shell passes it on unchanged', () => {
  const words = NASTY.map(quoteWord);
  expect(run(`print ${words.join(' ')}`).slice(0, NASTY.length)).toStrictEqual(NASTY);
  expect(words.join('')).toMatch(/^[\n\x20-\x7eüñí]*$/);
});

it('writes a request as a curl command that reads the key from a variable', () => {
  const request: ApiRequest = {
    method: 'POST',
    path: 'tenants/acme/rename',
    query: { dry_run: true },
    json: { to: "o'hara" },
  };
  expect(toCurl(request, BASE)).toBe(
    [
      `curl -X POST 'https://admin.example.com/console/v1/tenants/acme/rename?dry_run=true' \\`,
      `  -H "Authorization: Bearer $ADMIN_KEY" \\`,
      `  -H 'Content-Type: application/json' \\`,
      `  -d '{"to":"o'\\''hara"}'`,
    ].join('\n'),
  );
});

it.each(NASTY)("quotes a request's JSON for a shell: %j", (text) => {
  const request: ApiRequest = post('find', { text });
  const [method, verb, url, , authorization, , type, , json = ''] = run(toCurl(request, BASE));
  expect([method, verb, url, authorization, type]).toStrictEqual([
    '-X',
    'POST',
    'https://admin.example.com/console/v1/find',
    'Authorization: Bearer msk_x',
    'Content-Type: application/json',
  ]);
  expect(JSON.parse(json)).toStrictEqual({ text });
});

it("passes a file's content on standard input, because curl takes an argument with @ as a file name", () => {
  const request: ApiRequest = {
    method: 'PUT',
    path: 'tenants/a/file',
    query: { path: '/memories/a b.md' },
    headers: { 'if-none-match': '*' },
    body: '@/etc/passwd\n',
  };
  const [, , url, , , , header, option, source, input] = run(toCurl(request, BASE), true);
  expect([url, header, option, source, input]).toStrictEqual([
    'https://admin.example.com/console/v1/tenants/a/file?path=%2Fmemories%2Fa+b.md',
    'if-none-match: *',
    '--data-binary',
    '@-',
    '@/etc/passwd\n',
  ]);
  const put = run(toCommandLine(request, BASE) ?? '', true);
  expect(put).toStrictEqual([
    'put',
    'a',
    '/memories/a b.md',
    '@/etc/passwd\n',
    'https://admin.example.com/console/ msk_x',
  ]);
});

it.each(NASTY.filter((text) => text !== ''))("quotes a command's arguments for a shell: %j", (text) => {
  const request: ApiRequest = post('find', {
    text,
    mode: 'literal',
    exact: true,
    ignore_case: true,
    by: text,
    tenants: { found_by: 'JOB', except: ['-a'] },
  });
  const words = run(toCommandLine(request, BASE) ?? '').slice(0, -2);
  const isDashed = text.startsWith('-');
  const by = isDashed ? [`--by=${text}`] : ['--by', text];
  const options = [
    '--mode',
    'literal',
    '--exact',
    '--ignore-case',
    ...by,
    '--except=-a',
    '--found-by',
    'JOB',
  ];
  expect(words).toStrictEqual(isDashed ? ['find', ...options, '--', text] : ['find', text, ...options]);
});

it('passes the text to erase on standard input, so that other users cannot see it', () => {
  const json = {
    text: "a'b\n",
    ignore_case: true,
    replacement: '',
    keep_out: true,
    dry_run: false,
    tenants: {},
  };
  const words = run(toCommandLine({ method: 'POST', path: 'erase', json }, BASE) ?? '', true).slice(0, -1);
  expect(words).toStrictEqual([
    'erase',
    '--ignore-case',
    '--replacement',
    '',
    '--keep-out',
    '--yes',
    '--all',
    '--',
    '-',
    "a'b\n\n",
  ]);
});

it('offers no command for a request that only the API can make', () => {
  expect(toCommandLine(post('jobs/x/apply'), BASE)).toBeNull();
  expect(toCommandLine(remove('keys/x/previous-secret'), BASE)).toBeNull();
  const resolutions = [{ memory_id: 'x', take: 'current' }];
  const json = { by: 'x', since: '1h', resolutions };
  expect(toCommandLine({ method: 'POST', path: 'tenants/a/revert', json }, BASE)).toBeNull();
});
