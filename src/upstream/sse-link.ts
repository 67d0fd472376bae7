// A connection over the transport of 2024-11-05: one event stream that brings everything, and a POST
// for each message out. The SDK's transport runs it; what travels on it is ours (see sse-door.ts).
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Dial } from '../connection/connection.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
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

export interface SseDialDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly client: Implementation;
  /** The one way out of the process: each tenant's sockets are its own. */
  readonly fetchOf: (tenantId: TenantId) => FetchLike;
  readonly policy: EgressPolicy;
}

interface SseLinkDeps extends Omit<SseDialDeps, 'fetchOf'> {
  readonly fetch: FetchLike;
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
      { ...deps, fetch: deps.fetchOf(server.tenantId), logger },
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
  /** Why the stream is over; the transport itself would only know a text. */
  #failure: ProxyError | undefined;

  constructor(deps: SseLinkDeps, url: URL, headers: ReadonlyMap<string, string>, echo: Echo) {
    const { clock, logger, client } = deps;
    this.peer = new RpcPeer({ clock, logger, client, send: this.#send, echo });
    const ears = {
      message: (message: Buffer) => {
        if (!this.peer.receive(message))
          deps.logger.debug({ bytes: message.length }, 'an event that is no message was skipped');
      },
      flush: () => this.peer.flush(),
      ended: (error: ProxyError) => this.#onEnded(error),
    };
    // The headers go past the SDK, which has no use for them and would keep them in the open.
    this.#transport = new SSEClientTransport(url, {
      fetch: createSseFetch({ ...deps, fetch: withHeaders(deps.fetch, headers), echo }, url, ears),
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
    this.#transport.setProtocolVersion(greeting.version);
    return greeting;
  }

  async close(): Promise<void> {
    this.peer.close(
      this.#failure ??
        new ProxyError('upstream_unavailable', 'The connection to the server was closed; the call may have run.'),
    );
    await this.#transport.close();
  }

  /** Closing also keeps the transport from connecting again, which would be another session. */
  #onEnded(error: ProxyError): void {
    this.#failure ??= error;
    void this.close();
  }

  readonly #send: Send = (text, done) => {
    // Its type is not looked at: the transport only turns it back into the text we wrote.
    this.#transport.send(JSON.parse(text) as JSONRPCMessage).then(
      () => done(),
      (error: unknown) => {
        done(
          error instanceof ProxyError
            ? error
            : new ProxyError('upstream_unavailable', 'The connection to the server broke; the call may have run.', {
                cause: error,
              }),
        );
        // This message did not run; of those before it nobody knows.
        if (error instanceof SessionLostError)
          this.#onEnded(
            new ProxyError('upstream_unavailable', 'The server has forgotten the session; the call may have run.', {
              cause: error,
            }),
          );
      },
    );
  };
}
