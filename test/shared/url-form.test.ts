import { describe, expect, it } from 'vitest';
import { safeUrl } from '../../src/admin/body.ts';
import { oauthUrlProblem, urlProblem } from '../../src/catalog/definition-rules.ts';
import { urlFault } from '../../src/shared/url-form.ts';
import { checkUrl } from '../../src/upstream/egress/check-url.ts';
import { createPolicy } from '../../src/upstream/egress/policy.ts';
import { addressProblem } from '../../src/upstream/oauth/address.ts';

const FAULTS: readonly (readonly [text: string, fault: string])[] = [
  [`https://example.com/${'a'.repeat(2_029)}`, 'length'],
  [' https://example.com/', 'characters'],
  ['https://example.com/a b', 'characters'],
  ['ht\ttps://example.com/', 'characters'],
  ['https://example.com/\n', 'characters'],
  ['https://exam\u0000ple.com/', 'characters'],
  ['https://example.com/\u0085', 'characters'],
  ['https://example.com/\u00a0', 'characters'],
  ['https://example.com/\u2028', 'characters'],
  ['https://exam\u00adple.com/', 'characters'],
  ['https://example.com/\u200b', 'characters'],
  ['https://example.com/\u202egpj', 'characters'],
  ['https:\\\\example.com/', 'characters'],
  ['https://example.com\\@evil.example/', 'characters'],
  ['ftp://example.com/', 'scheme'],
  ['javascript:alert(1)', 'scheme'],
  ['wss://example.com/', 'scheme'],
  ['', 'form'],
  ['example.com', 'form'],
  ['//example.com/', 'form'],
  ['https://', 'form'],
  ['https:example.com', 'form'],
  ['https:/example.com/', 'form'],
  ['https:///example.com/', 'form'],
  ['https://anna@example.com/', 'user'],
  ['https://:secret@example.com/', 'user'],
];

const policy = createPolicy({ allow: [], allowHttp: false, ports: [443], nat64: false });

/** Whether each of the ways by which an address comes in lets it through. */
const WAYS: readonly (readonly [way: string, takes: (text: string) => boolean])[] = [
  ['a definition', (text) => urlProblem(text) === undefined],
  ['a definition, for OAuth', (text) => oauthUrlProblem(text) === undefined],
  ['the API', (text) => safeUrl.safeParse(text).success],
  ['a document of a sign-in server', (text) => addressProblem(text, () => true) === undefined],
  [
    'a request or a redirect',
    (text) => {
      try {
        checkUrl(text, policy);
        return true;
      } catch {
        return false;
      }
    },
  ],
];

describe('the form of an address', () => {
  it.each(FAULTS)('%j has a fault: %s', (text, fault) => {
    expect(urlFault(text)).toBe(fault);
  });

  it.each([
    `https://example.com/${'a'.repeat(2_028)}`,
    'https://example.com',
    'HTTPS://Example.com:8443/mcp?x=%20#y',
    'http://[::1]:3000/',
    'https://bücher.example/ä',
  ])('%j has none', (text) => {
    expect(urlFault(text)).toBeUndefined();
  });

  it.each(WAYS)('is the same rule for %s', (_way, takes) => {
    expect(FAULTS.filter(([text]) => takes(text))).toEqual([]);
    expect(takes('https://example.com/mcp')).toBe(true);
  });

  it('has no fragment where OAuth compares it as text, not even an empty one', () => {
    for (const text of ['https://example.com/#', 'https://example.com/#x'])
      expect(WAYS.filter(([, takes]) => takes(text)).map(([way]) => way)).toEqual([
        'a definition',
        'a request or a redirect',
      ]);
  });
});
