/** fast-check arbitraries for POST /execute: bodies and headers that no client should send. */
import fc from 'fast-check';
import { character, wellFormed } from './arbitraries.ts';

export interface RawRequest {
  body: string | Buffer;
  headers: Record<string, string>;
}

const FIELDS = [
  'command',
  'path',
  'old_path',
  'new_path',
  'file_text',
  'old_str',
  'new_str',
  'insert_line',
  'insert_text',
  'view_range',
];
const BLOCK = ['type', 'id', 'name', 'input', 'content', 'is_error'];
const ODD_KEYS = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '',
  'then',
  'toJSON',
  '\u0000',
];
const COMMANDS = ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'];

/** JSON as text, so that it can repeat keys or contain values that JSON.stringify does not write. */
const token: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    'null',
    'true',
    'false',
    '0',
    '-0',
    '1',
    '-1',
    '1.5',
    '1e400',
    '-1e400',
    '1e-400',
    '9007199254740993',
  ),
  fc.constantFrom(
    '123456789012345678901234567890',
    '0.1e1',
    '2147483648',
    '-2147483649',
    '9223372036854775808',
  ),
  fc.constantFrom(
    String.raw`"\ud800"`,
    String.raw`"\udc00\ud800"`,
    String.raw`"\u0000"`,
    String.raw`"/memories/\ud83d"`,
  ),
  fc.constantFrom(
    String.raw`"/memories/\u0000"`,
    '"/memories"',
    '"/memories/a"',
    '"/memories/a/b"',
    '"memory"',
    '"tool_use"',
  ),
  fc.constantFrom(
    '"\uD83D\uDE00"',
    '"\uFFFF\uFFFE"',
    '"/memories/%00"',
    '"/memories/%"',
    `"${'/memories'.repeat(500)}"`,
  ),
  fc.constantFrom(...COMMANDS).map((command) => JSON.stringify(command)),
  fc.string({ unit: character, maxLength: 30 }).map((text) => JSON.stringify(text)),
  fc.string({ unit: character, maxLength: 10 }).map((text) => JSON.stringify(`/memories/${text}`)),
);

const key = fc
  .oneof(
    { weight: 6, arbitrary: fc.constantFrom(...FIELDS) },
    { weight: 2, arbitrary: fc.constantFrom(...BLOCK) },
    { weight: 1, arbitrary: fc.constantFrom(...ODD_KEYS) },
    { weight: 1, arbitrary: fc.string({ unit: character, maxLength: 5 }) },
  )
  .map((text) => JSON.stringify(text));

const { value, object } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 6, arbitrary: token },
    { weight: 1, arbitrary: fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`) },
    { weight: 1, arbitrary: tie('object') },
  ),
  object: fc
    .array(fc.tuple(key, tie('value')), { maxLength: 6 })
    .map((members) => `{${members.map(([name, text]) => `${name}:${text}`).join(',')}}`),
}));

/** A command's fields with values of any type. */
const anyTypes = fc
  .tuple(
    fc.constantFrom(...COMMANDS),
    fc.array(fc.tuple(fc.constantFrom(...FIELDS.slice(1)), value), { maxLength: 5 }),
  )
  .map(([command, fields]) => {
    const members = fields.map(([name, text]) => `${JSON.stringify(name)}:${text}`);
    return `{${[`"command":"${command}"`, ...members].join(',')}}`;
  });

const good = wellFormed.map((input) => JSON.stringify(input));

const deep = fc
  .tuple(
    fc.constantFrom(['[', ']'], ['{"path":', '}'], ['{"__proto__":', '}']),
    fc.constantFrom(50, 1000, 9000),
  )
  .map(([[open, close], n]) => `${open?.repeat(n)}1${close?.repeat(n)}`);

const block = fc
  .tuple(
    fc.oneof(token, fc.constant('"toolu_1"')),
    fc.oneof(token, fc.constant('"memory"')),
    fc.oneof(value, good, anyTypes, deep),
  )
  .map(([id, tool, input]) => `{"type":"tool_use","id":${id},"name":${tool},"input":${input}}`);

const jsonText = fc.oneof(
  { weight: 2, arbitrary: value },
  { weight: 3, arbitrary: object },
  { weight: 8, arbitrary: anyTypes },
  { weight: 4, arbitrary: good },
  { weight: 4, arbitrary: block },
  { weight: 4, arbitrary: fc.array(block, { maxLength: 4 }).map((blocks) => `[${blocks.join(',')}]`) },
  { weight: 1, arbitrary: deep },
  { weight: 1, arbitrary: deep.map((text) => `{"command":"view","path":"/memories","view_range":${text}}`) },
);

/** Bodies with inserted bytes, truncated bodies, and random bytes. */
const brokenBytes = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc.tuple(jsonText, fc.nat(200), fc.uint8Array({ maxLength: 3 })).map(([text, at, bytes]) => {
    const whole = Buffer.from(text);
    return Buffer.concat([whole.subarray(0, at), Buffer.from(bytes), whole.subarray(at)]);
  }),
  fc.tuple(jsonText, fc.nat(100)).map(([text, length]) => Buffer.from(text).subarray(0, length)),
  good.map((text) => Buffer.from(text, 'utf16le')),
  good.map((text) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text)])),
  fc
    .constantFrom(
      '',
      ' ',
      'undefined',
      'NaN',
      "{'command':'view'}",
      'command=view&path=/memories',
      '{"command":"view",}',
    )
    .map(Buffer.from),
);

export const body: fc.Arbitrary<string | Buffer> = fc.oneof(
  { weight: 6, arbitrary: jsonText },
  { weight: 1, arbitrary: brokenBytes },
);

// Any characters that a header can contain on the wire, without line breaks.
const headerText = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((n) => String.fromCharCode(n)),
  maxLength: 40,
});

const odd = (name: string, values: string[]) =>
  fc.oneof(fc.constantFrom(...values), headerText).map((text) => ({ [name]: text }));

const oddHeader = fc.oneof(
  odd('content-type', [
    'text/plain',
    'application/json; charset=utf-16',
    'application/json;charset="utf-8"',
    'application/x-www-form-urlencoded',
    'application/jsonx',
    'multipart/form-data',
    ';',
    'application/json, text/plain',
  ]),
  odd('accept', [
    'text/plain',
    'text/*',
    '*/*',
    'application/json;q=0.1, text/plain',
    'text/html',
    'text/plain;q=0',
    ',',
    'image/png',
    'application/problem+json',
  ]),
  odd('x-tenant-id', [
    'a',
    'a b',
    '',
    '../b',
    'x'.repeat(128),
    'x'.repeat(129),
    'A.b_c:d@e-f',
    "';--",
    '__proto__',
    'constructor',
  ]),
  odd('x-request-id', ['r-1', '', 'x'.repeat(500), '<script>', '"', '{}']),
  odd('content-encoding', ['gzip', 'identity', 'br', 'nonsense']),
  odd('authorization', ['Bearer x', 'Basic !', '']),
  odd('cookie', ['a=b', ';;']),
  odd('origin', ['https://example.com', 'null']),
  odd('range', ['bytes=0-1']),
  odd('if-none-match', ['*']),
  odd('forwarded', ['for=unknown']),
);

export const rawRequest: fc.Arbitrary<RawRequest> = fc
  .tuple(
    body,
    fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(oddHeader, { maxLength: 2 }) },
    ),
  )
  .map(([body, headers]) => ({ body, headers: Object.assign({}, ...headers) as Record<string, string> }));
