// What a fault is given: the request it strikes, and what a good server would have said.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { BadServerOptions } from './bad-server.ts';
import type { BadMode } from './faults.ts';
import type { Id, JsonObject, Message } from './message.ts';
import { goodResult } from './plain-answer.ts';
import { Watched } from './watched.ts';

export type Target = 'initialize' | 'server/discover' | 'tools/list' | 'tools/call' | 'anything';

export interface Request {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly message: Message;
}

export interface Strike extends Request {
  readonly state: BadState;
  readonly id: Id;
  /** 1 for the first request struck. */
  readonly nth: number;
  /** JSON text of the result that a good server would give. */
  readonly good: string;
}

export type Fault = (strike: Strike) => void;

export interface FaultEntry {
  readonly on: Target;
  readonly fault: Fault;
}

interface Seen {
  readonly http: string;
  readonly url: string;
  readonly method: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject | undefined;
}

const MAX_SEEN = 2_000;

export class BadState extends Watched {
  mode: BadMode;
  readonly era: 'legacy' | 'modern';
  readonly on: Target | undefined;
  readonly options: BadServerOptions;
  readonly seen: Seen[] = [];
  readonly answers: JsonObject[] = [];
  /** Requests of the server that the client has not answered, by id. */
  readonly asked = new Map<Id, (answer: JsonObject) => void>();
  readonly sessions = new Set<string>();
  strikes = 0;
  bytesSent = 0;
  openResponses = 0;

  constructor(mode: BadMode, options: BadServerOptions) {
    super();
    this.mode = mode;
    this.options = options;
    this.on = options.on;
    this.era = options.era ?? 'legacy';
  }

  saw(seen: Seen): void {
    this.seen.push(seen);
    if (this.seen.length > MAX_SEEN) this.seen.shift();
    this.changed();
  }

  opened(res: ServerResponse): void {
    this.openResponses++;
    res.once('close', () => {
      this.openResponses--;
      this.changed();
    });
  }

  pour(bytes: number): void {
    this.bytesSent += bytes;
    this.changed();
  }

  strike(request: Request): Strike {
    this.strikes++;
    this.changed();
    const { message } = request;
    return { ...request, state: this, id: message.id ?? 0, nth: this.strikes, good: goodResult(this, message) };
  }
}
