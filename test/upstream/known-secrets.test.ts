// Which values of a connection are secrets: its key, and of a definition what is named or looks so.
import { describe, expect, it } from 'vitest';
import type { CredentialSpec, Transport } from '../../src/catalog/upstream-server.ts';
import type { Credential } from '../../src/credential/credential.ts';
import { parsePrincipalId } from '../../src/shared/id.ts';
import { Secret } from '../../src/shared/secret.ts';
import { knownSecrets } from '../../src/upstream/known-secrets.ts';

const secrets = (members: Readonly<Record<string, string>>) =>
  new Map(Object.entries(members).map(([name, value]) => [name, new Secret(value)]));
const http = (headers: Readonly<Record<string, string>>): Transport => ({
  kind: 'http',
  url: 'https://a.test',
  headers: secrets(headers),
});
const stdio = (env: Readonly<Record<string, string>>): Transport => ({
  kind: 'stdio',
  command: 'node',
  args: [],
  env: secrets(env),
  cwd: undefined,
});
const key = (value: string): Credential => ({
  kind: 'static',
  owner: { kind: 'tenant' },
  version: '1',
  secret: new Secret(value),
});
const NONE: Credential = { kind: 'none' };
const known = (transport: Transport, credential: Credential = NONE, scheme = 'Bearer'): readonly string[] =>
  knownSecrets(transport, { scheme } as CredentialSpec, credential).map((secret) => secret.reveal());

describe('a connection knows as secret', () => {
  it('its key, whatever it looks like', () => {
    expect(known(http({}), key('plain words'))).toEqual(['plain words']);
    expect(parsePrincipalId('ada')).toBeDefined();
  });

  it('the password that a Basic key holds', () => {
    const basic = Buffer.from('ada:correct horse').toString('base64');
    expect(known(http({}), key(basic), 'Basic')).toEqual([basic, 'correct horse']);
    expect(known(http({ Authorization: `Basic ${basic}` }))).toEqual([basic, 'correct horse']);
  });

  it.each([
    [{ authorization: 'Bearer abcd' }, ['abcd']],
    [{ 'x-api-key': 'some words' }, ['some words']],
    [{ 'x-team': 'canary-literal-93ac' }, ['canary-literal-93ac']],
    [{ 'x-team': 'engineering' }, []],
    [{ 'accept-language': 'de-CH, en;q=0.8', 'user-agent': 'Mozilla/5.0 (X11)' }, []],
    [{ 'x-version': '2025-06-18-preview' }, []],
    [{ 'x-host': 'node1.eu-west.example.com' }, []],
  ])('of headers %j', (headers, expected) => expect(known(http(headers))).toEqual(expected));

  it.each([
    [{ GITHUB_TOKEN: 'ghp_short' }, ['ghp_short']],
    [{ DATABASE_URL: 'postgres://app:p%40ssword1@db.internal/x' }, ['p@ssword1']],
    [{ NODE_ENV: 'production', DATA_DIR: '/srv/projects/docs1', BASE_URL: 'https://api1.example.com/v2' }, []],
    [{ SOMETHING: 'a1b2c3d4e5f6a7b8' }, ['a1b2c3d4e5f6a7b8']],
  ])('of variables %j', (env, expected) => expect(known(stdio(env))).toEqual(expected));

  it('the lines of a key that has several', () => {
    const line = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC';
    const pem = `-----BEGIN PRIVATE KEY-----\n${line}\nshort\n-----END PRIVATE KEY-----\n`;
    expect(known(stdio({ SIGNING_KEY: pem }))).toEqual([pem, line]);
  });
});
