// Bodies that do not hold are refused in plain words, and with the member that was probably meant.
import { expect, it } from 'vitest';
import { type AdminApi, openAdminApi } from './an-admin-api.ts';

async function messagesOf(api: AdminApi, method: string, path: string, body: unknown): Promise<unknown> {
  const { json } = await api.send(method, path, body);
  const problems = (json['problems'] ?? []) as readonly { readonly path: string; readonly message: string }[];
  return Object.fromEntries(problems.map(({ path: at, message }) => [at, message]));
}

const TENANT = '/tenants/acme';
const signInOf = (signIn: unknown) => ['PATCH', TENANT, { signIn }] as const;
const VERIFY = 'https://app.example/verify';

it.each([
  [
    ['PUT', `${TENANT}/servers/notes/credentials/alice`, { oauth: { access_token: 'a' } }],
    {
      '$.oauth.accessToken': 'is needed',
      '$.oauth.access_token': 'is not known. Did you mean "accessToken"?',
    },
  ],
  [
    signInOf({ mode: 'handoff', verifyURL: VERIFY, key: 'k'.repeat(16) }),
    { '$.signIn.verifyUrl': 'is needed', '$.signIn.verifyURL': 'is not known. Did you mean "verifyUrl"?' },
  ],
  [
    ['PATCH', TENANT, { signin: {}, colour: 1 }],
    {
      '$.signin': 'is not known. Did you mean "signIn"?',
      '$.colour': 'is not known.',
    },
  ],
  [
    ['POST', `${TENANT}/connect-links`, { principal: 'alice', server: 'notes' }],
    {
      '$.server': 'is not known. Did you mean "servers"?',
    },
  ],
  [
    ['POST', `${TENANT}/connect-links`, { servers: 'notes' }],
    {
      '$.principal': 'is needed',
      '$.servers': 'must be a list',
    },
  ],
  [
    ['POST', `${TENANT}/connect-links`, { principal: 7, servers: [] }],
    {
      '$.principal': 'must be text',
      '$.servers': 'must not be empty',
    },
  ],
  [['PATCH', TENANT, { name: 'Acme \u202egpj.exe' }], { '$.name': 'must not have line breaks or control characters' }],
  ...['https:\\\\app.example/verify', ' https://app.example/verify', 'ht\ttps://app.example', 'https:app.example'].map(
    (verifyUrl) =>
      [
        signInOf({ mode: 'handoff', verifyUrl, key: 'k'.repeat(16) }),
        { '$.signIn.verifyUrl': 'must be an https:// URL without user name and fragment' },
      ] as const,
  ),
  [signInOf({ mode: 'saml' }), { '$.signIn.mode': 'must be one of "link", "handoff", "oidc"' }],
  [
    signInOf({ mode: 'oidc', issuer: 'https://idp.example', clientId: '' }),
    { '$.signIn.clientId': 'must not be empty' },
  ],
  [signInOf('oidc'), { '$.signIn': 'must be an object' }],
  [
    ['PATCH', TENANT, { name: 'x'.repeat(201), gatedDefault: 7 }],
    {
      '$.name': 'has more than 200 characters',
      '$.gatedDefault': 'must be true, false, "not-read-only", "destructive" or a list of names of tools',
    },
  ],
  [
    ['POST', `${TENANT}/keys`, { name: 'x', mayActFor: '*', expiresAt: 'tomorrow' }],
    {
      '$.expiresAt': 'must be a time like "2030-01-31T12:00:00Z"',
    },
  ],
  [
    ['PUT', `${TENANT}/servers/notes/credentials/alice`, { oauth: { accessToken: 'a', expiresIn: -1 } }],
    {
      '$.oauth.expiresIn': 'must be 0 or more',
    },
  ],
] as const)('%j', async ([method, path, body], problems) => {
  await using api = await openAdminApi();
  await api.tenant('acme');
  await api.send('PUT', `${TENANT}/servers/notes`, { url: 'https://notes.example', credential: { kind: 'oauth' } });
  expect(await messagesOf(api, method, path, body)).toEqual(problems);
});

it.each(['short', 'fifteen-letters', 'with a blank in the middle', ' blank-at-the-start', 'sixteen-letters-é'])(
  'a handoff key that is guessed or mangled easily is refused: %j',
  async (key) => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    const problems = await messagesOf(api, ...signInOf({ mode: 'handoff', verifyUrl: VERIFY, key }));
    expect(problems).toEqual({ '$.signIn.key': expect.stringContaining('16 to 4096 visible ASCII characters') });
    expect(api.tenants.get('acme')?.signIn).toEqual({ mode: 'link' });
  },
);

it('a handoff key that was set before stays when what was shown is sent back', async () => {
  await using api = await openAdminApi();
  await api.tenant('acme');
  await api.send(...signInOf({ mode: 'handoff', verifyUrl: VERIFY, key: 'k'.repeat(16) }));
  const stored = api.tenants.get('acme')?.signIn;
  const again = await api.send(...signInOf({ mode: 'handoff', verifyUrl: VERIFY, key: { sealed: true } }));
  expect(again.status).toBe(200);
  expect(api.tenants.get('acme')?.signIn).toEqual(stored);
});
