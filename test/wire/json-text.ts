// JSON as text, the way strange servers write it: any member order, blanks anywhere, numbers and strings
// in spellings that JavaScript would not give back. Made as text, so that bytes can be compared.
import fc from 'fast-check';

const blanks: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.string({ unit: fc.constantFrom(' ', '\n', '\r', '\t'), maxLength: 3 }) },
);

const numbers = fc.oneof(
  fc.constantFrom('0', '-0', '1.0', '1e400', '9007199254740993', '123456789012345678901234567890', '1E+2', '-3.50'),
  fc.integer().map(String),
);

/** Texts that look like the members a careless reader would look for. */
const TRAPS = [
  '","id":5}',
  ',"id":5}',
  '\\',
  '\\"',
  '"id":5}',
  '{"result":1}',
  ']]}}',
  'é漢😀',
  '\u2028',
  '',
  'keybearer/origin',
  '"_meta":{',
];

const text = fc.oneof(
  fc.constantFrom(...TRAPS),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.string({ maxLength: 200, size: 'max' }),
);

/** Some writers escape everything that is not plain. */
const asciiOf = (value: string): string =>
  JSON.stringify(value).replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

const strings = fc
  .tuple(text, fc.boolean())
  .map(([value, isAscii]) => (isAscii ? asciiOf(value) : JSON.stringify(value)));

const NAMES = [
  'id',
  'result',
  'error',
  'method',
  '_meta',
  'resultType',
  'progressToken',
  'content',
  'text',
  '',
  'a"b',
  'größe',
];

const keys = fc.oneof(fc.constantFrom(...NAMES), fc.string({ maxLength: 6 }));

/** Joins with blanks anywhere that JSON allows them. */
const spaced = (pieces: readonly string[], gaps: readonly string[]): string =>
  pieces.map((piece, at) => (gaps[at % Math.max(1, gaps.length)] ?? '') + piece).join('');

const gaps = fc.array(blanks, { minLength: 1, maxLength: 5 });

/** Text of an object from its members' texts. */
export function objectText(members: readonly (readonly [string, string])[], between: readonly string[] = ['']): string {
  const pieces = members.flatMap(([key, value], at) => [...(at === 0 ? [] : [',']), JSON.stringify(key), ':', value]);
  return spaced(['{', ...pieces, '}'], between);
}

const { value } = fc.letrec<{ value: string; object: string; list: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    strings,
    numbers,
    fc.constantFrom('true', 'false', 'null'),
    tie('object'),
    tie('list'),
  ),
  object: fc
    .tuple(fc.uniqueArray(fc.tuple(keys, tie('value')), { selector: ([key]) => key, maxLength: 4 }), gaps)
    .map(([members, between]) => objectText(members, between)),
  list: fc
    .tuple(fc.array(tie('value'), { maxLength: 4 }), gaps)
    .map(([items, between]) =>
      spaced(['[', ...items.flatMap((item, at) => (at === 0 ? [item] : [',', item])), ']'], between),
    ),
}));

export const jsonValues: fc.Arbitrary<string> = value;

/** Members with different keys, and the blanks between them. */
export const jsonObjects = fc
  .tuple(fc.uniqueArray(fc.tuple(keys, value), { selector: ([key]) => key, maxLength: 5 }), gaps)
  .map(([members, between]) => ({ members, text: objectText(members, between) }));

export const between = gaps;

/** Parsed with every number kept as it was spelled, so that a rounded one is seen. */
export function parseSpelled(json: string): unknown {
  // A number stands outside of strings only; strings are passed over whole.
  const quoted = json.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/gs, (token) =>
    token.startsWith('"') ? token : `{"number":"${token}"}`,
  );
  return JSON.parse(quoted) as unknown;
}
