// A live link to one server for one owner, whatever carries it. Links differ in transport and era;
// everything to the left of upstream/ sees only this.

import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Credential } from '../credential/credential.ts';
import type { Era } from '../wire/era.ts';
import type { JsonObject, Reply } from '../wire/reply.ts';

/** Hears what the server says while a request runs. */
export interface Hearing {
  /**
   * One message that is not the answer, its bytes as latin1 text (one character a byte, so nothing is
   * lost), already in the agent's words: its own progress token stands in it.
   */
  message(raw: string): void;
  /**
   * No more messages at hand for now: write out what was gathered. A promise means that the agent
   * reads slowly: nothing more should be read from the server until it resolves.
   */
  flush(): Promise<void> | undefined;
  /** Any sign of progress, also when the agent asked for none: restarts the call's timeout. */
  progress(): void;
}

export interface UpstreamRequest {
  readonly method: string;
  /** Names already the server's own. `_meta` as the agent sent it; the link writes the envelope of its era. */
  readonly params: JsonObject | undefined;
  /** For the `Mcp-Name` header of the modern era: tool name, prompt name or resource URI. */
  readonly name?: string | undefined;
  /** Headers asked for by the tool's schema (`x-mcp-header`), ready to send. */
  readonly paramHeaders?: readonly (readonly [string, string])[] | undefined;
  /** JSON text of the agent's progress token; undefined when it asked for no progress. */
  readonly progressToken?: string | undefined;
  /** What this agent can do, for modern servers: they are told per request. */
  readonly capabilities?: JsonObject | undefined;
  readonly hearing?: Hearing | undefined;
  /** Ends the request: it is cancelled upstream as the era and transport say. */
  readonly signal: AbortSignal;
}

export interface Connection {
  readonly era: Era;
  /** What the server offers, as it said at initialize or discover. */
  readonly capabilities: JsonObject;
  /** True once it can carry nothing more; the next call opens another. */
  readonly isClosed: boolean;
  /**
   * Sends one request and waits for its answer; the id in the answer is ours.
   * Errors: `credential_refused` (401, 403; it did not run), NotRunError (it did not run),
   * `upstream_unavailable`, `upstream_protocol` (it may have run), the signal's reason.
   */
  request(request: UpstreamRequest): Promise<Reply>;
  /**
   * Hears list changes until stopped, over a stream opened for it. Safe to call when the server
   * offers none: then nothing is heard. `listener` gets the notification's method.
   */
  listen(listener: (method: string) => void): () => void;
  /** Runs `job` once when the connection closes for whatever reason. */
  onClose(job: () => void): void;
  /** Ends politely, within two seconds: DELETE for a legacy session, stdin end for a child. */
  close(): Promise<void>;
}

/** Port: opens a connection. Bounded by `signal`: when it fires nothing is left running. */
export type Dial = (server: UpstreamServer, credential: Credential, signal: AbortSignal) => Promise<Connection>;
