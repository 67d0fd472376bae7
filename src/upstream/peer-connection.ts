// A connection whose calls share one stream of messages; the transport only adds how it ends.
import type { Connection, UpstreamRequest } from '../connection/connection.ts';
import { ProxyError } from '../shared/errors.ts';
import type { Era } from '../wire/era.ts';
import type { JsonObject, Reply } from '../wire/reply.ts';
import type { Greeting } from './peer-greeting.ts';
import type { RpcPeer } from './rpc-peer.ts';

const LIST_CHANGES = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

export class PeerConnection implements Connection {
  readonly era: Era;
  readonly capabilities: JsonObject;
  readonly #peer: RpcPeer;
  readonly #end: () => Promise<void>;
  #listening = 0;
  #subscription: AbortController | undefined;

  constructor(peer: RpcPeer, greeting: Greeting, end: () => Promise<void>) {
    this.era = greeting.era;
    this.capabilities = greeting.capabilities;
    this.#peer = peer;
    this.#end = end;
  }

  get isClosed(): boolean {
    return this.#peer.isClosed;
  }

  request(request: UpstreamRequest): Promise<Reply> {
    return this.#peer.request(this.era, request);
  }

  listen(listener: (method: string) => void): () => void {
    const stop = this.#peer.listen(listener);
    this.#listening += 1;
    if (this.era === 'modern' && this.#listening === 1) this.#subscribe();
    let isStopped = false;
    return () => {
      if (isStopped) return;
      isStopped = true;
      stop();
      this.#listening -= 1;
      if (this.#listening === 0) this.#subscription?.abort(new ProxyError('cancelled', 'Nobody listens any more.'));
    };
  }

  onClose(job: () => void): void {
    this.#peer.onClose(job);
  }

  close(): Promise<void> {
    this.#peer.close(
      new ProxyError('upstream_unavailable', 'The connection to the server was closed; the call may have run.'),
    );
    return this.#end();
  }

  /** Modern servers speak up only when asked to, by a request that stays open (2026-07-28 §basic/patterns/subscriptions). */
  #subscribe(): void {
    this.#subscription = new AbortController();
    const params = { notifications: LIST_CHANGES };
    // A server that offers no such thing, or ends it, is simply not heard.
    void this.request({ method: 'subscriptions/listen', params, signal: this.#subscription.signal }).catch(
      () => undefined,
    );
  }
}
