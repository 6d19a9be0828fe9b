import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseBlocks, TooComplexInput } from './json-limits.ts';

const head = (n: number) => ({ type: 'tool_use', id: `toolu_${n}`, name: 'memory' });
const block = (n: number, input: unknown) => ({ ...head(n), input });
const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
const levels = new TooComplexInput('levels');
const values = new TooComplexInput('values');

describe('parseBlocks', () => {
  it("replaces a block's input if the block nests too deeply, and keeps the other blocks", () => {
    const fits = block(1, { deep: nested(29) });
    const blocks = [fits, block(2, { deep: nested(30) }), block(3, {})];
    expect(parseBlocks(JSON.stringify(blocks))).toStrictEqual([
      fits,
      { ...head(2), input: levels },
      blocks[2],
    ]);
  });

  it('replaces the input if the body is a single block that nests too deeply', () => {
    expect(parseBlocks(` ${JSON.stringify(block(1, { deep: nested(31) }))} `)).toStrictEqual({
      ...head(1),
      input: levels,
    });
    expect(parseBlocks(JSON.stringify(block(1, { deep: nested(30) })))).toStrictEqual(
      block(1, { deep: nested(30) }),
    );
  });

  it('counts values over all blocks, and replaces the input in each block that would exceed the limit', () => {
    const blocks = [3000, 3000, 1000].map((n, i) => block(i, { many: Array(n).fill(0) }));
    expect(parseBlocks(JSON.stringify(blocks))).toStrictEqual([
      blocks[0],
      { ...head(1), input: values },
      blocks[2],
    ]);
  });

  it('finds the ID after the input, and ignores unknown members and text that looks like an ID', () => {
    const json = `[{"x":{"id":"a"},"text":"],\\"id\\":\\"b\\"","input":${'['.repeat(50)}${']'.repeat(50)} , "id" : "c","type":"tool_use","name":"memory"}]`;
    expect(parseBlocks(json)).toStrictEqual([{ id: 'c', type: 'tool_use', name: 'memory', input: levels }]);
  });

  it.each([
    ['brackets that do not match', `[{"type":"tool_use","id":"a","input":${'['.repeat(50)}`],
    ['text after the array', `[${JSON.stringify(block(1, nested(40)))}] 1`],
    ['a bare input', JSON.stringify({ command: 'view', path: nested(40) })],
    ['an array of arrays', JSON.stringify([nested(40)])],
    ['more blocks than a request may hold', JSON.stringify(Array(33).fill(block(1, nested(40))))],
    ['a block that fits and is not JSON', `[${JSON.stringify(block(1, nested(40)))},{"id":}]`],
    ['nothing', ''],
  ])('returns undefined for %s', (_title, json) => {
    expect(parseBlocks(json)).toBeUndefined();
  });

  it('parses blocks within the limits as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 4 }), { minLength: 1, maxLength: 5 }), (inputs) => {
        const json = JSON.stringify(inputs.map((input, i) => block(i, input)));
        expect(parseBlocks(json)).toStrictEqual(JSON.parse(json));
      }),
      { numRuns: 200 },
    );
  });
});
