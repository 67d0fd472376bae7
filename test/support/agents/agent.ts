// One view of independent MCP clients, so that a test can be run with each of them.
import type { JsonObject } from '../upstreams/message.ts';

export interface Tool {
  readonly name: string;
  readonly [member: string]: unknown;
}

export interface Listing {
  /** Of all pages. */
  readonly tools: readonly Tool[];
  /** The results as this client gives them: page by page, or already as one. */
  readonly raw: readonly JsonObject[];
}

export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface CallOptions {
  readonly onProgress?: (progress: Progress) => void;
  readonly signal?: AbortSignal;
}

/** What agents ask beside tools. */
export type OfferMethod =
  | 'prompts/list'
  | 'prompts/get'
  | 'resources/list'
  | 'resources/templates/list'
  | 'resources/read'
  | 'completion/complete';

export interface Agent {
  readonly kind: AgentKind;
  listTools(): Promise<Listing>;
  /** The result, also one with `isError`; a JSON-RPC error is thrown with its `code`. */
  callTool(name: string, args?: JsonObject, options?: CallOptions): Promise<JsonObject>;
  /** One page of a list, as this client understands it; a JSON-RPC error is thrown with its `code`. */
  ask(method: OfferMethod, params?: JsonObject): Promise<JsonObject>;
  /** Resolves when this client listens; over a legacy SDK the stream may still be opening. */
  onListChanged(changed: () => void): Promise<void>;
  close(): Promise<void>;
}

export const AGENT_KINDS = ['sdk1', 'sdk2Legacy', 'sdk2Modern', 'rawLegacy', 'rawModern'] as const;
export type AgentKind = (typeof AGENT_KINDS)[number];

export type AgentHeaders = Readonly<Record<string, string>>;

export const eraOf = (kind: AgentKind): 'legacy' | 'modern' =>
  kind === 'sdk2Modern' || kind === 'rawModern' ? 'modern' : 'legacy';

/** A result's texts, one after another. */
export function textOf(result: JsonObject): string {
  const content = Array.isArray(result['content']) ? result['content'] : [];
  return content.map((block: JsonObject) => String(block['text'] ?? '')).join('');
}
