import { describe, expect, it } from 'vitest';
import { executeCommand } from './commands/index.ts';
import { invalidPath, MAX_QUOTED_CHARS, quoteText } from './messages.ts';
import { MAX_RAW_PATH_BYTES, parsePath } from './path.ts';

const rejection = (given: string) => {
  const parsed = parsePath(given);
  return parsed.ok ? undefined : invalidPath(parsed.problem);
};

describe('an overlong path', () => {
  it.each([
    ['slashes', `/memories${'/'.repeat(MAX_RAW_PATH_BYTES)}`, 4105],
    ['letters outside the root', 'x'.repeat(5000), 5000],
    ['an escape', `/memories/../${'x'.repeat(5000)}`, 5013],
    ['two-byte characters', `/memories/${'é'.repeat(2048)}`, 4106],
    ['combining marks', `/memories/${'\u0301\u0323'.repeat(2 ** 17)}`, 524_298],
    ['percent signs', `/memories/${'%25'.repeat(2_000_000)}`, 6_000_010],
    ['format characters', `/memories/${'\u{e0001}'.repeat(1_500_000)}`, 6_000_010],
  ])('rejects an overlong path by its length before it is parsed: %s', (_title, given, bytes) => {
    expect(rejection(given)).toBe(`Error: Path is too long: ${bytes} bytes (limit 1024)`);
  });
});

describe('a path within the length limit', () => {
  it('accepts a path that is too long if its canonical form is short enough', () => {
    const given = `/memories${'/'.repeat(MAX_RAW_PATH_BYTES - 10)}a`;
    expect(parsePath(given)).toStrictEqual({ ok: true, path: '/memories/a' });
  });

  it('rejects a path with the error for the first rule that it breaks', () => {
    const long = 'x'.repeat(2000);
    expect(rejection(`/other/${long}`)).toBe(`Error: Path must start with /memories, got: /other/${long}`);
    expect(rejection(`/memories/../${long}`)).toBe(
      `Error: Path /memories/../${long} would escape /memories directory`,
    );
    expect(rejection(`/memories/\n${long}`)).toBe(
      `Error: Path "/memories/\\n${long}" contains a character that is not allowed: U+000A`,
    );
    expect(rejection(`/memories/${long}`)).toBe('Error: Path is too long: 2010 bytes (limit 1024)');
  });

  it('accepts a path in any Unicode normalization form', () => {
    // Hangul syllables shrink the most under NFC: from nine bytes to three.
    const segments = Array.from({ length: 4 }, () => '\ud55c'.repeat(84)).join('/');
    const path = `/memories/${segments}`;
    expect(Buffer.byteLength(path)).toBeGreaterThan(1000);
    expect(parsePath(path.normalize('NFD'))).toStrictEqual({ ok: true, path });
  });
});

describe('a quoted text', () => {
  it('quotes a short text unchanged, and cuts a long text between two characters', () => {
    const whole = 'x'.repeat(MAX_QUOTED_CHARS);
    expect(quoteText(whole)).toBe(whole);
    expect(quoteText(`${whole}y`)).toBe(`${whole}[… 1 more characters]`);
    const pair = `${'x'.repeat(MAX_QUOTED_CHARS - 1)}😀`;
    expect(quoteText(pair)).toBe(`${'x'.repeat(MAX_QUOTED_CHARS - 1)}[… 2 more characters]`);
  });
});

it('does not quote a command in the error if the command is not a string', async () => {
  const command = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`);
  for (const each of [command, { a: command }, []]) {
    expect(await executeCommand(undefined, { command: each }, {} as never)).toStrictEqual({
      content: 'Error: Invalid input for memory: `command` must be a string',
      isError: true,
    });
  }
});
