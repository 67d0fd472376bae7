// The other end of a stream of messages that many calls share: every answer finds its request by our
// own number, and whatever else the server says reaches the call it belongs to or nobody.
import type { UpstreamRequest } from '../connection/connection.ts';
import type { Clock } from '../shared/clock.ts';
import { NotRunError, ProxyError } from '../shared/errors.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { type Implementation, readdressProgress, writeRequest } from '../wire/envelope.ts';
import type { Era } from '../wire/era.ts';
import { isJsonObject, type JsonObject, Reply } from '../wire/reply.ts';
import { idAtEnds } from '../wire/scan.ts';
import type { Echo } from './echo.ts';
import { MAX_NOTICE_BYTES } from './http-call.ts';
import { answerServerRequest } from './server-requests.ts';
import { SharedEar } from './shared-ear.ts';

/** Says that nobody waits for a message any more, and whether its answer has come. */
export type Over = (isAnswered: boolean) => void;

/**
 * How a message leaves. `done` is called once: with an error when it may not have arrived. A transport that has to
 * know until when a message is waited for gives the way to tell it.
 */
export type Send = (text: string, done: (error?: ProxyError) => void, isAwaited: boolean) => Over | undefined;

export interface PeerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly client: Implementation;
  readonly send: Send;
  /** Takes what must not come back out of each message. */
  readonly echo: Echo;
}

interface Pending {
  readonly request: UpstreamRequest;
  readonly ear: SharedEar | undefined;
  over: Over | undefined;
  readonly settle: (outcome: { reply: Reply } | { error: unknown }) => void;
}

/** A cancelled call may go on talking; for this long nobody else is taken for the one it talks to. */
const AFTERTALK_MS = 30_000;
/** Answers to the server's own requests that may be under way; a flood of pings gets no more. */
const MAX_ANSWERING = 16;
const NOBODY = /^notifications\/(?:cancelled|initialized|resources\/updated|subscriptions\/)/;

export class RpcPeer {
  readonly #deps: PeerDeps;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Set<(method: string) => void>();
  readonly #closers: (() => void)[] = [];
  /** Ears that heard something since the last flush. */
  readonly #heard = new Set<SharedEar>();
  #nextId = 1;
  #answering = 0;
  #aftertalkUntil = 0;
  #ended: ProxyError | undefined;

  constructor(deps: PeerDeps) {
    this.#deps = deps;
  }

  get isClosed(): boolean {
    return this.#ended !== undefined;
  }

