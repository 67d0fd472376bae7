// Streamable HTTP of the 2025 revisions: initialize, a session id on every request, DELETE at the end.
// The connection is a record; sockets belong to the origin's pool.
import type { Connection, UpstreamRequest } from '../connection/connection.ts';
import { OwnError, ProxyError } from '../shared/errors.ts';
import { type Hop, type Implementation, writeRequest } from '../wire/envelope.ts';
import { isLegacyVersion, LATEST_LEGACY } from '../wire/era.ts';
import { isJsonObject, type JsonObject, Reply } from '../wire/reply.ts';
import { callOverHttp, tell } from './http-call.ts';
import { replyOf, SessionLostError } from './http-errors.ts';
import { type Door, MAX_GREETING_BYTES } from './http-exchange.ts';
import { exchange } from './http-follow.ts';
import { listenOverGet } from './http-listen.ts';
import type { HttpTarget } from './http-target.ts';
import { answerServerRequest } from './server-requests.ts';

/** What of an agent's capabilities is relayed over this hop: none until their relaying is built. */
const RELAYED: JsonObject = {};
const GOODBYE_MS = 2_000;
const MAX_ANSWERING = 16;

/** Opens the session. Errors as in Connection.request; on failure nothing is left open. */
export async function initializeHttp(
  door: Door,
  target: HttpTarget,
  client: Implementation,
  signal: AbortSignal,
): Promise<Connection> {
  const params = { protocolVersion: LATEST_LEGACY, capabilities: RELAYED, clientInfo: client };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
  let reply: Reply | undefined;
  const answer = await exchange(door, {
    origin: target.origin,
    path: target.path,
    method: 'POST',
    headers: target.headers,
    body,
    echo: target.echo,
    signal,
    maxBytes: MAX_GREETING_BYTES,
    onEvent: (data) => {
      reply = replyIn(data);
      return reply !== undefined;
    },
  });
  reply ??= replyOf(answer, door.clock.now(), false);
  const result = reply.payload();
  if (reply.isError || !isJsonObject(result))
    throw new ProxyError('upstream_protocol', 'The server refused to initialize.', { cause: errorText(result) });
  const version = result['protocolVersion'];
  const session = answer.sessionId === undefined ? [] : ['mcp-session-id', answer.sessionId];
  const headers = [
    ...target.headers,
    ...session,
    'mcp-protocol-version',
    isLegacyVersion(version) ? version : LATEST_LEGACY,
  ];
  const capabilities = isJsonObject(result['capabilities']) ? result['capabilities'] : {};
  const connection = new LegacyHttpConnection(door, target, headers, answer.sessionId !== undefined, capabilities, {
    era: 'legacy',
    client,
    capabilities: RELAYED,
  });
  try {
    if (!isLegacyVersion(version))
      throw new ProxyError('upstream_protocol', 'The server speaks no protocol version that is known here.');
    await tell(door, target, headers, { jsonrpc: '2.0', method: 'notifications/initialized' }, signal);
    return connection;
  } catch (error) {
    void connection.close();
    throw error;
  }
}

function replyIn(data: string): Reply | undefined {
  const reply = Reply.from(Buffer.from(data, 'latin1'));
  return reply?.idText === '0' ? reply : undefined;
}

const errorText = (error: unknown): Error =>
  new OwnError(isJsonObject(error) ? String(error['message']).slice(0, 200) : 'no result');

class LegacyHttpConnection implements Connection {
  readonly era = 'legacy';
  readonly capabilities: JsonObject;
  isClosed = false;
  readonly #door: Door;
  readonly #target: HttpTarget;
  readonly #headers: readonly string[];
  readonly #hasSession: boolean;
  readonly #hop: Hop;
  #nextId = 1;
  #answering = 0;
  #closers: (() => void)[] | undefined;

  constructor(
    door: Door,
    target: HttpTarget,
    headers: readonly string[],
    hasSession: boolean,
    capabilities: JsonObject,
    hop: Hop,
  ) {
    this.#hop = hop;
    this.#door = door;
    this.#target = target;
    this.#headers = headers;
    this.#hasSession = hasSession;
    this.capabilities = capabilities;
  }

  async request(request: UpstreamRequest): Promise<Reply> {
    const id = this.#nextId++;
    try {
      return await callOverHttp(this.#door, {
        target: this.#target,
        headers: this.#headers,
        id,
        body: writeRequest(id, request.method, request.params, this.#hop, request.hearing !== undefined),
        hasSession: this.#hasSession,
        signal: request.signal,
        hearing: request.hearing,
        progressToken: request.progressToken,
        onServerRequest: (raw) => this.#answer(raw),
      });
    } catch (error) {
      // Closing the socket is no cancellation in these revisions; it has to be said.
      if (request.signal.aborted)
        void this.#tellQuietly({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
      if (error instanceof SessionLostError) this.#closed();
      throw error;
    }
  }

  listen(listener: (method: string) => void): () => void {
    return listenOverGet(this.#door, this.#target, this.#headers, {
      onMethod: listener,
      onLost: () => this.#closed(),
      onServerRequest: (raw) => this.#answer(raw),
    });
  }

  onClose(job: () => void): void {
    if (this.isClosed) job();
    else this.#closers = [...(this.#closers ?? []), job];
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.#closed();
    if (!this.#hasSession) return;
    const stop = new AbortController();
    const cancel = this.#door.clock.after(GOODBYE_MS, () => stop.abort(new Error('no answer to DELETE')));
    // 404, 405, 500 or nothing: the session is over for us in any case.
    await exchange(this.#door, {
      origin: this.#target.origin,
      path: this.#target.path,
      method: 'DELETE',
      headers: this.#headers,
      signal: stop.signal,
    })
      .catch(() => undefined)
      .finally(cancel);
  }

  #closed(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    for (const job of this.#closers ?? []) job();
    this.#closers = undefined;
  }

  /** To a flood of requests only so many answers are under way; the rest gets none. */
  #answer(raw: string): void {
    if (this.#answering >= MAX_ANSWERING) return;
    this.#answering += 1;
    void this.#tellQuietly(answerServerRequest(raw)).then(() => {
      this.#answering -= 1;
    });
  }

  async #tellQuietly(message: unknown): Promise<void> {
    const stop = new AbortController();
    const cancel = this.#door.clock.after(GOODBYE_MS, () => stop.abort(new Error('not taken')));
    await tell(this.#door, this.#target, this.#headers, message, stop.signal)
      .catch(() => undefined)
      .finally(cancel);
  }
}
