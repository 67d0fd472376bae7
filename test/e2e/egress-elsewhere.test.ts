// Where a server sends the product itself: the exceptions of the operator are for what is registered, and hold nowhere else.
// The rule is tried in test/upstream/egress/elsewhere.test.ts; here it is whether the product's own doors are opened with it.
import { expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { without } from '../support/scene.ts';
import { HOST, PUBLIC, URL_THERE, useSmallInternet } from './a-small-internet.ts';

const INSIDE = '10.0.0.7';
const STRANGER = 'b.example.net';
const internet = useSmallInternet(
  { allow: ['10.0.0.0/8'], allowHttp: false, ports: [443, 8443], nat64: false },
  new FakeClock(),
);

/** Calls once, and listens: the stream for that has no key in it, and may be sent elsewhere. */
async function listening(url: string) {
  const { scene } = internet;
  const tenant = await scene.tenant({ s: without({ url }) });
  const agent = await tenant.raw('rawLegacy');
  expect(textOf(await agent.callTool('s__act'))).toBe('hello');
  await agent.onListChanged(() => undefined);
}

const gets = (): readonly string[] =>
  internet.network.seen.flatMap(({ method, host, url }) => (method === 'GET' ? [host + url] : []));

it('a redirect to a name that leads into a range of the operator is not followed there, though a server there is', async () => {
  const { network, scene } = internet;
  network.answer(HOST, [PUBLIC]);
  network.answer(STRANGER, [INSIDE]);
  internet.serve('legacy', {
    onGet: ({ host }, response) => {
      if (host === HOST) response.writeHead(307, { location: `https://${STRANGER}/secret` }).end();
      else response.writeHead(405).end();
    },
  });
  await listening(URL_THERE);
  await eventually('the refusal', () =>
    scene.app.lines.some((line) => line.includes('an address was refused') && line.includes(STRANGER)),
  );
  expect(gets()).toEqual([`${HOST}/mcp`]);
  expect(network.addresses).not.toContain(INSIDE);

  // Registered, the same name is reached, by calls and by a stream; and no such socket serves the redirect.
  await listening(`https://${STRANGER}/mcp`);
  await eventually('its stream', () => gets().includes(`${STRANGER}/mcp`));
  expect(network.addresses).toContain(INSIDE);
  const before = gets().length;
  await listening(URL_THERE);
  await eventually('the stream that is sent on', () => gets().length > before);
  await eventually(
    'the second refusal',
    () =>
      scene.app.lines.filter((line) => line.includes('an address was refused') && line.includes(STRANGER)).length > 1,
  );
  expect(gets()).not.toContain(`${STRANGER}/secret`);
});
