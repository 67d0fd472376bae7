import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type Config, ConfigError, parseConfig } from '../src/config.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const OTHER_KEY = Buffer.alloc(32, 251).toString('base64');

function problemsOf(env: Record<string, string | undefined>): readonly string[] {
  try {
    parseConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('parseConfig', () => {
  it('needs nothing to start on one machine', () => {
    expect(parseConfig({})).toEqual({
      http: {
        host: '127.0.0.1',
        port: 8080,
        publicUrl: 'http://127.0.0.1:8080',
        allowedHosts: undefined,
        allowedOrigins: undefined,
        trustProxy: undefined,
      },
      database: { url: undefined },
      dataDir: './data',
      vault: { masterKeys: undefined },
      admin: { key: undefined },
      operatorFile: undefined,
      egress: { allow: [], allowHttp: false, ports: [443, 8443], nat64: false },
      limits: {
        idleTimeoutMs: 300_000,
        listDeadlineMs: 5000,
        signInWaitMs: 120_000,
        maxConnectionsPerTenant: 2000,
        maxCommandsPerTenant: 64,
        requestsPerSecondPerTenant: undefined,
        requestsPerSecondPerPrincipal: undefined,
      },
      commandUser: undefined,
      allowLinkSignIn: false,
      logLevel: 'info',
    } satisfies Config);
  });

  it('reads every variable', () => {
    const config = parseConfig({
      HOST: '::1',
      PORT: '9000',
      DATABASE_URL: 'postgresql:///kb?host=/run/pg',
      KEYBEARER_DATA_DIR: '/var/kb',
      KEYBEARER_PUBLIC_URL: 'HTTPS://Kb.Example.com/base//',
      KEYBEARER_MASTER_KEY: `${KEY}, ${OTHER_KEY}`,
      KEYBEARER_ADMIN_KEY: 'operator-key',
      KEYBEARER_CONFIG: '/etc/kb.json',
      KEYBEARER_EGRESS_ALLOW: 'Mcp.Internal, mcp.internal:3000,10.0.0.0/8,[fd00::1]:443,fd00::/8,127.0.0.1,::1,',
      KEYBEARER_EGRESS_ALLOW_HTTP: 'TRUE',
      KEYBEARER_ALLOWED_HOSTS: 'kb.example.com,kb:8080',
      KEYBEARER_ALLOWED_ORIGINS: 'https://App.example.com:443/',
      KEYBEARER_TRUST_PROXY: '10.0.0.1, 10.1.0.0/16,FD00::/8',
      KEYBEARER_REQUESTS_PER_SECOND_PER_TENANT: '500',
      KEYBEARER_REQUESTS_PER_SECOND_PER_PRINCIPAL: '50',
      KEYBEARER_ALLOW_LINK_SIGN_IN: '1',
      KEYBEARER_IDLE_TIMEOUT_MS: '200',
      KEYBEARER_LIST_DEADLINE_MS: '50',
      KEYBEARER_SIGN_IN_WAIT_MS: '0',
      KEYBEARER_MAX_CONNECTIONS_PER_TENANT: '3',
      KEYBEARER_MAX_COMMANDS_PER_TENANT: '2',
      KEYBEARER_COMMAND_USER: '1001:1002',
      KEYBEARER_WORKERS: '1',
      KEYBEARER_EGRESS_PORTS: '443, 09443',
      KEYBEARER_EGRESS_TRANSLATION: '1',
      LOG_LEVEL: 'debug',
      UNRELATED: 'x',
    });
    expect(config.http).toEqual({
      host: '::1',
      port: 9000,
      publicUrl: 'https://kb.example.com/base',
      allowedHosts: ['kb.example.com', 'kb:8080'],
      allowedOrigins: ['https://app.example.com'],
      trustProxy: { kind: 'addresses', addresses: ['10.0.0.1', '10.1.0.0/16', 'fd00::/8'] },
    });
    expect(config.database.url?.reveal()).toBe('postgresql:///kb?host=/run/pg');
    expect(config.vault.masterKeys?.map((key) => key.reveal())).toEqual([KEY, OTHER_KEY]);
    expect(config.admin.key?.reveal()).toBe('operator-key');
    expect(config.egress).toEqual({
      allow: ['mcp.internal', 'mcp.internal:3000', '10.0.0.0/8', '[fd00::1]:443', 'fd00::/8', '127.0.0.1', '[::1]'],
      allowHttp: true,
      ports: [443, 9443],
      nat64: true,
    });
    expect(config.limits).toEqual({
      idleTimeoutMs: 200,
      listDeadlineMs: 50,
      signInWaitMs: 0,
      maxConnectionsPerTenant: 3,
      maxCommandsPerTenant: 2,
      requestsPerSecondPerTenant: 500,
      requestsPerSecondPerPrincipal: 50,
    });
    expect(config.commandUser).toEqual({ uid: 1001, gid: 1002 });
    expect([config.dataDir, config.operatorFile, config.allowLinkSignIn, config.logLevel]).toEqual([
      '/var/kb',
      '/etc/kb.json',
      true,
      'debug',
    ]);
  });

  it.each([
    [{ HOST: '0.0.0.0', PORT: '80' }, 'http://0.0.0.0'],
    [{ HOST: '[::1]' }, 'http://[::1]:8080'],
    [{ HOST: 'localhost' }, 'http://localhost:8080'],
    [{ PORT: '0' }, undefined],
    [{ PORT: '0', KEYBEARER_PUBLIC_URL: 'http://kb.test:1' }, 'http://kb.test:1'],
  ])('knows the public URL of %j before it listens, unless the system picks the port', (env, publicUrl) => {
    expect(parseConfig(env).http.publicUrl).toBe(publicUrl);
  });

  it('takes a blank value for an unset one', () => {
    expect(parseConfig({ PORT: '', KEYBEARER_CONFIG: '  ', KEYBEARER_ADMIN_KEY: '' })).toEqual(parseConfig({}));
  });

  it('needs both keys with a database of its own', () => {
    expect(problemsOf({ DATABASE_URL: 'postgres://db/kb' }).map((problem) => problem.split(' ')[0])).toEqual([
      'KEYBEARER_MASTER_KEY',
      'KEYBEARER_ADMIN_KEY',
    ]);
    expect(
      problemsOf({ DATABASE_URL: 'postgres://db/kb', KEYBEARER_MASTER_KEY: KEY, KEYBEARER_ADMIN_KEY: 'operator-key' }),
    ).toEqual([]);
  });

  it('names all problems at once', () => {
    const problems = problemsOf({
      PORT: '65536',
      LOG_LEVEL: 'loud',
      KEYBEARER_EGRESS_ALLOW_HTTP: 'constructor',
      KEYBEARER_LIST_DEADLINES_MS: '1',
      KEYBEARER_IDLE_TIMEOUT_MS: '1e3',
      KEYBEARER_MASTER_KEY: 'short',
    });
    expect(problems.map((problem) => problem.split(' ')[0]).sort()).toEqual([
      'KEYBEARER_EGRESS_ALLOW_HTTP',
      'KEYBEARER_IDLE_TIMEOUT_MS',
      'KEYBEARER_LIST_DEADLINES_MS',
      'KEYBEARER_MASTER_KEY',
      'LOG_LEVEL',
      'PORT',
    ]);
    expect(problems).toContain('KEYBEARER_LIST_DEADLINES_MS is not known. Did you mean "KEYBEARER_LIST_DEADLINE_MS"?');
    expect(new ConfigError(problems).message.split('\n')).toHaveLength(7);
  });

  it.each([
    ['HOST', ['http://x', 'a b', '127.1', 'x:80']],
    ['PORT', ['-1', '80.5', '0x50', 'http', '99999']],
    ['DATABASE_URL', ['mysql://x', 'db', 'postgres://']],
    [
      'KEYBEARER_PUBLIC_URL',
      [
        'kb.test',
        'ftp://kb.test',
        'https://u:p@kb.test',
        'https://kb.test/?a',
        'https://kb.test/#a',
        'https:///x',
        'https://',
      ],
    ],
    [
      'KEYBEARER_MASTER_KEY',
      [
        `${KEY},`,
        `${KEY},${KEY}`,
        Buffer.alloc(31).toString('base64'),
        Buffer.alloc(33).toString('base64'),
        'x'.repeat(64),
      ],
    ],
    ['KEYBEARER_ADMIN_KEY', ['short', 'has a blank', 'schlüssel-schlüssel']],
    ['KEYBEARER_EGRESS_ALLOW', ['10.0.0.0/33', '*.x', 'http://x', 'x:0', 'x:70000', '127.1', 'fd00::/129', ',']],
    ['KEYBEARER_ALLOWED_HOSTS', ['https://x', '*', 'x/y']],
    ['KEYBEARER_ALLOWED_ORIGINS', ['x', 'null', '*', 'https://x/path']],
    ['KEYBEARER_WORKERS', ['auto', '2', '0']],
    ['KEYBEARER_ALLOW_LINK_SIGN_IN', ['yes please']],
    ['KEYBEARER_MAX_CONNECTIONS_PER_TENANT', ['0', '-5']],
    ['KEYBEARER_MAX_COMMANDS_PER_TENANT', ['0', '10001']],
    ['KEYBEARER_COMMAND_USER', ['0', '1000:0', 'nobody', '1:', ':1', '-1', '1:2:3', '99999999999']],
  ])('refuses values of %s that do not hold', (name, values) => {
    const keys = { KEYBEARER_MASTER_KEY: KEY, KEYBEARER_ADMIN_KEY: 'operator-key' };
    for (const value of values)
      expect(problemsOf({ ...keys, [name]: value }), value).toEqual([expect.stringMatching(`^${name} must `)]);
  });

  it('never repeats a value, as it may be a secret', () => {
    const canary = 'canary with blank';
    const env = Object.fromEntries(
      [
        'HOST',
        'PORT',
        'DATABASE_URL',
        'KEYBEARER_MASTER_KEY',
        'KEYBEARER_ADMIN_KEY',
        'KEYBEARER_PUBLIC_URL',
        'KEYBEARER_EGRESS_ALLOW',
        'KEYBEARER_UNKNOWN',
        'LOG_LEVEL',
      ].map((name) => [name, canary]),
    );
    const problems = problemsOf(env);
    expect(problems).toHaveLength(9);
    expect(inspect(new ConfigError(problems))).not.toContain('canary');
  });

  it('prints no secret and cannot be changed', () => {
    const config = parseConfig({
      DATABASE_URL: 'postgres://u:canary@db/kb',
      KEYBEARER_MASTER_KEY: KEY,
      KEYBEARER_ADMIN_KEY: 'canary-key',
    });
    const printed = inspect(config, { depth: 9 }) + JSON.stringify(config);
    expect(printed).not.toContain('canary');
    expect(printed).not.toContain(KEY);
    for (const part of [config, config.http, config.limits, config.egress.allow, config.vault.masterKeys])
      expect(Object.isFrozen(part)).toBe(true);
  });
});
