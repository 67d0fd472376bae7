import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COMMAND, FILE, parse, pathsOf, SECRET, serverOf, URL_ONLY } from './read-definition.ts';

describe('what a definition may never do', () => {
  it.each([
    'NODE_OPTIONS',
    'LD_PRELOAD',
    'PYTHONPATH',
    'BASH_ENV',
    'GIT_SSH_COMMAND',
    'DYLD_INSERT_LIBRARIES',
    'ENV',
    'IFS',
    'PERL5LIB',
    'RUBYOPT',
    'JAVA_TOOL_OPTIONS',
    'node_options',
    ' LD_PRELOAD',
    'LD_PRELOAD ',
    'A=B',
    '',
    '1A',
    'A'.repeat(65),
    'NODE_TLS_REJECT_UNAUTHORIZED',
    'GLIBC_TUNABLES',
    'PROMPT_COMMAND',
  ])('B057: gives no command the variable %j, static or as its credential', (name) => {
    expect(pathsOf({ ...COMMAND, env: { [name]: 'x' } }, FILE)).toHaveLength(1);
    expect(pathsOf({ ...COMMAND, credential: { ...SECRET, env: name } }, FILE)).toEqual(['$.credential.env']);
  });

  it.each(['PATH', 'HOME', 'HTTPS_PROXY', 'NO_PROXY', 'SSL_CERT_FILE', 'NODE_ENV', 'SHELL', 'KEYBEARER_ADMIN_KEY'])(
    'B057: lets no person fill %s',
    (name) => {
      expect(pathsOf({ ...COMMAND, credential: { ...SECRET, env: name } }, FILE)).toEqual(['$.credential.env']);
    },
  );

  it.each(['_a', 'a_', 'a__b', 'A', '', '٣', 'a.b', 'a b', '-a', 'a-', 'a'.repeat(33), 'a\n', 'keybearer'])(
    'B063 B064 B069: is not named %j, nor has it as its prefix',
    (name) => {
      expect(pathsOf(URL_ONLY, { name })).toEqual(['$']);
      expect(pathsOf({ ...URL_ONLY, prefix: name })).toEqual(['$.prefix']);
    },
  );

  it.each(['a', 'a-b', '0', 'a--b', 'a'.repeat(32)])('B069: may be named %s', (name) => {
    expect(serverOf(URL_ONLY, { name })).toMatchObject({ name, prefix: name });
  });

  it.each([
    'a.test/mcp',
    '//a.test',
    'https:a.test',
    'https:///a.test',
    'https://',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'https://u@a.test',
    'https://u:p@a.test',
    'https://a.test\\@b.test',
    'https://a.test/ x',
    ' https://a.test',
    'https://a.\ttest',
    'https://a.test/\u0000',
    'https://a.test/\u00a0',
    'https://a.test:99999',
    `https://a.test/${'x'.repeat(2048)}`,
    '',
    5,
    null,
  ])('has no address like %j', (url) => {
    expect(pathsOf({ type: 'http', url })).toEqual(['$.url']);
  });

  it.each([
    ['http://a.test/mcp', false],
    ['HTTP://a.test/mcp', false],
    ['http://127.0.0.1.a.test/mcp', false],
    ['http://10.0.0.1/mcp', false],
    ['http://0.0.0.0/mcp', false],
    ['http://localhost:3000/mcp', true],
    ['http://127.0.0.1:1/mcp', true],
    ['http://[::1]:1/mcp', true],
    ['https://a.test/mcp', true],
  ])('B243: sends a credential to %s: %s', (url, may) => {
    const expected = may ? [] : ['$.url'];
    expect(pathsOf({ url, credential: SECRET })).toEqual(expected);
    expect(pathsOf({ url, headers: { Authorization: 'Bearer x' } })).toEqual(expected);
    expect(pathsOf({ url })).toEqual([]);
    expect(pathsOf({ url, credential: SECRET }, { addressRule: () => undefined })).toEqual([]);
  });

  it.each([
    'host',
    'Content-Length',
    'transfer-encoding',
    'cookie',
    'Mcp-Session-Id',
    'mcp-anything',
    'accept',
    'content-type',
    'connection',
    'te',
    'upgrade',
    'a b',
    'a:',
    '',
    'ä',
    'a\r\nb',
  ])('sets no header %j, static or as its credential', (name) => {
    expect(pathsOf({ ...URL_ONLY, headers: { [name]: 'x' } })).toHaveLength(1);
    expect(pathsOf({ ...URL_ONLY, credential: { ...SECRET, header: name } })).toEqual(['$.credential.header']);
  });

  it('B232: sends one value per header name, in any case', () => {
    expect(pathsOf({ ...URL_ONLY, headers: { 'X-Token': 'a', 'x-token': 'b' } })).toEqual(["$.headers['x-token']"]);
    expect(pathsOf({ ...URL_ONLY, headers: { Authorization: 'a' }, credential: SECRET })).toEqual([
      '$.credential.header',
    ]);
    expect(pathsOf({ ...URL_ONLY, headers: { 'X-Token': 'a' }, credential: { ...SECRET, header: 'x-TOKEN' } })).toEqual(
      ['$.credential.header'],
    );
    expect(
      pathsOf({ ...URL_ONLY, headers: { Authorization: 'a' }, credential: { ...SECRET, header: 'x-token' } }),
    ).toEqual([]);
  });

  it.each(['a\nb', 'a\r\nX-Evil: 1', 'a\u0000', 'ü', 'a\u200b', '', '   ', 'x'.repeat(8193), '\u007f'])(
    'B233 B245: sends no header value like %j',
    (value) => {
      expect(pathsOf({ ...URL_ONLY, headers: { 'x-a': value } })).toEqual(["$.headers['x-a']"]);
    },
  );

  it('B245: never repeats a value, nor a secret pasted where a name belongs', () => {
    const canary = 'canary\u0000';
    const definitions = [
      {
        type: canary,
        url: `https://u:${canary}@a.test`,
        headers: { 'x-a': canary, 'Authorization: canary': 'x' },
        prefix: canary,
        title: canary,
        description: canary,
        only: [canary],
        gated: canary,
        catalog: canary,
        'token=canary': 1,
      },
      {
        ...URL_ONLY,
        credential: {
          kind: canary,
          owner: canary,
          header: canary,
          scheme: canary,
          label: canary,
          help: canary,
          oauth: { clientSecret: canary, clientId: canary, issuer: canary, scopes: [canary], resource: canary },
        },
      },
      {
        command: canary,
        args: [canary],
        cwd: canary,
        env: { A: canary, 'TOKEN=canary': 'x' },
        credential: { kind: 'secret', env: canary },
      },
    ];
    for (const definition of definitions) {
      const result = parse(definition, FILE);
      expect(result.ok).toBe(false);
      expect(JSON.stringify(result)).not.toContain('canary');
    }
  });

  it('T24: whatever the header name and value, one clean header comes out or the definition is refused', () => {
    const text = fc.string({
      unit: fc.oneof(
        fc.constantFrom('\r', '\n', ' ', ':', '\t', 'a', 'Z', '-'),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
      ),
      maxLength: 12,
    });
    fc.assert(
      fc.property(text, text, (name, value) => {
        const result = parse({ ...URL_ONLY, headers: { [name]: value } });
        if (!result.ok || result.server.transport.kind === 'stdio') return;
        const sent = [...result.server.transport.headers].map(([key, secret]) => [key, secret.reveal()]);
        expect(sent).toEqual([[name.toLowerCase(), value.trim()]]);
        expect([...new Headers(sent as [string, string][])]).toEqual(sent);
      }),
    );
  });
});
