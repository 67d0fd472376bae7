import { expect, it } from 'vitest';
import { adminHasTo } from '../../src/credential/admin-has-to.ts';
import { aServer } from './in-memory.ts';

const keyed = (credential: object) => aServer({ credential }, { name: 'notes' });
const PUT = 'PUT …/servers/notes/credential';

it.each([
  [
    'no key is kept',
    keyed({ kind: 'secret', owner: 'tenant' }),
    false,
    `has no key yet: an admin has to set it with ${PUT}`,
  ],
  ['the key is not taken', keyed({ kind: 'secret', owner: 'tenant' }), true, `set another with ${PUT}`],
  [
    'the token of the proxy is not taken',
    keyed({ kind: 'client_credentials', owner: 'tenant', oauth: { clientId: 'us', clientSecret: 's' } }),
    true,
    'its "credential"',
  ],
  ['a person is needed and none is known', keyed({ kind: 'secret' }), false, 'somebody to sign in'],
])('an admin reads what to do when %s', (_, server, hasKey, words) => {
  const { code, message } = adminHasTo(server, hasKey);
  expect([code, message]).toEqual(['upstream_unavailable', expect.stringContaining(words)]);
  expect(message).toMatch(/^notes .*\.$/);
});
