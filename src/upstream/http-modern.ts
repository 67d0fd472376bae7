// Streamable HTTP of 2026-07-28: no session, every request stands for itself and says who asks, in
// which version, in `_meta` and in headers that mirror the body.
import type { Connection, UpstreamRequest } from '../connection/connection.ts';
import { NotRunError, ProxyError } from '../shared/errors.ts';
import { type Hop, type Implementation, writeRequest } from '../wire/envelope.ts';
import { META_CAPABILITIES, META_CLIENT_INFO, META_VERSION, MODERN_VERSION } from '../wire/era.ts';
import { encodeHeaderValue } from '../wire/headers.ts';
import { isJsonObject, type JsonObject, type Reply } from '../wire/reply.ts';
import { callOverHttp } from './http-call.ts';
import type { Door } from './http-exchange.ts';
import { keepListening } from './http-listen.ts';
import type { HttpTarget } from './http-target.ts';

const NONE: JsonObject = {};
const CODE_BYTES = 32;
const UNSUPPORTED_VERSION = -32022;
/** What servers of the other era say to a request without a session; the next call asks anew which era it is. */
const DRIFT_CODES = new Set<unknown>([-32000, -32001, -32600]);
const DRIFT_STATUS = new Set<unknown>([400, 404, 405, 406]);

/** Headers of one modern request. */
export function modernHeaders(target: HttpTarget, method: string, name?: string): readonly string[] {
  const headers = [...target.headers, 'mcp-protocol-version', MODERN_VERSION, 'mcp-method', method];
  if (name !== undefined) headers.push('mcp-name', encodeHeaderValue(name));
  return headers;
}

export class ModernHttpConnection implements Connection {
  readonly era = 'modern';
  readonly capabilities: JsonObject;
  isClosed = false;
  readonly #door: Door;
  readonly #target: HttpTarget;
  readonly #client: Implementation;
  #nextId = 1;
  #closers: (() => void)[] | undefined;
  readonly #onDrift: () => void;

  /** @param onDrift told when the server does not seem to speak this era any more */
  constructor(
    door: Door,
    target: HttpTarget,
    client: Implementation,
    discovered: unknown,
    onDrift: () => void = () => undefined,
  ) {
    this.#onDrift = onDrift;
    this.#door = door;
    this.#target = target;
    this.#client = client;
    this.capabilities =
      isJsonObject(discovered) && isJsonObject(discovered['capabilities']) ? discovered['capabilities'] : NONE;
  }

  async request(request: UpstreamRequest): Promise<Reply> {
    try {
      return this.#unlessDrifted(await this.#call(request));
    } catch (error) {
      if (error instanceof ProxyError && DRIFT_STATUS.has(error.data?.['status'])) this.#drifted();
      throw error;
    }
  }

  #call(request: UpstreamRequest): Promise<Reply> {
    const id = this.#nextId++;
    const hop: Hop = { era: this.era, client: this.#client, capabilities: request.capabilities ?? NONE };
    const headers = modernHeaders(this.#target, request.method, request.name);
    return callOverHttp(this.#door, {
      target: this.#target,
      headers: request.paramHeaders === undefined ? headers : [...headers, ...request.paramHeaders.flat()],
      id,
      body: writeRequest(id, request.method, request.params, hop, request.hearing !== undefined),
      hasSession: false,
      signal: request.signal,
      hearing: request.hearing,
      progressToken: request.progressToken,
      onServerRequest: () => undefined, // there are none in this era
    });
  }

  listen(listener: (method: string) => void): () => void {
    const method = 'subscriptions/listen';
    const meta = { [META_VERSION]: MODERN_VERSION, [META_CLIENT_INFO]: this.#client, [META_CAPABILITIES]: NONE };
    const headers = modernHeaders(this.#target, method);
    const ear = { onMethod: listener, onLost: () => void this.close(), onServerRequest: () => undefined };
    return keepListening(this.#door, ear, (base) => ({
      ...base,
      origin: this.#target.origin,
      path: this.#target.path,
      echo: this.#target.echo,
      method: 'POST',
      headers,
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: this.#nextId++,
        method,
        params: { notifications: { toolsListChanged: true }, _meta: meta },
      }),
    }));
  }

  /** -32022 says that the version was refused, so nothing ran; it is between the server and us (2026-07-28 §basic/versioning). */
  #unlessDrifted(reply: Reply): Reply {
    if (!reply.isError) return reply;
    const code = reply.smallMember('code', CODE_BYTES);
    if (code === UNSUPPORTED_VERSION || DRIFT_CODES.has(code)) this.#drifted();
    if (code === UNSUPPORTED_VERSION)
      throw new NotRunError('The server does not speak this protocol version any more.');
    return reply;
  }

  #drifted(): void {
    this.#onDrift();
    void this.close();
  }

  onClose(job: () => void): void {
    if (this.isClosed) job();
    else this.#closers = [...(this.#closers ?? []), job];
  }

  close(): Promise<void> {
    this.isClosed = true;
    for (const job of this.#closers ?? []) job();
    this.#closers = undefined;
    return Promise.resolve();
  }
}
