import { describe, expect, it } from 'vitest';
import { COMMAND, FILE, SECRET, serverOf, URL_ONLY } from './read-definition.ts';

describe('a registered server', () => {
  it('has the documented defaults', () => {
    expect(serverOf(URL_ONLY)).toEqual({
      tenantId: 'acme',
      id: 's1',
      name: 'linear',
      revision: '7',
      source: 'table',
      enabled: true,
      title: undefined,
      description: undefined,
      prefix: 'linear',
      transport: { kind: 'http', url: 'https://a.test/mcp', headers: new Map() },
      credential: undefined,
      only: undefined,
      except: [],
      resourcesOnly: undefined,
      promptsOnly: undefined,
      asTools: false,
      timeoutMs: 60_000,
      connectTimeoutMs: 15_000,
      idleTimeoutMs: 300_000,
      maxConcurrentCalls: 16,
      maxResultBytes: 131_072,
      gated: undefined,
      trusted: false,
      cost: undefined,
      catalog: 'shared',
    });
    expect(serverOf(URL_ONLY, { defaultIdleTimeoutMs: 200 }).idleTimeoutMs).toBe(200);
  });

  it('takes everything docs/reference/server-definition.md shows', () => {
    const server = serverOf({
      type: 'http',
      url: 'https://mcp.linear.app/mcp',
      headers: { 'X-Team': ' core ' },
      args: [],
      env: {},
      cwd: null,
      enabled: true,
      title: 'Linear',
      description: 'Issues\nand more',
      prefix: 'lin',
      credential: {
        owner: 'principal',
        kind: 'oauth',
        header: 'Authorization',
        scheme: 'Bearer',
        label: 'API key',
        help: 'https://help.test',
        oauth: {
          scopes: ['read'],
          clientId: 'id',
          clientSecret: 'hush',
          issuer: 'https://as.test',
          authorizationEndpoint: 'https://as.test/a',
          tokenEndpoint: 'https://as.test/t',
          authorizationParams: { access_type: 'offline' },
          resource: 'https://mcp.linear.app',
          allowMissingPkceMetadata: false,
        },
      },
      only: ['search_*'],
      except: ['delete_*'],
      resources: { only: ['file:///docs/*'] },
      prompts: { only: ['summarise'] },
      asTools: true,
      timeoutMs: 1,
      connectTimeoutMs: 100,
      idleTimeoutMs: 1000,
      maxConcurrentCalls: 1,
      maxResultBytes: 64,
      gated: ['create_*'],
      trusted: true,
      cost: { usd: { path: '/_meta/usd' } },
      catalog: 'principal',
    });
    expect(server).toMatchObject({
      title: 'Linear',
      prefix: 'lin',
      only: ['search_*'],
      except: ['delete_*'],
      resourcesOnly: ['file:///docs/*'],
      promptsOnly: ['summarise'],
      asTools: true,
      timeoutMs: 1,
      maxResultBytes: 64,
      gated: ['create_*'],
      trusted: true,
      cost: { usd: { path: '/_meta/usd' } },
      catalog: 'principal',
      credential: {
        owner: 'principal',
        kind: 'oauth',
        header: 'authorization',
        scheme: 'Bearer',
        env: undefined,
        label: 'API key',
        help: 'https://help.test',
      },
    });
    expect(server.credential?.oauth).toEqual({
      scopes: ['read'],
      clientId: 'id',
      issuer: 'https://as.test',
      authorizationEndpoint: 'https://as.test/a',
      tokenEndpoint: 'https://as.test/t',
      authorizationParams: { access_type: 'offline' },
      resource: 'https://mcp.linear.app',
      allowMissingPkceMetadata: false,
    });
    expect(server.credential?.clientSecret?.reveal()).toBe('hush');
    expect(server.transport.kind === 'http' && server.transport.headers.get('x-team')?.reveal()).toBe('core');
  });

  it.each([
    [{ ...URL_ONLY }, 'http'],
    [{ ...URL_ONLY, type: 'http' }, 'http'],
    [{ ...URL_ONLY, type: 'streamable-http' }, 'http'],
    [{ ...URL_ONLY, type: 'streamable_http' }, 'http'],
    [{ ...URL_ONLY, type: 'streamableHttp' }, 'http'],
    [{ ...URL_ONLY, type: 'sse' }, 'sse'],
    [{ ...COMMAND }, 'stdio'],
    [{ ...COMMAND, type: 'stdio' }, 'stdio'],
  ])('knows the transport of %j', (definition, kind) => {
    expect(serverOf(definition, FILE).transport.kind).toBe(kind);
  });

  it('takes a command as people have it in their files', () => {
    const { transport, credential } = serverOf(
      {
        command: 'github-mcp-server',
        args: ['stdio'],
        env: { TZ: 'UTC', PATH: '/opt/bin', NODE_ENV: 'production', HTTPS_PROXY: 'http://p:1' },
        cwd: '/srv',
        credential: { ...SECRET, env: 'GITHUB_PERSONAL_ACCESS_TOKEN' },
      },
      FILE,
    );
    expect(transport).toMatchObject({ kind: 'stdio', command: 'github-mcp-server', args: ['stdio'], cwd: '/srv' });
    expect(
      transport.kind === 'stdio' && [...transport.env].map(([name, value]) => `${name}=${value.reveal()}`),
    ).toEqual(['TZ=UTC', 'PATH=/opt/bin', 'NODE_ENV=production', 'HTTPS_PROXY=http://p:1']);
    expect(credential).toMatchObject({ env: 'GITHUB_PERSONAL_ACCESS_TOKEN', header: '', scheme: '' });
  });

  it.each([
    [{ enabled: false }, true, false],
    [{ disabled: true }, true, false],
    [{ disabled: false }, true, true],
    [{ enabled: true }, false, false],
    [{ enabled: true, disabled: false }, true, true],
  ])('is enabled when %j in a row with enabled %s: %s', (members, enabled, expected) => {
    expect(serverOf({ ...URL_ONLY, ...members }, { enabled }).enabled).toBe(expected);
  });

  it.each([
    [{ kind: 'oauth' }, { owner: 'principal', header: 'authorization', scheme: 'Bearer' }],
    [{ kind: 'secret' }, { owner: 'principal', header: 'authorization', scheme: 'Bearer' }],
    [{ kind: 'token_exchange' }, { owner: 'principal' }],
    [{ kind: 'client_credentials' }, { owner: 'tenant' }],
    [
      { kind: 'secret', owner: 'tenant', scheme: '' },
      { owner: 'tenant', header: 'authorization', scheme: '' },
    ],
    [
      { kind: 'secret', header: 'X-Api-Key' },
      { header: 'x-api-key', scheme: '' },
    ],
    [
      { kind: 'secret', header: 'x-api-key', scheme: 'Token' },
      { header: 'x-api-key', scheme: 'Token' },
    ],
    [null, undefined],
  ])('has the usual place and owner for credential %j', (credential, expected) => {
    const found = serverOf({ ...URL_ONLY, credential }).credential;
    if (expected === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(expected);
  });
});
