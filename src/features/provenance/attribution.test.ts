import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attributeLines, type Step } from './attribution.ts';

const attribute = (content: string, steps: readonly Step[], isComplete = true) =>
  Array.from(attributeLines([{ content, steps, isComplete }]).writers[0] ?? []);

const whole = (text: string): Step => ({ start: 0, length: null, text });

describe('attributeLines', () => {
  it('attributes all lines to the only version', () => {
    expect(attribute('one\ntwo\n', [])).toStrictEqual([0, 0, 0]);
  });

  it('attributes lines to that version or an earlier one if the first version is missing', () => {
    expect(attribute('one\ntwo', [], false)).toStrictEqual([~0, ~0]);
    expect(attribute('one\nzwei', [whole('one\ntwo')], false)).toStrictEqual([~1, 0]);
  });

  it('applies splices with offsets in bytes', () => {
    const steps = [
      { start: 3, length: 5, text: 'two' },
      { start: 0, length: 2, text: 'one' },
    ];
    expect(attribute('é\nzwei\nthree', [{ start: 3, length: 4, text: 'two' }])).toStrictEqual([1, 0, 1]);
    expect(attribute('é\nzweis', steps)).toStrictEqual([1, 0]);
  });

  it('keeps the lines between two changed lines', () => {
    expect(attribute('A\nb\nc\nD', [whole('a\nb\nc\nd')])).toStrictEqual([0, 1, 1, 0]);
  });

  it('attributes all lines between the changed ends to a change of more than 100 lines', () => {
    const lines = (prefix: string) =>
      Array.from({ length: 51 }, (_, i) => `${prefix}${i}\nsame${i}`).join('\n');
    const writers = attribute(`first\n${lines('a')}\nlast`, [whole(`first\n${lines('b')}\nlast`)]);
    expect(writers).toStrictEqual([1, ...Array.from({ length: 101 }, () => 0), 1, 1]);
  });

  it('leaves lines unknown once the work exceeds the limit', () => {
    const steps = [whole('one'), whole('one'), whole('one')];
    const histories = ['one', 'two'].map((content) => ({ content, steps, isComplete: true }));
    const { writers, isWithinLimit } = attributeLines(histories, 80);
    expect(writers.map((each) => Array.from(each))).toStrictEqual([[~2], [~0]]);
    expect(isWithinLimit).toBe(false);
    expect(attributeLines(histories, 1000).isWithinLimit).toBe(true);
  });

  it('finds the writer of each line after random edits', () => {
    const edit = fc.record({ at: fc.nat(12), removed: fc.nat(3), added: fc.nat(3) });
    fc.assert(
      fc.property(fc.array(edit, { maxLength: 20 }), (edits) => {
        let lines = [{ text: 'v0-0', version: 0 }];
        const texts = ['v0-0'];
        for (const [i, { at, removed, added }] of edits.entries()) {
          const version = i + 1;
          const fresh = Array.from({ length: added }, (_, n) => ({ text: `v${version}-${n}`, version }));
          lines = lines.toSpliced(at, removed, ...fresh);
          if (lines.length === 0) lines = [{ text: `v${version}-all`, version }];
          texts.push(lines.map(({ text }) => text).join('\n'));
        }
        const [content = '', ...older] = texts.reverse();
        expect(attribute(content, older.map(whole))).toStrictEqual(
          lines.map(({ version }) => edits.length - version),
        );
      }),
    );
  });
});
