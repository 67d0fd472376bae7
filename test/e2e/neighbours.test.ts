// A tenant with many servers that hang, or one of every bad kind, is nobody else's trouble.
import { expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { useScene, without } from '../support/scene.ts';
import { within } from '../support/within.ts';

const scene = useScene({ limits: { listDeadlineMs: 3_000 } });

const manyHanging = async () => {
  const hanging = await scene.bad('hang', { on: 'anything' });
  const names = Array.from({ length: 20 }, (_, at) => `h${at}`);
  return Object.fromEntries(names.map((name) => [name, without(hanging, { connectTimeoutMs: 60_000 })]));
};

it('lets one tenant find its tools while twenty servers of another hang', async () => {
  await scene.tenant(await manyHanging());
  const good = await scene.open('legacy');
  const tenant = await scene.tenant({ good: without(good) });
  const agent = await tenant.raw('rawModern');
  const start = performance.now();
  expect(textOf(await within(agent.callTool('good__whoami'), 'the call'))).toMatch(/^who=anonymous/);
  expect(performance.now() - start).toBeLessThan(1_500);
});

it('lets a tenant find the tools of its good server while its twenty others hang', async () => {
  const good = await scene.open('legacy');
  const tenant = await scene.tenant({ ...(await manyHanging()), 'z-good': without(good) });
  const agent = await tenant.raw('rawModern');
  const { tools } = await agent.listTools();
  expect(tools.map(({ name }) => name)).toContain('z-good__whoami');
});

it('lets a tenant use a server on which hundreds of calls of another tenant hang', async () => {
  const hanging = await scene.bad('hang', { on: 'tools/call' });
  const busy = await scene.tenant({ shared: without(hanging, { maxConcurrentCalls: 300 }) });
  const agent = await busy.raw('rawModern');
  const [tool] = (await agent.listTools()).tools;
  for (let n = 0; n < 300; n++) void agent.callTool(tool?.name ?? '').catch(() => undefined);
  // As many as there are sockets to one origin.
  await hanging.until(() => hanging.openResponses >= 256, 'the calls to hang');
  const tenant = await scene.tenant({ shared: without(hanging) });
  const start = performance.now();
  const { tools } = await (await tenant.raw('rawModern')).listTools();
  expect(tools.map(({ name }) => name)).toContain(tool?.name);
  expect(performance.now() - start).toBeLessThan(2_500);
  hanging.mode = 'healthy';
});
