// The made-up internet of the guard's tests around the whole product, and an MCP server in it: one handler for whatever host
// the product was led to, so that what reached which host is told by what was seen.
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { afterAll, beforeAll } from 'vitest';
import type { EgressSettings } from '../../src/upstream/egress/policy.ts';
import type { FakeClock } from '../support/fake-clock.ts';
import { type Scene, useScene } from '../support/scene.ts';
import { errorText, type Message, parseMessage, resultText } from '../support/upstreams/message.ts';
import { LEGACY, MODERN } from '../support/upstreams/revisions.ts';
import { CA, Network, type Seen } from '../upstream/egress/a-network.ts';

export const PUBLIC = '93.184.216.34';
/** The host that is registered, and the address under which it is. */
export const HOST = 'a.example.com';
export const URL_THERE = `https://${HOST}/mcp`;

type Answer = (request: Seen, response: ServerResponse) => void;

export interface SmallInternet {
  readonly scene: Scene;
  readonly network: Network;
  /** From now on an MCP server answers at every host. `onGet` answers requests that are no message, `onCall` calls of tools. */
  serve(era: 'legacy' | 'modern', answers?: { readonly onGet?: Answer; readonly onCall?: Answer }): void;
}

/** Call at the top of a test file. Time stands still, so nothing is asked for again until a test says so. */
export function useSmallInternet(egress: EgressSettings, clock: FakeClock): SmallInternet {
  let opened: Network | undefined;
  const network = (): Network => {
    if (opened === undefined) throw new Error('There is no network yet');
    return opened;
  };
  // Before the app of the scene, which may use it at once.
  beforeAll(async () => {
    opened = await Network.open();
  });
  const scene = useScene({
    egress,
    clock,
    network: { resolve: (...asked) => network().resolve(...asked), dial: (target) => network().dial(target), ca: CA },
  });
  afterAll(() => opened?.close());
  return {
    scene,
    get network() {
      return network();
    },
    serve(era, { onGet = nothing, onCall = hello } = {}) {
      network().handle = (request, response) => {
        const message = parseMessage(request.body);
        if (message === undefined) onGet(request, response);
        else if (message.method === 'tools/call') onCall(request, response);
        else send(response, answerTo(era, message), message.method === 'initialize' ? SESSION : {});
      };
    },
  };
}

const SESSION = { 'mcp-session-id': 'the-session' };

const nothing: Answer = (_request, response) => void response.writeHead(405).end();

/** What a tool says when all is well. */
export const hello: Answer = ({ body }, response) => {
  const { id = 0 } = parseMessage(body) ?? {};
  send(response, resultText(id, '{"resultType":"complete","content":[{"type":"text","text":"hello"}]}'));
};

function send(response: ServerResponse, text: string | undefined, headers: OutgoingHttpHeaders = {}): void {
  if (text === undefined) response.writeHead(202).end();
  else response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(text);
}

function answerTo(era: 'legacy' | 'modern', { id, method }: Message): string | undefined {
  if (id === undefined) return undefined;
  const capabilities = { tools: { listChanged: true } };
  const tools = [{ name: 'act', inputSchema: { type: 'object' } }];
  const results: Readonly<Record<string, object>> =
    era === 'legacy'
      ? {
          initialize: { protocolVersion: LEGACY[0], capabilities, serverInfo: { name: 'small', version: '1' } },
          'tools/list': { tools },
        }
      : {
          'server/discover': { resultType: 'complete', supportedVersions: [MODERN], capabilities },
          'tools/list': { resultType: 'complete', tools, ttlMs: 0, cacheScope: 'private' },
        };
  const result = results[method ?? ''];
  return result === undefined ? errorText(id, -32601, 'Method not found') : resultText(id, JSON.stringify(result));
}
