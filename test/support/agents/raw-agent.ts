// JSON-RPC over HTTP by hand, in either era: nothing is hidden, dropped or repaired on the way to the test.
import http from 'node:http';
import { type JsonObject, objectAt } from '../upstreams/message.ts';
import { CAPABILITIES_KEY, CLIENT_INFO_KEY, LEGACY, MODERN, VERSION_KEY } from '../upstreams/revisions.ts';
import { within } from '../within.ts';
import type { Agent, AgentHeaders, CallOptions, OfferMethod, Progress } from './agent.ts';
import { allPages } from './all-pages.ts';
import type { EventStream } from './event-stream.ts';
import { type RawHeaders, type RawResponse, rawRequest } from './raw-http.ts';
import { resultOf } from './raw-result.ts';

export { HttpError } from './raw-result.ts';

type Kind = 'rawLegacy' | 'rawModern';

export interface RawOptions {
  readonly capabilities?: JsonObject;
}

const clientInfo = { name: 'raw', version: '1.0.0' };

export class RawAgent implements Agent {
  readonly kind: Kind;
  readonly url: string;
  /** Sent with each request; change it to become somebody else. */
  headers: RawHeaders;
  session: string | undefined;
  /** What initialize or discover said. */
  greeting: JsonObject = {};
  readonly #capabilities: JsonObject;
  readonly #http = new http.Agent({ keepAlive: true });
  #lastId = 0;

  constructor(kind: Kind, url: string, headers: AgentHeaders, options: RawOptions = {}) {
    this.kind = kind;
    this.url = url;
    this.headers = headers;
    this.#capabilities = options.capabilities ?? {};
  }

  /** Sends a body as it is, a string or bytes untouched. Headers given here win over the usual ones. */
  post(
    body: JsonObject | readonly unknown[] | string | Buffer,
    headers: RawHeaders = {},
    signal?: AbortSignal,
  ): Promise<RawResponse> {
    const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const usual = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    return this.#send('POST', { ...usual, ...headers }, bytes, signal);
  }

  get(headers: RawHeaders = {}): Promise<RawResponse> {
    return this.#send('GET', { accept: 'text/event-stream', ...headers });
  }

  delete(headers: RawHeaders = {}): Promise<RawResponse> {
    return this.#send('DELETE', headers);
  }

  /** A request in this agent's era, not sent yet: body and the headers that go with it. */
  compose(method: string, params: JsonObject = {}): { readonly body: JsonObject; readonly headers: RawHeaders } {
    const id = ++this.#lastId;
    if (this.kind === 'rawLegacy') return { body: { jsonrpc: '2.0', id, method, params }, headers: {} };
    const envelope = { [VERSION_KEY]: MODERN, [CAPABILITIES_KEY]: this.#capabilities, [CLIENT_INFO_KEY]: clientInfo };
    const name = params['name'] ?? params['uri'];
    return {
      body: { jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...objectAt(params, '_meta'), ...envelope } } },
      headers: { 'mcp-method': method, ...(name === undefined ? {} : { 'mcp-name': headerValue(String(name)) }) },
    };
  }

  send(method: string, params?: JsonObject, signal?: AbortSignal): Promise<RawResponse> {
    const { body, headers } = this.compose(method, params);
    return this.post(body, headers, signal);
  }

  async request(method: string, params?: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    return resultOf(await this.send(method, params, signal));
  }

  async notify(method: string, params: JsonObject = {}): Promise<number> {
    return (await this.post({ jsonrpc: '2.0', method, params })).status;
  }

  async greet(): Promise<void> {
    if (this.kind === 'rawModern') {
      this.greeting = await this.request('server/discover');
      return;
    }
    const params = { protocolVersion: LEGACY[0], capabilities: this.#capabilities, clientInfo };
    const response = await within(this.send('initialize', params), 'initialize');
    this.greeting = await resultOf(response);
    this.session = response.headers['mcp-session-id'] as string | undefined;
    await this.notify('notifications/initialized');
  }

  listTools(): ReturnType<Agent['listTools']> {
    return allPages((cursor) => this.request('tools/list', cursor === undefined ? {} : { cursor }));
  }

  async callTool(name: string, args: JsonObject = {}, { onProgress, signal }: CallOptions = {}): Promise<JsonObject> {
    const meta = onProgress === undefined ? {} : { _meta: { progressToken: `token-${this.#lastId + 1}` } };
    const response = await this.send('tools/call', { name, arguments: args, ...meta }, signal);
    if (onProgress !== undefined && response.stream !== undefined) {
      hear(response.stream, 'notifications/progress', (message) => onProgress(message['params'] as Progress));
    }
    return resultOf(response);
  }

  ask(method: OfferMethod, params: JsonObject = {}): Promise<JsonObject> {
    return this.request(method, params);
  }

  async onListChanged(changed: () => void): Promise<void> {
    const response = await (this.kind === 'rawModern'
      ? this.send('subscriptions/listen', { notifications: { toolsListChanged: true } })
      : this.get());
    const { stream } = response;
    if (stream === undefined) throw new Error(`No stream but ${response.status}`);
    if (this.kind === 'rawModern') await stream.nth(1);
    hear(stream, 'notifications/tools/list_changed', changed);
  }

  async close(): Promise<void> {
    if (this.session !== undefined) await this.delete();
    this.#http.destroy();
  }

  #send(method: string, headers: RawHeaders, body?: string | Buffer, signal?: AbortSignal): Promise<RawResponse> {
    const version = this.kind === 'rawModern' ? MODERN : this.session === undefined ? undefined : LEGACY[0];
    const own = { 'mcp-protocol-version': version, 'mcp-session-id': this.session };
    return rawRequest({
      url: this.url,
      method,
      headers: { ...own, ...this.headers, ...headers },
      agent: this.#http,
      signal,
      ...(body === undefined ? {} : { body }),
    });
  }
}

/** Each message of this method, once, as it comes. */
function hear(stream: EventStream, method: string, job: (message: JsonObject) => void): void {
  let heard = 0;
  stream.onChange(() => {
    for (const message of stream.messages.slice(heard)) {
      heard++;
      if (message['method'] === method) job(message);
    }
  });
}

/** SEP-2243: a value that a header cannot carry travels as base64. */
const headerValue = (value: string): string =>
  /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.startsWith('=?')
    ? value
    : `=?base64?${Buffer.from(value).toString('base64')}?=`;

export async function connectRaw(
  kind: Kind,
  url: string,
  headers: AgentHeaders = {},
  options: RawOptions = {},
): Promise<RawAgent> {
  const agent = new RawAgent(kind, url, headers, options);
  await agent.greet();
  return agent;
}
