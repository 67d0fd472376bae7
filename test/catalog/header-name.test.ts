// T24: which headers and scheme words an admin may choose, kind by kind, in whatever case they are written.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { headerNameProblem, headerValueProblem, schemeProblem } from '../../src/catalog/header-name.ts';

/** RFC 9110 §7.6.1 and what browsers and proxies treat as such. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
/** Where a request goes, where it ends, and whether it is sent at all. */
const FRAMING = ['content-length', 'content-encoding', 'expect', 'host'];
const COOKIES = ['cookie', 'cookie2', 'set-cookie'];
/** Written by whoever speaks MCP. */
const TRANSPORT = [
  'accept',
  'accept-encoding',
  'content-type',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-param-region',
  'mcp-protocol-version',
  'mcp-session-id',
  'mcp-',
];

const inAnyCase = (name: string): fc.Arbitrary<string> =>
  fc
    .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
    .map((upper) => [...name].map((c, at) => (upper[at] === true ? c.toUpperCase() : c)).join(''));

describe('the name of a header', () => {
  it.each([...HOP_BY_HOP, ...FRAMING, ...COOKIES, ...TRANSPORT])('T24: is never %s, in whatever case', (name) => {
    fc.assert(
      fc.property(inAnyCase(name), (written) => {
        expect(headerNameProblem(written)).toContain('may not be set');
      }),
      { numRuns: 20 },
    );
  });

  it.each(['authorization', 'X-Api-Key', 'mcp', 'x-mcp-key', 'hostname', 'x-cookie', 'a', "!#$%&'*+-.^_`|~09"])(
    'may be %s',
    (name) => {
      expect(headerNameProblem(name)).toBeUndefined();
    },
  );

  it('T24: is a token, or refused without being repeated', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 8 }), fc.string({ maxLength: 8 }), (before, after) => {
        const name = `${before}x-canary-5be1${after}`;
        const problem = headerNameProblem(name);
        if (problem === undefined) expect(name).toMatch(/^[\w!#$%&'*+.^`|~-]+$/);
        else expect(problem).not.toContain('canary');
      }),
    );
  });
});

describe('the word before a credential', () => {
  it.each(['Bearer', 'Token', '', 'Api-Key', 'x'.repeat(64)])('may be %j', (scheme) => {
    expect(schemeProblem(scheme)).toBeUndefined();
  });

  it.each(['Bearer ', ' Bearer', 'a b', 'Bearer\r\nx-evil:', 'a:', '{token}', 'Bearer {token}', 'a\u0000', 'é', '"a"'])(
    'T24: is one word, so there is no template in which a key could stand twice or nowhere: %j',
    (scheme) => {
      expect(schemeProblem(scheme)).toBeDefined();
    },
  );

  it('is not longer than 64 characters', () => {
    expect(schemeProblem('x'.repeat(65))).toBeDefined();
  });
});

describe('the value of a header', () => {
  it('T24: has 8 KiB at most', () => {
    expect(headerValueProblem('x'.repeat(8_192))).toBeUndefined();
    expect(headerValueProblem('x'.repeat(8_193))).toContain('longer than 8192');
  });

  it('T24: is visible ASCII from its first character to its last, or refused without being repeated', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 6 }), fc.string({ unit: 'binary', maxLength: 6 }), (a, b) => {
        const value = `${a}canary-5be1${b}`;
        const problem = headerValueProblem(value);
        if (problem === undefined) expect(new Headers({ 'x-a': value }).get('x-a')).toBe(value);
        else expect(problem).not.toContain('canary');
        const isPlain = [...value].every((c) => (c >= ' ' && c <= '~') || c === '\t') && value.trim() === value;
        expect(problem === undefined).toBe(isPlain);
      }),
      { numRuns: 500 },
    );
  });
});
