// T23: whatever goes wrong, nothing of what was sent or answered can be printed from the error or the log.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OAuthUnavailable } from '../../../src/credential/authorization-server.ts';
import { Secret } from '../../../src/shared/secret.ts';
import { translateError } from '../../../src/upstream/oauth/errors.ts';
import { IdentityBench } from './an-identity-provider.ts';
import {
  failureOf,
  grantPlaceOf,
  NEVER,
  OAuthBench,
  placeAt,
  printed,
  REDIRECT_URI,
  secretClient,
} from './an-oauth-bench.ts';
import type { Script, Site, SiteAnswer, SiteRequest } from './an-oauth-site.ts';

const CANARY = 'canary-4711';
const FORMS = [CANARY, Buffer.from(CANARY).toString('base64').slice(0, -4), Buffer.from(CANARY).toString('hex')];
const expectSilent = (text: string): void => {
  for (const form of FORMS) expect(text).not.toContain(form);
};

/** Servers that say back what they were told, wherever they can. */
const ECHOES: readonly (readonly [string, Script])[] = [
  [
    'as the error word',
    ({ form }) => ({
      status: 400,
      json: { error: form['refresh_token'] ?? form['code'] ?? form['subject_token'] ?? form['client_secret'] },
    }),
  ],
  [
    'inside the error word',
    ({ body }: SiteRequest): SiteAnswer => ({
      status: 400,
      json: { error: `bad ${/canary-4711-\w+/.exec(body)?.[0] ?? ''}` },
    }),
  ],
  ['as the description', ({ body }) => ({ status: 401, json: { error: 'invalid_client', error_description: body } })],
  ['as text', ({ body }) => ({ status: 400, text: body })],
  ['as broken JSON', ({ body }) => ({ status: 200, text: `{"access_token":"${CANARY}","x":${body}` })],
  ['as a status 500', ({ body }) => ({ status: 500, text: body })],
  [
    'as a challenge',
    ({ body }) => ({ status: 401, headers: { 'www-authenticate': `Bearer error="${encodeURIComponent(body)}"` } }),
  ],
  ['as an address', ({ body }) => ({ status: 302, headers: { location: `/x?${body}` } })],
  ['as a token of a strange kind', { json: { access_token: `${CANARY}-at`, token_type: 'mac' } }],
  ['as a number for a token', { json: { access_token: 7, refresh_token: `${CANARY}-rt` } }],
  ['by falling silent', { instead: 'reset' }],
];

describe('nothing secret is in an error', () => {
  let bench: OAuthBench;
  let as: Site;
  beforeEach(async () => {
    bench = new OAuthBench();
    as = await bench.site();
  });
  afterEach(() => bench.close());

  const client = secretClient(`${CANARY}-secret`, 'client_secret_post');
  const token = new Secret(`${CANARY}-token`);
  const place = () => placeAt(as.origin);
  const grant = () => grantPlaceOf(place());
  const exchange = (query: string) =>
    bench.servers.exchange(
      place(),
      client,
      {
        redirectUri: REDIRECT_URI,
        query: new URLSearchParams(query),
        state: `${CANARY}-state`,
        verifier: `${CANARY}-verifier-0123456789-0123456789-01`,
      },
      NEVER,
    );

  it.each(ECHOES)('of a server that echoes %s', async (_how, script) => {
    for (const path of ['/token', '/revoke', '/register']) as.on({ [path]: script });
    const works = {
      exchange: () => exchange(`code=${CANARY}-code&state=${CANARY}-state`),
      refresh: () => bench.servers.refresh(grant(), client, token, NEVER),
      clientCredentials: () => bench.servers.clientCredentials(grant(), client, [], NEVER),
      exchangeToken: () => bench.servers.exchangeToken(grant(), client, token, [], NEVER),
      register: () =>
        bench.servers.register(
          place(),
          { redirectUri: REDIRECT_URI, clientName: 'Keybearer', initialAccessToken: token },
          NEVER,
        ),
    };
    for (const [name, work] of Object.entries(works)) {
      const error = await failureOf(work());
      expect(error.name, name).toMatch(/^(OAuthRefusal|OAuthUnavailable|ProxyError)$/);
      expectSilent(printed(error));
    }
    // It was sent, so it could have been echoed.
    expect(as.heard).toContain(CANARY);
  });

  it.each([
    `error=access_denied&error_description=${CANARY}&state=${CANARY}-state`,
    `code=${CANARY}-code&state=other`,
    `code=${CANARY}-code&state=${CANARY}-state&iss=https://evil.test/${CANARY}`,
    `code=${CANARY}-a&code=${CANARY}-b&state=${CANARY}-state`,
    `code=${CANARY}-a&id_token=${CANARY}&state=${CANARY}-state`,
    `code=${CANARY}-a&response=${CANARY}&state=${CANARY}-state`,
  ])('of a callback that is refused: %s', async (query) => {
    const error = await failureOf(exchange(query));
    expect(error.name).toBe('OAuthRefusal');
    expectSilent(printed(error));
  });

  it('of an address that cannot be reached, or is none', async () => {
    for (const tokenEndpoint of [
      `https://no-such-host.invalid/${CANARY}?k=${CANARY}`,
      `https://${CANARY}:x@as.test/`,
      CANARY,
    ])
      expectSilent(
        printed(await failureOf(bench.servers.refresh({ ...grant(), tokenEndpoint }, client, token, NEVER))),
      );
  });

  it('of a secret that cannot be sent at all', async () => {
    for (const odd of [`${CANARY}\nx`, `${CANARY}\u{1f511}`]) {
      const request = { redirectUri: REDIRECT_URI, clientName: 'K', initialAccessToken: new Secret(odd) };
      expectSilent(printed(await failureOf(bench.servers.register(place(), request, NEVER))));
    }
    expect(as.requests).toEqual([]);
  });

  it('of the library, whatever it keeps in its own', () => {
    const library = new TypeError(CANARY, { cause: { parameters: CANARY } });
    const ours = translateError(library, NEVER);
    expect(ours).toBeInstanceOf(OAuthUnavailable);
    expectSilent(printed(ours));
  });
});

describe('nothing secret is in an error about a person', () => {
  it('whose ID token does not hold', async () => {
    const bench = await IdentityBench.open();
    try {
      await bench.issue({ claims: { email: CANARY, nonce: CANARY } });
      expectSilent(printed(await failureOf(bench.prove(`code=${CANARY}&state=st`))));
      await bench.issue({ forged: true, claims: { email: CANARY } });
      expectSilent(printed(await failureOf(bench.prove(`code=${CANARY}&state=st`))));
      bench.answerWith(`${CANARY}.${CANARY}.${CANARY}`);
      expectSilent(printed(await failureOf(bench.prove(`code=${CANARY}&state=st`))));
      expect(bench.idp.heard).toContain(CANARY);
    } finally {
      await bench.close();
    }
  });
});
