/**
 * Truncation at MAX_VIEW_CHARS: results stay within the limit, are truncated only if necessary, and their hints lead to
 * every line.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { fuzzParameters } from '../support/arbitraries.ts';
import { Model } from '../support/model.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const MAX_VIEW_CHARS = 400;

// The longest lines exceed MAX_VIEW_CHARS on their own.
const line = fc.oneof(
  { weight: 20, arbitrary: fc.nat(60).map((n) => 'word '.repeat(12).slice(0, n)) },
  { weight: 2, arbitrary: fc.nat(150).map((n) => '😀'.repeat(n)) },
  { weight: 1, arbitrary: fc.nat(900).map((n) => 'x'.repeat(n)) },
);
const content = fc.array(line, { maxLength: 60 }).map((lines) => lines.join('\n'));

const HINT =
  /^\[Truncated: showing lines (\d+) to (\d+) of (\d+)\. Use view_range \[(\d+), -1\] to read the rest\.\]$/;
const NUMBERED = /^ {0,5}(\d+)\t(.*)$/s;

describeService(
  'a view longer than MAX_VIEW_CHARS',
  (service) => {
    it('returns the rest of a truncated file if the caller follows the hints', {
      tags: 'random',
    }, async () => {
      await fc.assert(
        fc.asyncProperty(content, async (file_text) => {
          const tenant = freshTenant();
          const model = new Model();
          const create = { command: 'create', path: '/memories/f', file_text };
          model.run(create);
          await service().execute(create, { tenant });

          const lines = file_text.split('\n');
          const read: string[] = [];
          for (let next: number | undefined = 1; next !== undefined; ) {
            const input: object = { command: 'view', path: '/memories/f', view_range: [next, -1] };
            const { content, is_error } = await service().execute(input, { tenant });
            expect(is_error).toBe(false);
            expect(content.length).toBeLessThanOrEqual(MAX_VIEW_CHARS);
            expect(content.isWellFormed()).toBe(true);
            const whole = model.run(input).content;
            if (whole.length <= MAX_VIEW_CHARS) expect(content).toBe(whole);

            const [header, ...shown] = content.split('\n');
            expect(header).toBe("Here's the content of /memories/f with line numbers:");
            const hint = shown.at(-1)?.startsWith('[Truncated: ') ? (shown.pop() ?? '') : undefined;
            expect(shown.length).toBeGreaterThan(0);
            for (const text of shown) {
              const [, number, line] = NUMBERED.exec(text) ?? [];
              expect(Number(number)).toBe(read.length + 1);
              read.push(line ?? '');
            }
            if (hint === undefined) break;
            const [, from, to, total, rest] = HINT.exec(hint) ?? [];
            if (to !== undefined) {
              expect([from, to, total, rest].map(Number)).toEqual([
                next,
                read.length,
                lines.length,
                read.length + 1,
              ]);
            } else {
              // A single overlong line is cut inside, and the hint continues with the next line.
              expect(shown).toHaveLength(1);
              expect(lines[next - 1]?.startsWith(read.at(-1) ?? '-')).toBe(true);
              expect(hint).toMatch(/^\[Truncated: .*\]$/);
              read[next - 1] = lines[next - 1] ?? '';
            }
            next = read.length < lines.length ? read.length + 1 : undefined;
            if (next) expect(hint).toContain(`Use view_range [${next}, -1] to read the rest.]`);
          }
          expect(read).toEqual(lines);
        }),
        fuzzParameters(60),
      );
    });

    it('truncates a directory listing between entries', { tags: 'random' }, async () => {
      const names = fc.uniqueArray(fc.constantFrom(...'abcdefghijklmnop'), { maxLength: 16 });
      await fc.assert(
        fc.asyncProperty(names, names, async (top, below) => {
          const tenant = freshTenant();
          const model = new Model();
          const paths = [
            ...top.map((name) => `/memories/${name}`),
            ...below.map((name) => `/memories/dir/${name}`),
          ];
          for (const path of paths) {
            const input = { command: 'create', path, file_text: path };
            model.run(input);
            await service().execute(input, { tenant });
          }
          const view = { command: 'view', path: '/memories' };
          const whole = model.run(view).content;
          const { content } = await service().execute(view, { tenant });
          if (whole.length <= MAX_VIEW_CHARS) {
            expect(content).toBe(whole);
            return;
          }
          expect(content.length).toBeLessThanOrEqual(MAX_VIEW_CHARS);
          const entries = whole.split('\n').slice(2);
          const shown = content.split('\n').slice(2, -1);
          expect(shown).toEqual(entries.slice(0, shown.length));
          expect(content.split('\n').at(-1)).toBe(
            `[Truncated: showing ${shown.length} of ${entries.length} entries. View a subdirectory to see the rest.]`,
          );
        }),
        fuzzParameters(40),
      );
    });
  },
  { MAX_VIEW_CHARS: String(MAX_VIEW_CHARS) },
);