  request(era: Era, request: UpstreamRequest): Promise<Reply> {
    const { signal, hearing } = request;
    if (this.#ended !== undefined)
      return Promise.reject(new NotRunError('The connection to the server is closed.', { cause: this.#ended }));
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    const id = this.#nextId++;
    const hop = { era, client: this.#deps.client, capabilities: request.capabilities ?? {} };
    const text = writeRequest(id, request.method, request.params, hop, hearing !== undefined);
    return new Promise((resolve, reject) => {
      const abort = (): void => this.#cancel(id, request);
      signal.addEventListener('abort', abort, { once: true });
      const pending: Pending = {
        request,
        over: undefined,
        ear: hearing === undefined ? undefined : new SharedEar(hearing),
        settle: (outcome) => {
          signal.removeEventListener('abort', abort);
          if ('reply' in outcome) resolve(outcome.reply);
          else reject(outcome.error);
        },
      };
      this.#pending.set(id, pending);
      const left = (error?: ProxyError): void => {
        if (error !== undefined) this.#settle(id, { error });
      };
      pending.over = this.#deps.send(text, left, true);
    });
  }

  notify(method: string, params?: JsonObject): void {
    this.#tell({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) });
  }

  /** Takes one message; false when it is none. Call `flush` when no more are at hand. */
  receive(arrived: Buffer): boolean {
    if (this.isClosed) return true;
    try {
      const message = this.#deps.echo.message(arrived);
      const reply = Reply.from(message);
      if (reply === undefined) this.#hear(message);
      else this.#answer(reply);
      return true;
    } catch (error) {
      if (error instanceof ProxyError || error instanceof SyntaxError) return false;
      // A mistake of ours ends this one connection, and nothing else: nobody above would catch it.
      this.#deps.logger.error({ error: describeError(error) }, 'a message of a server could not be taken');
      this.close(
        new ProxyError('internal', 'A message of the server could not be taken; the call may have run.', {
          cause: error,
        }),
      );
      return true;
    }
  }

  /** An answer that was too long to be kept; `ends` holds its first and last bytes. */
  receiveTooLong(ends: Buffer, limit: number): void {
    const span = idAtEnds(ends);
    const id = span === undefined ? undefined : idOf(ends.toString('latin1', span.start, span.end));
    if (id !== undefined)
      this.#settle(id, {
        error: new ProxyError('upstream_protocol', `The server's answer is larger than ${limit} bytes.`),
      });
  }

  flush(): void {
    for (const ear of this.#heard) ear.flush();
    this.#heard.clear();
  }

  listen(listener: (method: string) => void): () => void {
    // Wrapped, so that one function given twice is two listeners.
    const own = (method: string): void => listener(method);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  onClose(job: () => void): void {
    if (this.isClosed) job();
    else this.#closers.push(job);
  }

  /** Nothing comes or goes any more: what waits for an answer fails with `error` at once. */
  close(error: ProxyError): void {
    if (this.isClosed) return;
    this.#ended = error;
    for (const id of [...this.#pending.keys()]) this.#settle(id, { error });
    this.#listeners.clear();
    for (const job of this.#closers.splice(0)) job();
  }

  #settle(id: number, outcome: { reply: Reply } | { error: unknown }): boolean {
    const pending = this.#pending.get(id);
    if (pending === undefined) return false;
    this.#pending.delete(id);
    const { ear } = pending;
    ear?.finish();
    if (ear !== undefined && ear.dropped > 0)
      this.#deps.logger.debug({ dropped: ear.dropped }, 'messages for an agent that reads slowly were dropped');
    pending.over?.('reply' in outcome);
    pending.settle(outcome);
    return true;
  }

  #cancel(id: number, { method, signal }: UpstreamRequest): void {
    if (!this.#settle(id, { error: signal.reason })) return;
    this.#aftertalkUntil = this.#deps.clock.now() + AFTERTALK_MS;
    // initialize must not be cancelled (2025-11-25 §basic/utilities/cancellation); its stream is closed instead.
    if (method === 'initialize') return;
    const reason: unknown = signal.reason;
    this.notify('notifications/cancelled', {
      requestId: id,
      reason: reason instanceof ProxyError ? reason.code : 'cancelled',
    });
  }

  #answer(reply: Reply): void {
    const id = idOf(reply.idText);
    if (id === undefined || !this.#settle(id, { reply }))
      this.#deps.logger.debug({ isError: reply.isError }, 'an answer to no request was skipped');
  }

  #hear(message: Buffer): void {
    if (message.length > MAX_NOTICE_BYTES) {
      this.#deps.logger.debug({ bytes: message.length }, 'a notice of a server that is too large was skipped');
      return;
    }
    const raw = message.toString('latin1');
    const call: unknown = JSON.parse(message.toString('utf8'));
    if (!isJsonObject(call) || typeof call['method'] !== 'string') return;
    const { method, id, params } = call;
    if (id !== undefined) this.#decline(raw);
    else if (method === 'notifications/progress')
      this.#progress(raw, isJsonObject(params) ? params['progressToken'] : undefined);
    else if (method.endsWith('/list_changed')) for (const listener of [...this.#listeners]) listener(method);
    else if (!NOBODY.test(method)) this.#unaddressed(raw);
  }

  /** The server's numbers are its own, so its request with the id of one of ours touches nothing of ours. */
  #decline(raw: string): void {
    if (this.#answering >= MAX_ANSWERING) return;
    this.#answering += 1;
    this.#tell(answerServerRequest(raw), () => {
      this.#answering -= 1;
    });
  }

  #progress(raw: string, token: unknown): void {
    const id = idOf(String(token));
    const pending = id === undefined ? undefined : this.#pending.get(id);
    if (id === undefined || pending?.ear === undefined) return;
    const readdressed = readdressProgress(raw, id, pending.request.progressToken);
    if (readdressed === undefined) return;
    pending.ear.progress();
    if (readdressed !== '') this.#pass(pending.ear, readdressed);
  }

  /** It does not say whose it is. With one call in flight it can be no other's; else it is shown to nobody. */
  #unaddressed(raw: string): void {
    if (this.#deps.clock.now() < this.#aftertalkUntil) return;
    const [only, second] = [...this.#pending.values()].filter(
      ({ request }) => request.method !== 'subscriptions/listen',
    );
    if (second === undefined && only?.ear !== undefined) this.#pass(only.ear, raw);
  }

  #pass(ear: SharedEar, raw: string): void {
    ear.message(raw);
    this.#heard.add(ear);
  }

  #tell(message: unknown, done: () => void = () => undefined): void {
    if (!this.isClosed) this.#deps.send(JSON.stringify(message), done, false);
  }
}

/** Our ids are numbers; some servers hand them back as text. */
function idOf(text: string): number | undefined {
  const digits = /^"?(\d{1,15})"?$/.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
