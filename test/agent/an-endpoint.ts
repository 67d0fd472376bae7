// The MCP endpoint over HTTP, with operations and callers of a test's choice.

import type { OutgoingHttpHeaders } from 'node:http';
import { Listeners } from '../../src/agent/listeners.ts';
import { createMcpEndpoint } from '../../src/agent/mcp-endpoint.ts';
import { createMethods, type MoreMethods } from '../../src/agent/methods.ts';
import { parseMcpRoute } from '../../src/agent/route.ts';
import { Sessions } from '../../src/agent/sessions.ts';
import type { Caller } from '../../src/identity/caller.ts';
import { createShares } from '../../src/limits/shares.ts';
import type { Answer, Call, Operations, SignInDone } from '../../src/proxy/operations.ts';
import { ProxyError } from '../../src/shared/errors.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { ANNA, aCaller, BEN, ownerKeyOf } from '../catalog/a-tenant.ts';
import { SELF, viewOf } from '../catalog/a-view.ts';
import { AChangeFeed } from '../support/a-change-feed.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { someLimits } from '../support/limits.ts';
import { ADoor, type Answered } from './a-door.ts';

export const MODERN = '2026-07-28';
export const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientCapabilities': { sampling: {} },
};
export const JSON_BODY: OutgoingHttpHeaders = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

export type CallTool = (caller: Caller, call: Call, signal: AbortSignal) => Promise<Answer>;

/** Methods other than those of tools are tried with the whole product. */
const NO_MORE: MoreMethods = { both: [], other: () => Promise.reject(new Error('no such method')) };

export class Bench {
  readonly clock = new FakeClock();
  /** Of every tenant. */
  limits = someLimits();
  readonly known: string[] = [];
  readonly sessions = new Sessions(this.clock, () => this.limits);
  readonly lines: string[] = [];
  readonly listeners = new Listeners({
    registry: { onChange: () => () => undefined },
    changes: new AChangeFeed(),
    ownerKeyOf,
    limitsOf: () => this.limits,
    clock: this.clock,
    onInterest: () => undefined,
  });
  readonly calls: { caller: Caller; call: Call; signal: AbortSignal }[] = [];
  callTool: CallTool = () => Promise.resolve({ kind: 'result', result: { content: [] } });
  listTools: Operations['listTools'] = () => Promise.resolve(viewOf([['linear', ['search']]]));
  signInDone: SignInDone = () => Promise.resolve(false);
  isStopping = false;
  /** Awaited before anybody is known. */
  lookUp: Promise<void> | undefined;
  #door: ADoor | undefined;

  async door(): Promise<ADoor> {
    const operations: Operations = {
      callTool: (caller, call, signal) => (
        this.calls.push({ caller, call, signal }), this.callTool(caller, call, signal)
      ),
      listTools: (...args) => this.listTools(...args),
    };
    const shares = createShares(() => this.limits, this.clock);
    const mcp = createMcpEndpoint({
      authenticate: (request) => {
        const name = request.headers.authorization;
        if (name === undefined) throw new ProxyError('unauthenticated', 'No credential.');
        if (name === 'weak') throw new ProxyError('insufficient_scope', 'Not allowed.');
        const caller = aCaller(name === 'ben' ? BEN : ANNA);
        return this.lookUp === undefined ? caller : this.lookUp.then(() => caller);
      },
      challenge: (_request, route, { code }) => `Bearer path="${route.path}", why="${code}"`,
      onKnown: (request) => this.known.push(`${request.method}`),
      shares,
      methods: createMethods(operations, SELF, NO_MORE),
      signInDone: (...args) => this.signInDone(...args),
      sessions: this.sessions,
      listeners: this.listeners,
      logger: createLogger('debug', { write: (line) => void this.lines.push(line) }),
      isStopping: () => this.isStopping,
    });
    return (this.#door ??= await ADoor.open((request, response) => {
      const route = parseMcpRoute(request.url ?? '');
      if (route === undefined) response.writeHead(404).end();
      else mcp(request, response, route);
    }));
  }

  async post(
    message: unknown,
    headers: OutgoingHttpHeaders = {},
    path = '/mcp',
  ): Promise<Answered & { json: () => Record<string, unknown> }> {
    const body = typeof message === 'string' ? message : JSON.stringify(message);
    const answered = await (await this.door()).request(
      'POST',
      path,
      { ...JSON_BODY, authorization: 'anna', ...headers },
      body,
    );
    return { ...answered, json: () => JSON.parse(answered.text) as Record<string, unknown> };
  }

  async session(
    headers: OutgoingHttpHeaders = {},
    params: object = { protocolVersion: '2025-11-25', capabilities: {} },
    path = '/mcp',
  ): Promise<{ 'mcp-session-id': string }> {
    const answered = await this.post({ jsonrpc: '2.0', id: 0, method: 'initialize', params }, headers, path);
    return { 'mcp-session-id': String(answered.headers['mcp-session-id']) };
  }

  async modern(
    method: string,
    params: object = {},
    headers: OutgoingHttpHeaders = {},
  ): Promise<Answered & { json: () => Record<string, unknown> }> {
    const name = (params as { name?: string }).name;
    return this.post(
      { jsonrpc: '2.0', id: 'm', method, params: { ...params, _meta: META } },
      {
        'mcp-protocol-version': MODERN,
        'mcp-method': method,
        ...(name === undefined ? {} : { 'mcp-name': name }),
        ...headers,
      },
    );
  }

  async close(): Promise<void> {
    this.listeners.close();
    this.sessions.close();
    await this.#door?.close();
  }
}

export const request = (method: string, params?: object, id: unknown = 1): object => ({
  jsonrpc: '2.0',
  id,
  method,
  ...(params === undefined ? {} : { params }),
});
export const hanging: CallTool = (_caller, _call, signal) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));
