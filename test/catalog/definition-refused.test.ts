import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COMMAND, FILE, parse, pathsOf, problemsOf, SECRET, URL_ONLY } from './read-definition.ts';

describe('a definition that does not hold', () => {
  it('is refused with every problem at once, each with its path', () => {
    expect(
      problemsOf(
        {
          type: 'htp',
          url: 'ftp://x',
          headers: { host: 'x', 'x-a': 5 },
          excpet: ['a'],
          enabled: 'yes',
          prefix: 'A',
          only: 'a',
          except: ['ok', '', 3],
          credential: {
            kind: 'secrets',
            ownr: 'tenant',
            header: 'a b',
            oauth: { clientSecret: 'x', scope: 'a', issuer: 'http://as.test' },
          },
          resources: { except: [] },
          timeoutMs: 0,
          maxResultBytes: 1.5,
          gated: 'always',
          cost: { usd: -1 },
          catalog: 'both',
        },
        { name: 'Bad_Name' },
      ),
    ).toEqual({
      $: "The server's name must be 1 to 32 characters: lower-case letters, digits and hyphens, with a letter or digit at both ends",
      '$.type': 'must be one of "http", "streamable-http", "streamable_http", "streamableHttp", "sse", "stdio"',
      '$.url': 'must be a URL that starts with https:// or http://',
      '$.headers.host': 'may not be set: this header belongs to the transport',
      "$.headers['x-a']": 'must be text',
      '$.excpet': 'is not known. Did you mean "except"?',
      '$.enabled': 'must be true or false',
      '$.prefix':
        'must be 1 to 32 characters: lower-case letters, digits and hyphens, with a letter or digit at both ends',
      '$.only': 'must be a list of texts',
      '$.except[1]': 'is empty',
      '$.except[2]': 'must be text',
      '$.credential.kind': 'must be one of "oauth", "secret", "client_credentials", "token_exchange"',
      '$.credential.ownr': 'is not known. Did you mean "owner"?',
      '$.credential.header': 'is not a header name: use letters, digits and hyphens, without a colon or a value',
      '$.credential.oauth.clientId': 'is needed with "clientSecret"',
      '$.credential.oauth.scope': 'is not known. Did you mean "scopes"?',
      '$.credential.oauth.issuer': 'must start with https://',
      '$.resources.except': 'is not known. Did you mean "only"?',
      '$.timeoutMs': 'must be a whole number from 1 to 3600000',
      '$.maxResultBytes': 'must be a whole number from 64 to 16777216',
      '$.gated': 'must be true, false, a list of globs, "not-read-only" or "destructive"',
      '$.cost.usd': 'must be an amount from 0 to 1000, or { "path": a JSON Pointer into the result }',
      '$.catalog': 'must be one of "shared", "principal"',
    });
  });

  it.each([null, undefined, [], 'https://a.test', 5])('is refused when it is %j', (definition) => {
    expect(pathsOf(definition)).toEqual(['$']);
  });

  it.each([
    ['tools', 'only'],
    ['disabledTools', 'except'],
    ['serverUrl', 'url'],
    ['transport', 'type'],
    ['timeout', 'timeoutMs'],
    ['header', 'headers'],
    ['time_out_ms', 'timeoutMs'],
  ])('names what was meant by %s', (name, meant) => {
    expect(problemsOf({ ...URL_ONLY, [name]: 1 })).toEqual({ [`$.${name}`]: `is not known. Did you mean "${meant}"?` });
  });

  it.each(['__proto__', 'constructor', 'toString'])('has no member %s', (name) => {
    expect(pathsOf(JSON.parse(`{ "url": "https://a.test", "${name}": {} }`))).toEqual([`$.${name}`]);
  });

  it.each([
    [{}, '$.url'],
    [{ type: 'http' }, '$.url'],
    [{ type: 'stdio' }, '$.command'],
    [{ command: 'x', url: 'https://a.test' }, '$.url'],
    [{ type: 'http', url: 'https://a.test', command: 'x' }, '$.command'],
    [{ type: 'http', url: 'https://a.test', args: ['x'] }, '$.args'],
    [{ ...URL_ONLY, env: { A: 'x' } }, '$.env'],
    [{ command: 'x', headers: { a: 'x' } }, '$.headers'],
    [{ command: 'x', cwd: 'relative' }, '$.cwd'],
    [{ command: 'x\u0000' }, '$.command'],
    [{ command: './x' }, '$.command'],
    [{ command: '../bin/x' }, '$.command'],
    [{ command: 'bin/x' }, '$.command'],
    [{ command: 'x', args: ['a', 'b\u0000'] }, '$.args[1]'],
    [{ command: 'x', args: 'a' }, '$.args'],
    [{ command: 'x', env: { A: 'b\u0000' } }, '$.env.A'],
    [{ command: 'x', env: { A: null } }, '$.env.A'],
    [{ command: 'x', env: { PORT: 3000 } }, '$.env.PORT'],
    [{ ...URL_ONLY, enabled: true, disabled: true }, '$.disabled'],
    [{ ...URL_ONLY, credential: 'secret' }, '$.credential'],
    [{ ...URL_ONLY, credential: {} }, '$.credential.kind'],
    [{ ...URL_ONLY, credential: { kind: 'oauth', owner: 'tenant' } }, '$.credential.owner'],
    [{ ...URL_ONLY, credential: { kind: 'token_exchange', owner: 'tenant' } }, '$.credential.owner'],
    [{ ...URL_ONLY, credential: { kind: 'secret', env: 'TOKEN' } }, '$.credential.env'],
    [{ ...URL_ONLY, credential: { kind: 'secret', scheme: 'two words' } }, '$.credential.scheme'],
    [{ ...URL_ONLY, credential: { kind: 'secret', help: 'javascript:alert(1)' } }, '$.credential.help'],
    [{ ...URL_ONLY, credential: { kind: 'secret', label: 'a\nb' } }, '$.credential.label'],
    [{ ...URL_ONLY, credential: { kind: 'secret', oauth: { clientId: 'x' } } }, '$.credential.oauth'],
    [
      { ...URL_ONLY, credential: { kind: 'oauth', oauth: { authorizationParams: { redirect_uri: 'x' } } } },
      '$.credential.oauth.authorizationParams.redirect_uri',
    ],
    [{ ...URL_ONLY, credential: { kind: 'oauth', oauth: { scopes: ['a b'] } } }, '$.credential.oauth.scopes[0]'],
    [{ command: 'x', credential: SECRET }, '$.credential.env'],
    [{ command: 'x', credential: { kind: 'oauth', env: 'T', header: 'authorization' } }, '$.credential.header'],
    [{ command: 'x', env: { TOKEN: 'a' }, credential: { ...SECRET, env: 'TOKEN' } }, '$.credential.env'],
    [{ ...URL_ONLY, resources: null }, '$.resources'],
    [{ ...URL_ONLY, resources: { only: null } }, '$.resources.only'],
    [{ ...URL_ONLY, only: null }, '$.only'],
    [{ ...URL_ONLY, except: null }, '$.except'],
    [{ ...URL_ONLY, gated: null }, '$.gated'],
    [{ ...URL_ONLY, gated: ['a', 1] }, '$.gated[1]'],
    [{ ...URL_ONLY, only: ['x'.repeat(129)] }, '$.only[0]'],
    [{ ...URL_ONLY, only: Array.from({ length: 101 }, () => 'x') }, '$.only'],
    [{ ...URL_ONLY, cost: { usd: { path: '' } } }, '$.cost.usd.path'],
    [{ ...URL_ONLY, cost: { usd: { path: '/a~2' } } }, '$.cost.usd.path'],
    [{ ...URL_ONLY, cost: { usd: '1' } }, '$.cost.usd'],
    [{ ...URL_ONLY, cost: { usd: { path: '/a', factor: 2 } } }, '$.cost.usd.factor'],
    [{ ...URL_ONLY, title: 'a\u202eb' }, '$.title'],
    [{ ...URL_ONLY, title: 5 }, '$.title'],
    [{ ...URL_ONLY, idleTimeoutMs: '5' }, '$.idleTimeoutMs'],
    [{ ...URL_ONLY, headers: [] }, '$.headers'],
    [{ ...URL_ONLY, headers: 'x', credential: SECRET }, '$.headers'],
    [
      { ...URL_ONLY, headers: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`h${String(n)}`, 'x'])) },
      '$.headers.h64',
    ],
  ])('is refused in one place: %j', (definition, path) => {
    expect(pathsOf(definition, FILE)).toEqual([path]);
  });

  it("B057: names no command unless it stands in the operator's file", () => {
    for (const definition of [
      COMMAND,
      { type: 'stdio' },
      { ...COMMAND, type: 'stdio' },
      { ...COMMAND, type: 'nonsense' },
      { ...URL_ONLY, ...COMMAND, type: 'http' },
    ]) {
      expect(problemsOf(definition)['$.command'], JSON.stringify(definition)).toContain("operator's file");
    }
    expect(pathsOf(COMMAND)).toEqual(['$.command']);
    expect(pathsOf(COMMAND, FILE)).toEqual([]);
  });

  it('never throws, whatever stands in a row', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom(
            'type',
            'url',
            'command',
            'headers',
            'env',
            'credential',
            'only',
            'gated',
            'cost',
            'resources',
            '__proto__',
          ),
          fc.jsonValue(),
        ),
        (definition) => {
          const result = parse(definition, FILE);
          expect(result.ok || result.problems.length > 0).toBe(true);
        },
      ),
    );
  });
});
