// The proxy is not put behind itself, by whichever of its addresses, whatever the operator allowed.
import { expect, it } from 'vitest';
import { LOOPBACK_ALLOWED } from '../support/a-door.ts';
import { useScene, without } from '../support/scene.ts';

const scene = useScene({ egress: { ...LOOPBACK_ALLOWED, allow: ['127.0.0.1', '127.0.0.0/8', '::1', 'localhost'] } });

it('refuses a registration of itself, and takes one of its neighbour', async () => {
  const tenant = await scene.tenant();
  const { port } = new URL(scene.app.url);
  for (const host of ['127.0.0.1', 'localhost', '127.0.0.2', '[::1]']) {
    const put = await scene.app.admin(
      'PUT',
      `/tenants/${tenant.id}/servers/loop`,
      without({ url: `http://${host}:${port}/mcp` }),
    );
    expect([host, put.status, JSON.stringify(put.body)]).toEqual([
      host,
      422,
      expect.stringContaining('is this proxy itself'),
    ]);
  }
  const neighbour = await scene.open('modern');
  await tenant.put('neighbour', without({ url: neighbour.url }));
  const agent = await tenant.agent('rawModern');
  expect(await agent.callTool('neighbour__whoami')).not.toMatchObject({ isError: true });
});
