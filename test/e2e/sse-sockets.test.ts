// A server of the old transport that answers no POST gets no more sockets of a tenant than any other server.
import { expect, it } from 'vitest';
import { anOldSseServer, type OldMessage } from '../support/old-sse-server.ts';
import { useScene, without } from '../support/scene.ts';
import { watchSockets } from '../support/upstreams/socket-watch.ts';
import { Watched } from '../support/upstreams/watched.ts';
import { within } from '../support/within.ts';

const scene = useScene();

const SOCKETS = 256;
const CALLS = SOCKETS + 20;
const RESULTS: Readonly<Record<string, unknown>> = {
  initialize: {
    protocolVersion: '2024-11-05',
    capabilities: { tools: {} },
    serverInfo: { name: 'old', version: '1' },
  },
  'tools/list': { tools: [{ name: 'hello', inputSchema: { type: 'object' } }] },
};

it('holds no more than 256 sockets of a tenant by POSTs, and every call is answered all the same', async () => {
  const posts = new Watched();
  const held: OldMessage[] = [];
  let holds = true;
  const answer = ({ id }: OldMessage, result: unknown): void =>
    old.event(JSON.stringify({ jsonrpc: '2.0', id, result }));
  const greet = ({ method = '' }: OldMessage): unknown => RESULTS[method];
  const hello = { content: [{ type: 'text', text: 'hello' }] };
  const old = await scene.keep(
    anOldSseServer({
      onPost(message, res) {
        if (message.method !== 'tools/call') return false;
        if (holds) held.push(message);
        else {
          res.writeHead(202).end();
          answer(message, hello);
        }
        posts.changed();
        return true;
      },
      onMessage: (message) =>
        greet(message) !== undefined && message.method !== 'initialize' && answer(message, greet(message)),
    }),
  );
  const watch = await scene.keep(watchSockets(old.url));
  const tenant = await scene.tenant({ old: without({ url: watch.url }, { type: 'sse', maxConcurrentCalls: 1000 }) });
  const agent = await tenant.raw('rawLegacy', 'ada');
  await agent.listTools();
  const calls = Array.from({ length: CALLS }, () => agent.callTool('old__hello'));
  await posts.until(() => held.length >= SOCKETS, 'as many POSTs as there are sockets');
  // Those behind them had the same chance to come.
  await within(agent.listTools(), 'the tools');
  expect(held).toHaveLength(SOCKETS);
  // The stream has one of its own.
  expect(watch.open).toBe(SOCKETS + 1);
  holds = false;
  for (const message of held) answer(message, hello);
  const answers = await within(Promise.all(calls), 'all answers', 20_000);
  expect(answers.filter(({ isError }) => isError !== true)).toHaveLength(CALLS);
});
