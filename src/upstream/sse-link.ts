// A connection over the transport of 2024-11-05: one event stream that brings everything, and a POST
// for each message out. The SDK's transport runs the stream; what travels on it is ours (see sse-door.ts), and so are
// the POSTs (see sse-outbox.ts): the SDK knows no way to end one.
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Dispatcher } from 'undici';
import type { Dial } from '../connection/connection.ts';
import type { Clock } from '../shared/clock.ts';
import { NotRunError, ProxyError } from '../shared/errors.ts';
import type { TenantId } from '../shared/id.ts';
import type { Logger } from '../shared/logger.ts';
import { waitFor } from '../shared/single-flight.ts';
import type { Implementation } from '../wire/envelope.ts';
import { Echo } from './echo.ts';
import type { EgressPolicy } from './egress/policy.ts';
import { SessionLostError } from './http-errors.ts';
import { identityHeaders } from './http-target.ts';
import { knownSecrets } from './known-secrets.ts';
import { PeerConnection } from './peer-connection.ts';
import { type Greeting, greetLegacy } from './peer-greeting.ts';
import { RpcPeer, type Send } from './rpc-peer.ts';
import { createSseFetch } from './sse-door.ts';
import { SseOutbox } from './sse-outbox.ts';

export interface SseWays {
  /** For the event stream, which keeps its socket as long as the connection lives. */
  readonly stream: FetchLike;
  /** For what is posted. */
  readonly calls: Dispatcher;
}

export interface SseDialDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly client: Implementation;
  /** The one way out of the process: each tenant's sockets are its own. */
  readonly waysOf: (tenantId: TenantId) => SseWays;
  readonly policy: EgressPolicy;
}

interface SseLinkDeps extends Omit<SseDialDeps, 'waysOf'> {
  readonly ways: SseWays;
}

export function createSseDial(deps: SseDialDeps): Dial {
  return async (server, credential, signal) => {
    const { transport } = server;
    if (transport.kind !== 'sse') throw new ProxyError('internal', 'This server does not speak HTTP+SSE.');
    signal.throwIfAborted();
    const headers = identityHeaders(transport, server.credential, credential);
    const echo = new Echo(knownSecrets(transport, server.credential, credential));
    const logger = deps.logger.child({ tenantId: server.tenantId, server: server.name });
    const link = new SseLink(
      { ...deps, ways: deps.waysOf(server.tenantId), logger },
      new URL(transport.url),
      headers,
      echo,
    );
    try {
      const greeting = await waitFor(link.open(), signal).then(() => waitFor(link.greet(deps.client, signal), signal));
      return new PeerConnection(link.peer, greeting, () => link.close());
    } catch (error) {
      await link.close();
      throw error;
    }
  };
}

const ON_MESSAGES = [
  ['content-type', 'application/json'],
  ['accept', '*/*'],
] as const;
/** In no coding: what a server packs it could pack to nothing. */
const PLAIN = [['accept-encoding', 'identity']] as const;

function withHeaders(fetch: FetchLike, own: ReadonlyMap<string, string>): FetchLike {
  return (url, init) => {
    const headers = new Headers(init?.headers);
    for (const [name, value] of own) headers.set(name, value);
    // Left out, fetch would ask for every coding it knows.
    headers.set('accept-encoding', 'identity');
    return fetch(url, { ...init, headers });
  };
}

/** Joins one transport to one peer. */
class SseLink {
  readonly peer: RpcPeer;
  // Deprecated as the transport is; servers that speak nothing else are still about.
  readonly #transport: SSEClientTransport;
  readonly #outbox: SseOutbox;
  /** Out of sight of whatever prints an object: the credential stands in it. */
  readonly #headers: ReadonlyMap<string, string>;
  #endpoint: string | undefined;
  #version: string | undefined;
  /** Why the stream is over; the transport itself would only know a text. */
  #failure: ProxyError | undefined;

  constructor(deps: SseLinkDeps, url: URL, headers: ReadonlyMap<string, string>, echo: Echo) {
    const { clock, logger, client, policy, ways } = deps;
    this.#headers = headers;
    this.#outbox = new SseOutbox({ dispatcher: ways.calls, policy, clock, echo });
    this.peer = new RpcPeer({ clock, logger, client, send: this.#send, echo });
    const ears = {
      endpoint: (url: string) => (this.#endpoint = url),
      message: (message: Buffer) => {
        if (!this.peer.receive(message))
          deps.logger.debug({ bytes: message.length }, 'an event that is no message was skipped');
      },
      flush: () => this.peer.flush(),
      ended: (error: ProxyError) => this.#onEnded(error),
    };
    // The headers go past the SDK, which has no use for them and would keep them in the open.
    this.#transport = new SSEClientTransport(url, {
      fetch: createSseFetch({ ...deps, fetch: withHeaders(ways.stream, headers), echo }, url, ears),
    });
  }

  /** Resolves when the server has named its endpoint. */
  async open(): Promise<void> {
    // A closed transport leaves its start unsettled.
    const closed = new Promise<never>((_, reject) =>
      this.peer.onClose(() => reject(this.#failure ?? new Error('closed'))),
    );
    closed.catch(() => undefined);
    try {
      await Promise.race([this.#transport.start(), closed]);
    } catch (cause) {
      throw this.#failure ?? new ProxyError('upstream_protocol', 'The server did not open an event stream.', { cause });
    }
  }

  async greet(client: Implementation, signal: AbortSignal): Promise<Greeting> {
    const greeting = await greetLegacy(this.peer, client, signal);
    this.#version = greeting.version;
    return greeting;
  }

  async close(): Promise<void> {
    this.peer.close(
      this.#failure ??
        new ProxyError('upstream_unavailable', 'The connection to the server was closed; the call may have run.'),
    );
    this.#outbox.close();
    await this.#transport.close();
  }

  /** Closing also keeps the transport from connecting again, which would be another session. */
  #onEnded(error: ProxyError): void {
    this.#failure ??= error;
    void this.close();
  }

  readonly #send: Send = (text, done, isAwaited) => {
    const left = (error?: unknown): void => {
      if (error === undefined) return done();
      done(error instanceof ProxyError ? error : internal(error));
      // This message did not run; of those before it nobody knows.
      if (error instanceof SessionLostError)
        this.#onEnded(
          new ProxyError('upstream_unavailable', 'The server has forgotten the session; the call may have run.', {
            cause: error,
          }),
        );
    };
    // A server may ask before it has said where answers go.
    if (this.#endpoint === undefined) {
      done(new NotRunError('The server has not said yet where messages go.'));
      return undefined;
    }
    return this.#outbox.send({ url: this.#endpoint, headers: this.#messageHeaders(), body: text }, left, isAwaited);
  };

  #messageHeaders(): readonly string[] {
    const headers = new Map([...ON_MESSAGES, ...this.#headers, ...PLAIN]);
    if (this.#version !== undefined) headers.set('mcp-protocol-version', this.#version);
    return [...headers].flat();
  }
}

const internal = (cause: unknown): ProxyError => new ProxyError('internal', 'A message could not be sent.', { cause });
