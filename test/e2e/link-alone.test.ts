// At a public address nobody is taken for a person because they hold a link, so none is made there in vain.
import { expect, it } from 'vitest';
import { useScene, withKeys } from '../support/scene.ts';

const scene = useScene({ http: { publicUrl: 'https://kb.example', allowedHosts: ['127.0.0.1'] } });

it('no link is made through the API until the tenant says who its people are', async () => {
  const tenant = await scene.tenant({ notes: withKeys(await scene.keyed('legacy')) });
  const path = `/tenants/${tenant.id}/connect-links`;
  const refused = await scene.app.admin('POST', path, { principal: 'ada' });
  expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining('mode oidc or handoff') } });
  const signIn = { mode: 'handoff', verifyUrl: 'https://app.example/verify', key: 'key-of-the-product' };
  await scene.app.adminOk('PATCH', `/tenants/${tenant.id}`, { signIn });
  expect((await scene.app.admin('POST', path, { principal: 'ada' })).status).toBe(201);
});

it('it is where the operator allows it', async () => {
  const node = await scene.node({ allowLinkSignIn: true });
  const tenant = await scene.tenant({ notes: withKeys(await scene.keyed('legacy')) });
  const path = `/tenants/${tenant.id}/connect-links`;
  expect((await node.admin('POST', path, { principal: 'ada' })).status).toBe(201);
});
