// All that a keyed server knows and has seen, with a bounded way to wait for it to have seen something.
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { defaultSettings, type KeyedServerOptions, type KeyedSettings } from './keyed-options.ts';
import type { Id } from './message.ts';
import { Watched } from './watched.ts';

export interface Seen {
  readonly http: string;
  /** JSON-RPC method, where the body had one. */
  readonly method: string | undefined;
  /** Whose key it carried; undefined when it was refused. */
  readonly principal: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
  readonly text: string;
  /** Running number of the TCP connection. */
  readonly socket: number;
}

export interface Session {
  readonly id: string;
  readonly principal: string;
}

export interface Subscriber {
  readonly res: ServerResponse;
  /** The listen request's id; undefined for a legacy GET stream. */
  readonly subscription: Id | undefined;
}

const zero = {
  initializes: 0,
  discovers: 0,
  lists: 0,
  calls: 0,
  deletes: 0,
  cancelled: 0,
  aborted: 0,
  unauthorized: 0,
  crossed: 0,
  unknownSessions: 0,
  openStreams: 0,
};
export type Counters = Record<keyof typeof zero, number>;

const MAX_SEEN = 5_000;

export class KeyedState extends Watched {
  readonly options: KeyedServerOptions;
  readonly settings: KeyedSettings;
  readonly keys: Map<string, string>;
  readonly sessions = new Map<string, Session>();
  readonly seen: Seen[] = [];
  readonly counters: Counters = { ...zero };
  readonly executed = new Map<string, number>();
  readonly addedTools = new Set<string>();
  readonly removedTools = new Set<string>();
  readonly subscribers = new Set<Subscriber>();
  /** Calls without an answer yet, by session and request id, with what stops them. */
  readonly running = new Map<string, () => void>();

  constructor(options: KeyedServerOptions) {
    super();
    this.options = options;
    this.settings = { ...defaultSettings, ...options };
    this.keys = new Map(options.keys ?? []);
  }

  count(what: keyof Counters, by = 1): void {
    this.counters[what] += by;
    this.changed();
  }

  saw(seen: Seen): void {
    this.seen.push(seen);
    if (this.seen.length > MAX_SEEN) this.seen.shift();
    this.changed();
  }

  ran(tool: string): void {
    this.executed.set(tool, (this.executed.get(tool) ?? 0) + 1);
    this.changed();
  }

  addTool(name: string): void {
    this.removedTools.delete(name);
    this.addedTools.add(name);
  }

  removeTool(name: string): void {
    this.addedTools.delete(name);
    this.removedTools.add(name);
  }
}
